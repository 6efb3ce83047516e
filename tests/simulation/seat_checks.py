"""What must hold of seats: on disk, and between the disk and what harnesses saw."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from simulation.glass import Row, Sight, body_of
from simulation.ledger import AtSeats, Ledger

ANSWER = re.compile(r"answer to (\S+#\d+)")
OMITTED = re.compile(r"earlier turns left out, cursors (\d+) to (\d+)")
HAS_IT = {"taken", "accepted", "replied", "delivered"}
IN_FLIGHT = {"attempting", "unresolved"}
CLOSED = {"delivered", "uncertain"}
UNDER_WAY = {"attempting", "taken", "accepted"}


def always(sight: Sight, ledger: Ledger, *, whole: bool) -> Iterator[str]:
    """What holds at every moment, after any crash. `whole`: nothing was pruned yet."""
    for rule in (one_at_a_time, queues, left, families, refusals, stopped, resets, shown):
        yield from rule(sight)
    for seen in (known, answered, repeated, rows, handoffs):
        yield from seen(sight, ledger)
    if whole:
        yield from told(sight, ledger.seats)


# ── the disk alone ───────────────────────────────────────────────────────────────────────────────


def one_at_a_time(sight: Sight) -> Iterator[str]:
    """Nothing goes out while the lane runs there, nor while a handoff is on its way.

    The record of moves says in which order things happened.
    """
    attempts = {one["id"]: one for one in sight.attempts}
    spans = {one["id"]: one for one in sight.spans}
    running: defaultdict[str, set[str]] = defaultdict(set)
    telling: defaultdict[str, set[str]] = defaultdict(set)
    for move in sight.moves:
        name, after = move["record"], move["after"]
        span, attempt = spans.get(name), attempts.get(name)
        if span is not None:
            place = span["conversation"]
            if after == "attempting" and (busy := running[place] | telling[place] - {name}):
                yield f"{name} was sealed while {sorted(busy)} went on"
            _open(telling[place], name, is_open=after in IN_FLIGHT)
        elif attempt is not None and attempt["seat"] is None:
            is_open = after in {"reserved", "running"} and attempt["joined"] is None
            _open(running[attempt["conversation"]], name, is_open=is_open)
        elif attempt is not None and after == "attempting":
            place = attempt["conversation"]
            if busy := running[place] | telling[place]:
                yield f"{name} was given out while {sorted(busy)} went on"


def _open(names: set[str], name: str, *, is_open: bool) -> None:
    if is_open:
        names.add(name)
    else:
        names.discard(name)


def queues(sight: Sight) -> Iterator[str]:
    """What was queued for a seat, or is for its occupant alone, nobody else ever had."""
    inputs = {one["id"]: one for one in sight.inputs}
    for attempt in sight.attempts:
        one = inputs[attempt["delivery"]]
        if one["reach"] == "conversation":
            continue
        if attempt["seat"] is None and attempt["asked_at"] is not None:
            yield f"{one['id']} is for {one['occupant']}, and ran on the service lane"
        if attempt["seat"] is not None and attempt["occupant"] != one["occupant"]:
            yield f"{one['id']} is for {one['occupant']}, {attempt['occupant']} was given it"


def left(sight: Sight) -> Iterator[str]:
    """What was queued for a seat waits as long as that session sits there, and no longer."""
    there = {(one["conversation"], one["occupant"]) for one in sight.seats}
    last = sight.last
    for one in sight.inputs:
        kept = one["state"] == "queued" and one["reach"] == "held_queue"
        # What the service took up in order to refuse it is about to fail.
        at_seat = last.get(one["id"], {}).get("seat", "none yet") is not None
        if kept and at_seat and (one["conversation"], one["occupant"]) not in there:
            yield f"{one['id']} waits for {one['occupant']}, who has left"


def families(sight: Sight) -> Iterator[str]:
    """What was given out as one event is in one state."""
    states = {one["id"]: one["state"] for one in sight.attempts}
    for one in sight.attempts:
        if one["seat"] is None or one["joined"] not in states:
            continue
        if one["state"] != states[one["joined"]]:
            yield f"{one['id']} is {one['state']}, {one['joined']} is {states[one['joined']]}"


def refusals(sight: Sight) -> Iterator[str]:
    """What an occupant refused is not offered to it again, but for what may go nowhere else."""
    origins = {one["id"]: one["origin"] for one in sight.inputs}
    refused: set[tuple[str, str]] = set()
    for one in sight.attempts:
        it = one["delivery"], str(one["occupant"])
        if it in refused and origins[one["delivery"]] != "linear":
            yield f"{one['id']} was offered to a session that had refused it"
        if one["state"] == "refused":
            refused.add(it)


def stopped(sight: Sight) -> Iterator[str]:
    """What a seat was asked to stop goes to nobody else."""
    asked: dict[str, str] = {}
    for one in sight.attempts:
        if one["delivery"] in asked:
            yield f"{asked[one['delivery']]} was to be stopped, and there is {one['id']}"
        if one["stop_asked"]:
            asked[one["delivery"]] = one["id"]


def resets(sight: Sight) -> Iterator[str]:
    """What came before a reset will be told no harness."""
    for one in sight.conversations:
        cursor = one["harness_cursor"]
        if cursor is not None and cursor < one["reset_cursor"]:
            yield f"the harness of {one['id']} has it up to {cursor}, before the reset"


def shown(sight: Sight) -> Iterator[str]:
    """Whatever is uncertain stands in the log as that; a handoff's phase is its state."""
    bodies = [body_of(one) for one in sight.events]
    turns = {one["delivery_id"]: one for one in bodies if one["kind"] == "turn"}
    for one in sight.inputs:
        turn = turns.get(one["id"], {})
        if one["state"] == "uncertain" and (turn.get("phase") != "uncertain" or not turn["detail"]):
            yield f"{one['id']} is uncertain, the log says {turn}"
    phases = {one["span"]: one["phase"] for one in bodies if one["kind"] == "handoff"}
    for span in sight.spans:
        if phases.get(span["id"]) != span["state"]:
            yield f"{span['id']} is {span['state']}, the log says {phases.get(span['id'])}"
    told = [one for one in sight.events if body_of(one).get("source") == "service-handoff"]
    said = Counter(one["conversation"] for one in told)
    unproven = Counter(one["conversation"] for one in sight.spans if one["state"] == "uncertain")
    for place, number in unproven.items():
        if said[place] < number:
            yield f"{number} handoffs of {place} are uncertain, {said[place]} are said to be"


