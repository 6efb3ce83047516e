// Hands over Clankie's words inside pi. A plain prompt would carry no id of ours, and pi would take
// a leading slash for an order of its own; a message of an extension has both solved: its `details`
// stand in the session file beside the words.
export default function clankie(pi) {
  pi.registerCommand("clankie", {
    description: "Clankie hands over words",
    handler: async (given) => {
      const { id, text, turn } = JSON.parse(given);
      const message = { customType: "clankie", content: text, display: true, details: { id } };
      pi.sendMessage(message, turn ? { triggerTurn: true, deliverAs: "steer" } : { triggerTurn: false });
    },
  });
}
