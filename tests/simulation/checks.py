"""What must hold on disk, and between the disk and what was seen from outside."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from clankie.core.delivery import (
    FINAL,
    InputState,
    SeatState,
    ServiceState,
    Transition,
    move_input,
    move_seat,
    move_service,
    replay,
)
from clankie.core.errors import TransitionRefusedError
from clankie.core.handoff import SPAN, SpanState
from simulation.glass import Row, Sight, body_of
from simulation.ledger import Ledger, Run

SLOW = 4.5
"""Seconds that a slow disk may take for a write: an end is stored that much later."""

OPEN = {"reserved", "running"}
AT_SEAT = {"offered", "attempting", "taken", "accepted"}
PREFIX = "captain/"


def always(sight: Sight, ledger: Ledger) -> Iterator[str]:
    """What holds at every moment, after any crash."""
    for rule in (logs, counts, tries, fitting, moves, revisions):
        yield from rule(sight)
    for seen in (admissions, runs, effects, answers, cancellings, words_of_readers, wakes):
        yield from seen(sight, ledger)


# ── the disk alone ───────────────────────────────────────────────────────────────────────────────


def logs(sight: Sight) -> Iterator[str]:
    """Cursors are 1, 2, 3 …, ordinals too; each input has its words once."""
    for conversation in sight.conversations:
        events = [one for one in sight.events if one["conversation"] == conversation["id"]]
        if [one["cursor"] for one in events] != list(range(1, conversation["cursor"] + 1)):
            yield f"{conversation['id']}: gaps in {[one['cursor'] for one in events]}"
        ordinals = [one["ordinal"] for one in events if one["ordinal"] is not None]
        if ordinals != list(range(1, conversation["ordinal"] + 1)):
            yield f"{conversation['id']}: gaps in the ordinals {ordinals}"
    spoken = Counter(_delivery(one) for one in sight.events if _is_input(one))
    # Words of a harness's person, and those about a handoff, are no input.
    del spoken["None"]
    known = {one["id"] for one in sight.inputs}
    for delivery, times in spoken.items():
        if times != 1 or delivery not in known:
            yield f"{delivery} stands {times} times in the log"
    for one in sight.inputs:
        if spoken[one["id"]] != 1:
            yield f"{one['id']} stands {spoken[one['id']]} times in the log"


def counts(sight: Sight) -> Iterator[str]:
    """What lists show agrees with what is there."""
    for conversation in sight.conversations:
        here = [one for one in sight.inputs if one["conversation"] == conversation["id"]]
        states = Counter(one["state"] for one in here)
        found = {
            "running": states["running"],
            "waiting": states["queued"],
            "held": sum(one["held"] is not None for one in here),
            "uncertain": states["uncertain"],
        }
        if conversation["closed"] and found["waiting"]:
            yield f"{conversation['id']} is closed, and {found['waiting']} wait in it"
        for name, number in found.items():
            if conversation[name] != number:
                yield f"{conversation['id']}: {name} is {conversation[name]}, counted {number}"


def tries(sight: Sight) -> Iterator[str]:
    """One open attempt of an input, one open run of a conversation."""
    opened = [one for one in sight.attempts if one["state"] in OPEN | AT_SEAT]
    served = [one for one in opened if one["state"] in OPEN and one["joined"] is None]
    for what, names in (
        ("input", [one["delivery"] for one in opened]),
        ("conversation", [one["conversation"] for one in served]),
    ):
        for name, number in Counter(names).items():
            if number > 1:
                yield f"the {what} {name} has {number} open attempts"


def fitting(sight: Sight) -> Iterator[str]:
    """An input is where its last attempt left it."""
    last = {one["delivery"]: one["state"] for one in sight.attempts}
    for one in sight.inputs:
        if one["pruned"]:
            continue
        tried = last.get(one["id"])
        if (one["state"], tried) not in FITS:
            yield f"{one['id']} is {one['state']}, its last attempt {tried}"


FITS = {
    *((one, None) for one in ("queued", "cancelled", "not_sent")),
    *(("queued", one) for one in ("reserved", "released", "failed", "stalled")),
    *((one, "released") for one in ("cancelled", "not_sent")),
    *((one, two) for one in ("cancelled", "not_sent") for two in ("failed", "stalled")),
    ("running", "running"),
    *((one, "completed") for one in ("settled", "absorbed")),
    *(("failed", one) for one in ("failed", "stalled")),
    ("cancelled", "cancelled"),
    *((one, "uncertain") for one in ("uncertain", "abandoned")),
    *(("queued", one) for one in ("offered", "refused")),
    *(("running", one) for one in ("attempting", "taken", "accepted")),
    *(("settled", one) for one in ("replied", "delivered")),
    ("absorbed", "replied"),
    *((one, two) for one in ("cancelled", "not_sent", "failed") for two in ("released", "refused")),
    *(("abandoned", one) for one in ("taken", "accepted", "replied", "delivered", "failed")),
}
"""An input and its last attempt. A wake that failed may wait, and be cancelled or closed then.
What the owner closed as unknown stays closed, whatever comes to be known."""


def moves(sight: Sight) -> Iterator[str]:
    """The record of moves, replayed, gives the columns; each move is a cell of its table."""
    made = [Transition(one["record"], one["before"], one["after"]) for one in sight.moves]
    at_seats = {one["id"] for one in sight.attempts if one["seat"] is not None}
    spans = {one["id"] for one in sight.spans}
    try:
        replayed = replay(made)
        for one in made:
            if one.record in spans:
                _span_move(one)
            else:
                _move(one, at_seat=one.record in at_seats)
    except TransitionRefusedError as error:
        yield f"the record of moves: {error.detail}"
        return
    columns = {one["id"]: one["state"] for one in sight.inputs if not one["pruned"]}
    columns |= {one["id"]: one["state"] for one in (*sight.attempts, *sight.spans)}
    for record, state in columns.items():
        if replayed.get(record) != state:
            yield f"{record} is {state}, its moves say {replayed.get(record)}"
    if replayed.keys() - columns.keys():
        yield f"moves of nothing: {replayed.keys() - columns.keys()}"


def _move(one: Transition, *, at_seat: bool) -> None:
    if one.before is None:
        return
    if at_seat:
        move_seat(one.record, SeatState(one.before), SeatState(one.after))
    elif "#" in one.record:
        move_service(one.record, ServiceState(one.before), ServiceState(one.after))
    else:
        move_input(one.record, InputState(one.before), InputState(one.after))


def _span_move(one: Transition) -> None:
    if one.before is None:
        return
    if SpanState(one.after) not in SPAN[SpanState(one.before)].values():
        raise TransitionRefusedError(f"The handoff {one.record!r}", one.before, one.after)


OWNERS = {"renamed", "model"}
"""Notices of what the owner did."""


def revisions(sight: Sight) -> Iterator[str]:
    """The revision counts what the owner did."""
    for conversation in sight.conversations:
        name = conversation["id"]
        inputs = [one for one in sight.inputs if one["conversation"] == name]
        events = [one for one in sight.events if one["conversation"] == name]
        done = (
            sum(one["origin"] == "owner" for one in inputs)
            + sum(one["kind"] == "reset" for one in events)
            + sum(one["kind"] == "notice" and body_of(one)["code"] in OWNERS for one in events)
            + conversation["closed"]
        )
        if conversation["revision"] != done:
            yield f"{name}: revision {conversation['revision']}, the owner did {done} things"


# ── the disk and the ledger ──────────────────────────────────────────────────────────────────────


def admissions(sight: Sight, ledger: Ledger) -> Iterator[str]:
    """What was promised is there as it was promised; what was refused is not."""
    found = {one["id"]: one for one in sight.inputs}
    for delivery, (fingerprint, cursor) in ledger.promised.items():
        one = found.get(delivery)
        if one is None:
            yield f"{delivery} was promised and is lost"
        elif (one["fingerprint"], one["message_cursor"]) != (fingerprint, cursor):
            yield f"{delivery} is not what was promised"
    for delivery, one in found.items():
        if delivery.startswith(PREFIX):
            continue
        if one["fingerprint"] not in ledger.offered[delivery]:
            yield f"{delivery} was never offered like this"
        if delivery not in ledger.promised and not ledger.unknown[delivery]:
            yield f"{delivery} was refused and is recorded"


def runs(sight: Sight, ledger: Ledger) -> Iterator[str]:
    """No input runs twice, but for a wake after a known failure without an effect."""
    attempts = {one["id"]: one for one in sight.attempts}
    origins = {one["id"]: one["origin"] for one in sight.inputs}
    before: dict[str, list[Run]] = {}
    for run in ledger.runs:
        earlier = before.setdefault(run.delivery, [])
        yield from _again(run, earlier, ledger, attempts, origins.get(run.delivery))
        earlier.append(run)
        one = attempts.get(run.attempt)
        if one is not None and one["state"] in {"reserved", "released"}:
            yield f"{run.attempt} ran, on disk it is {one['state']}"


def _again(
    run: Run, earlier: list[Run], ledger: Ledger, attempts: dict[str, Row], origin: str | None
) -> Iterator[str]:
    if not earlier:
        return
    if origin != "wake":
        yield f"{run.delivery} ran twice: {earlier[-1].attempt}, {run.attempt}"
    last = earlier[-1]
    state = attempts[last.attempt]["state"] if last.attempt in attempts else "failed"
    if state not in {"failed", "stalled"}:
        yield f"{run.attempt} ran although {last.attempt} is {state}"
    # What the owner set free may repeat what it did before that.
    since = [one for one in earlier if one.owner_releases == run.owner_releases]
    if any(ledger.effects_of(one.attempt) for one in since):
        yield f"{run.attempt} ran although an earlier one had an effect"


def effects(sight: Sight, ledger: Ledger) -> Iterator[str]:
    """An effect happens once, and its call is on disk."""
    calls = {(one["attempt"], one["call_id"]): one for one in sight.calls}
    attempts = {one["id"]: one["state"] for one in sight.attempts}
    for call, number in Counter(one.call for one in ledger.effects).items():
        if number > 1:
            yield f"{call} had its effect {number} times"
    for done in ledger.effects:
        if done.attempt in attempts and (done.attempt, done.call) not in calls:
            yield f"{done.call} had its effect and is not on disk"
    for one in sight.calls:
        state = attempts[one["attempt"]]
        if one["state"] == "attempting" and state != "running":
            yield f"{one['call_id']} is still attempting, its attempt is {state}"


def answers(sight: Sight, ledger: Ledger) -> Iterator[str]:
    """Whoever is settled has exactly the answer that its lane gave."""
    replies = [one for one in sight.events if body_of(one).get("role") == "agent"]
    said = Counter(_delivery(one) for one in replies)
    texts = {(one["conversation"], one["cursor"]): body_of(one)["text"] for one in replies}
    last = sight.last
    for one in sight.inputs:
        tried = last.get(one["id"])
        if one["pruned"] or tried is None or tried["seat"] is not None:
            continue
        text = ledger.returned.get(tried["joined"] or tried["id"])
        shown = texts.get((one["conversation"], one["reply_cursor"]), "")
        if one["state"] in {"settled", "absorbed"} and text != shown:
            yield f"{one['id']} is {one['state']} by {shown!r}, its lane said {text!r}"
        if said[one["id"]] != int(one["state"] == "settled" and bool(text)):
            yield f"{one['id']} is {one['state']} and has {said[one['id']]} answers"
        if one["state"] == "absorbed":
            yield from _absorbed(one, tried, ledger)


def _absorbed(one: Row, tried: Row, ledger: Ledger) -> Iterator[str]:
    if one["mode"] != "steer":
        yield f"{one['id']} is absorbed and was no steering message"
    if tried["joined"] not in ledger.joined[one["id"]]:
        yield f"{one['id']} is absorbed by {tried['joined']}, which never heard of it"


def cancellings(sight: Sight, ledger: Ledger) -> Iterator[str]:
    """What was cancelled before it began stays so."""
    states = sight.states
    for delivery in ledger.cancelled:
        if states.get(delivery) != "cancelled":
            yield f"{delivery} was cancelled and is {states.get(delivery)}"
    for delivery in ledger.abandoned:
        if states.get(delivery) != "abandoned":
            yield f"{delivery} was closed as unknown and is {states.get(delivery)}"


def words_of_readers(sight: Sight, ledger: Ledger) -> Iterator[str]:
    """What somebody read as final or uncertain is what stands."""
    found = {one["id"]: one for one in sight.inputs}
    last = sight.last
    for delivery, (state, code, reply) in ledger.final.items():
        one = found[delivery]
        if (one["state"], one["code"], one["reply_cursor"]) != (state, code, reply):
            yield f"{delivery} was read as {state} {code}, it is {one['state']} {one['code']}"
    for delivery in ledger.uncertain:
        # What a seat shows later settles what was uncertain there.
        at_seat = last.get(delivery, {}).get("seat") is not None
        if not at_seat and found[delivery]["state"] not in {"uncertain", "abandoned"}:
            yield f"{delivery} was uncertain and is {found[delivery]['state']}"
    revisions = {one["id"]: one["revision"] for one in sight.conversations}
    for conversation, revision in ledger.revisions.items():
        stands = revisions.get(conversation, -1)
        if stands < revision:
            yield f"{conversation} was at revision {revision}, it is at {stands}"


def wakes(sight: Sight, ledger: Ledger) -> Iterator[str]:
    """A wake that was set waits, was admitted, or was removed by the owner."""
    waiting = {one["id"] for one in sight.wakes}
    admitted = {one["id"].removeprefix(PREFIX) for one in sight.inputs}
    closed = {one["id"] for one in sight.conversations if one["closed"]}
    for wake, conversation in ledger.wakes.items():
        there = wake in waiting or wake in admitted
        if wake in ledger.removed and there:
            yield f"the wake {wake} was removed and is there"
        if not there and wake not in ledger.removing and conversation not in closed:
            yield f"the wake {wake} was set and is lost"


# ── at certain moments ───────────────────────────────────────────────────────────────────────────

RESTART = {"running": "uncertain", "reserved": "released", "attempting": "uncertain"}


def _due(before: Sight) -> dict[str, str]:
    """What a restart has to make of everything; what a harness has goes on."""
    due = {record: RESTART.get(state, state) for record, state in before.states.items()}
    for one in before.attempts:
        if one["state"] in {"taken", "accepted"}:
            due[one["delivery"]] = before.states[one["delivery"]]
    for one in before.spans:
        if one["state"] == "attempting":
            due[one["id"]] = "unresolved"
    return due


def over_the_restart(before: Sight, after: Sight) -> Iterator[str]:
    """A new boot touches what was open, and nothing else."""
    states = after.states
    for record, due in _due(before).items():
        if states.get(record) != due:
            was = before.states[record]
            yield f"{record} was {was} at the crash, the restart made it {states.get(record)}"
    # What a run that was cut off leaves has to be told to a harness, too.
    spans = {one["id"] for one in after.spans if one["state"] == "open"}
    if invented := states.keys() - before.states.keys() - spans:
        yield f"the restart invented {sorted(invented)}"
    columns = ("held", "not_before", "message_cursor", "code", "reply_cursor")
    after_inputs = {one["id"]: one for one in after.inputs}
    for one in before.inputs:
        if one["state"] != "running":
            for name in columns:
                if after_inputs[one["id"]][name] != one[name]:
                    yield f"the restart changed {name} of {one['id']}"


def at_rest(sight: Sight, now: int) -> Iterator[str]:
    """When everything had time to end, nothing is left lying. `now`: milliseconds."""
    for one in sight.inputs:
        back = one["not_before"] is not None and one["not_before"] > now
        kept = one["held"] is not None or back or _waits_for_a_seat(one)
        waits = one["state"] == "queued" and kept
        done = InputState(one["state"]) in FINAL or one["state"] == "uncertain"
        fresh = one["admitted_at"] > now - FRESH and one["state"] in {"queued", "running"}
        if not (waits or done or fresh):
            yield f"{one['id']} is left {one['state']}"
    for one in sight.wakes:
        if one["delivery"] is None and one["held"] is None and one["due_at"] < now - 120_000:
            yield f"the wake {one['id']} is long due and was not let in"
    for one in sight.goals:
        if one["state"] == "active":
            yield f"the goal {one['id']} is not pursued"


FRESH = 60_000
"""Milliseconds within which a wake that came last may be on its way."""


def _waits_for_a_seat(one: Row) -> bool:
    """What only a seat may have waits for one; what the owner queued there does not for ever."""
    return bool(one["reach"] == "occupant" or one["origin"] == "linear")


def stopped(sight: Sight) -> Iterator[str]:
    """After a stop in good order no attempt is open."""
    for one in sight.attempts:
        if one["state"] in OPEN:
            yield f"{one['id']} is {one['state']} after the stop"


def fenced(taken_over: Sight, sight: Sight) -> Iterator[str]:
    """A node that lost its log moves nothing of what was there."""
    states = sight.states
    for record, state in taken_over.states.items():
        now = states.get(record)
        if now != state:
            yield f"{record} was {state} at the takeover, the fenced node made it {now}"


def untouched(before: dict[str, list[str]], after: dict[str, list[str]]) -> Iterator[str]:
    """Nor does it write anything else: every table is as the takeover left it."""
    for table, rows in after.items():
        new = [one for one in rows if one not in set(before[table])]
        gone = [one for one in before[table] if one not in set(rows)]
        if new or gone:
            yield f"the fenced node wrote to {table}: {new or gone}"


def backoffs(sight: Sight, first: float, most: int) -> Iterator[str]:
    """Failed wakes wait, longer each time, and are held after the last. `first`: seconds.

    Counted since the owner set it free last.
    """
    for one in sight.inputs:
        if one["origin"] != "wake":
            continue
        own = [a for a in sight.attempts if a["delivery"] == one["id"] and a["seat"] is None]
        mine = [a for a in own if a["asked_at"]]
        tried = [a for a in mine if a["n"] > one["tries_base"]]
        if len(tried) > most:
            yield f"{one['id']} was tried {len(tried)} times"
        for number, (a, b) in enumerate(pairwise(tried)):
            waited = (b["asked_at"] - a["ended_at"]) / 1_000
            if waited < first * 2**number - SLOW:
                yield f"{b['id']} began {waited} s after {a['id']} had failed"


def _delivery(event: Row) -> str:
    return str(body_of(event).get("delivery_id"))


def _is_input(event: Row) -> bool:
    return event["kind"] == "message" and bool(body_of(event)["role"] != "agent")