# ── the disk and what was seen ───────────────────────────────────────────────────────────────────


def known(sight: Sight, ledger: Ledger) -> Iterator[str]:
    """Exact evidence alone says that a harness has something, or that it has not."""
    by_id = {one["id"]: one for one in sight.attempts}
    seats = ledger.seats
    given = {(one.event, one.attempt) for one in seats.given}
    for attempt in sight.attempts:
        if attempt["seat"] is None:
            continue
        head = by_id.get(attempt["joined"], attempt)
        it, name, state = (head["delivery"], head["n"]), attempt["id"], attempt["state"]
        who = attempt["seat"], *it
        bound = attempt["binding"]
        heard = bound in seats.acks[who] or it in seats.proofs or it in seats.replies
        if state in HAS_IT and (it not in given or not heard):
            yield f"{name} is {state}, and nothing that its harness showed says so"
        if state == "accepted" and it not in seats.proofs:
            yield f"{name} is accepted without a row"
        if state == "failed" and not ((seats.limits or seats.mishaps) and it in given):
            yield f"{name} failed at its seat, and nothing that its harness wrote says so"
        if state == "refused" and (it in given or bound not in seats.refusals[who]):
            yield f"{name} is refused, and its harness has it or never said so"
    for span in sight.spans:
        yield from _span_known(span, seats, given)


def _span_known(span: Row, seats: AtSeats, given: set[tuple[str, int]]) -> Iterator[str]:
    it = span["id"], span["tries"]
    if span["state"] != "delivered":
        return
    heard = span["binding"] in seats.acks[span["seat"], *it] or it in seats.proofs
    shown_to = max(seats.projections[span["conversation"]], default=0)
    if not (heard and it in given) and shown_to < span["to_cursor"]:
        yield f"the handoff {span['id']} is delivered, and nothing says so"


def answered(sight: Sight, ledger: Ledger) -> Iterator[str]:
    """An answer by a seat is what the seat said, once."""
    by_id = {one["id"]: one for one in sight.attempts}
    messages = {
        (one["conversation"], one["cursor"]): body_of(one)
        for one in sight.events
        if one["kind"] == "message"
    }
    said = Counter(
        str(one.get("delivery_id")) for one in messages.values() if one["role"] == "agent"
    )
    for one in sight.inputs:
        tried = sight.last.get(one["id"])
        if one["pruned"] or tried is None or tried["seat"] is None:
            continue
        head = by_id.get(tried["joined"], tried)
        reply = messages.get((one["conversation"], one["reply_cursor"]), {})
        replies = ledger.seats.replies.get((head["delivery"], head["n"]), set())
        if tried["state"] == "replied" and reply.get("text") not in replies:
            yield f"{one['id']} is replied by {reply.get('text')!r}, its seat said {replies}"
        if tried["state"] == "delivered" and reply and reply["author"]["id"] != tried["seat"]:
            yield f"{one['id']} is answered by {reply}"
        if said[one["id"]] != int(tried["state"] == "replied" and head is tried):
            yield f"{one['id']} is {tried['state']} and has {said[one['id']]} answers"


