"""The start of a node: a takeover of whatever earlier ones left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.core.delivery import SeatState, ServiceState, after_restart, seat_after_restart
from clankie.core.handoff import SpanEvent
from clankie.host.storage import Outcome, Recovered
from clankie.store.sqlite import attempts, conversations, given, handoffs, heads
from clankie.store.sqlite.settle import finish

if TYPE_CHECKING:
    from clankie.store.sqlite.unit import Transaction

RESTARTED: Final = "restarted"
INTERRUPTED: Final = "interrupted"
_OTHERS_DIE: Final = "UPDATE node SET dead = 1 WHERE dead = 0"
_INSERT: Final = """
INSERT INTO node (id, booted_at, generation)
VALUES (?, ?, (SELECT coalesce(max(generation), 0) + 1 FROM node))"""


def boot(tx: Transaction) -> tuple[str, Recovered]:
    """See Store.boot; also the node's id. All in one transaction: no moment has half of it."""
    tx.node = node = tx.ids.new("node")
    tx.run(_OTHERS_DIE)
    tx.run(_INSERT, (tx.node, tx.at))
    conversations.ensure_head(tx)
    uncertain: list[str] = []
    released: list[str] = []
    for attempt in attempts.open_runs(tx):
        head, _ = heads.claim(tx, attempt.conversation)
        after = after_restart(ServiceState(attempt.state))
        if after is ServiceState.UNCERTAIN:
            outcome = Outcome(state=ServiceState.UNCERTAIN, code=INTERRUPTED)
            uncertain += finish(tx, head, attempt, outcome)
        else:
            attempts.move(tx, attempt, ServiceState.RELEASED, RESTARTED)
            released.append(attempt.delivery)
        heads.save(tx, head)
    uncertain += _seats(tx)
    return node, Recovered(uncertain=uncertain, released=released)


def _seats(tx: Transaction) -> list[str]:
    """What was on its way to seats: nobody can tell whether it arrived, until they say so."""
    uncertain: list[str] = []
    for one in given.in_flight(tx.run, None):
        after = seat_after_restart(SeatState(one.state))
        if after is None:
            continue
        head, _ = heads.claim(tx, one.conversation)
        given.move(tx, head, one, after, INTERRUPTED)
        heads.save(tx, head)
        uncertain.append(one.delivery)
    for span in handoffs.under_way(tx.run):
        head, _ = heads.claim(tx, span.conversation)
        handoffs.move(tx, head, span, SpanEvent.RESTARTED)
        heads.save(tx, head)
    return uncertain