def repeated(sight: Sight, ledger: Ledger) -> Iterator[str]:
    """A wake that ran goes to a seat only after a known failure."""
    attempts = {one["id"]: one["state"] for one in sight.attempts}
    for run in ledger.runs:
        state = attempts.get(run.attempt, "failed")
        if ledger.seats.given_of(run.delivery) and state not in {"failed", "stalled"}:
            yield f"{run.delivery} was given to a harness although {run.attempt} is {state}"


def rows(sight: Sight, ledger: Ledger) -> Iterator[str]:
    """Each row of a transcript stands in the log once; one that proves a delivery does not."""
    texts = Counter(body_of(one)["text"] for one in sight.events if one["kind"] == "message")
    purged = any(one["purged"] for one in sight.conversations)
    for text, (proves, confirmed) in ledger.seats.rows.items():
        if texts[text] > 1:
            yield f"{text!r} stands {texts[text]} times in the log"
        if confirmed and not (proves or purged or texts[text]):
            yield f"{text!r} was taken and is lost"


def handoffs(sight: Sight, ledger: Ledger) -> Iterator[str]:
    """A handoff holds the service's turns of its range, all of them and no other."""
    returned = ledger.returned
    spans = {one["id"]: one for one in sight.spans}
    for one in ledger.seats.told:
        span = spans.get(one.span)
        if span is None or span["tries"] != one.attempt or span["to_cursor"] is None:
            continue
        if ledger.seats.refusals[span["seat"], one.span, one.attempt]:
            # Opened again: a session start may have told the rest, which was no page.
            continue
        first, last = span["from_cursor"], span["to_cursor"]
        here = [
            it
            for it in sight.attempts
            if it["conversation"] == one.conversation
            and it["end_cursor"] is not None
            and first < it["end_cursor"] <= last
        ]
        due = {it["id"] for it in here if it["state"] == "completed" and returned.get(it["id"])}
        there = {it["id"] for it in sight.attempts}  # old ones are pruned
        held = there.intersection(ANSWER.findall(one.content))
        if held - due:
            yield f"the handoff {one.span} tells of {held - due}, which are not its own"
        old = {it["id"] for it in here if it["end_cursor"] <= one.had}
        if held & old:
            yield f"the handoff {one.span} tells of {held & old}, which its harness had"
        if (missing := due - held) and not OMITTED.search(one.content):
            yield f"the handoff {one.span} does not tell of {missing}"


def told(sight: Sight, seats: AtSeats) -> Iterator[str]:
    """Each turn of the service that a harness has heard of it was told in one handoff.

    Or it was shown it at the start of a session, or a reset came between.
    """
    resets = {one["id"]: one["reset_cursor"] for one in sight.conversations}
    heads = {one["id"]: one["harness_cursor"] for one in sight.conversations}
    for attempt in sight.attempts:
        place, end = attempt["conversation"], attempt["end_cursor"]
        drove = seats.drove.get(place)
        if end is None or drove is None or end <= drove or end > (heads[place] or 0):
            continue
        times = sum(
            one["conversation"] == place
            and one["state"] in CLOSED
            and one["from_cursor"] < end <= one["to_cursor"]
            for one in sight.spans
        )
        excused = end <= max([resets[place], *seats.projections[place]])
        if times > 1 or (not times and not excused):
            yield f"the harness of {place} was told {times} times of {attempt['id']}"


# ── at rest ──────────────────────────────────────────────────────────────────────────────────────


def at_rest(sight: Sight, now: int) -> Iterator[str]:
    """When everything had time to end, nothing is on its way to or from a seat. Milliseconds."""
    for one in sight.attempts:
        old = one["started_at"] < now - 120_000
        if one["seat"] is not None and old and one["state"] in UNDER_WAY:
            yield f"{one['id']} is left {one['state']}"
    for one in sight.spans:
        if one["state"] in IN_FLIGHT and (one["asked_at"] or now) < now - 120_000:
            yield f"the handoff {one['id']} is left {one['state']}"
