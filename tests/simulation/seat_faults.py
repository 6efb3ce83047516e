"""Faults of seats in host, store and core, made by hand. See faults.py."""

from simulation.edits import fault

RUNS = "            return InputState.RUNNING\n        case SeatState.REPLIED:"
NOBODY = "from clankie.core.binding import NOBODY\n        chair.asking = NOBODY\n"
MAY = "_S.ATTEMPTING: frozenset({_S.TAKEN,"
BACK = "_S.ATTEMPTING: frozenset({_S.RELEASED, _S.TAKEN,"

SEAT_FAULTS = (
    # ── pages ────────────────────────────────────────────────────────────────────────────────────
    fault(
        "a page is given out and not written down",
        (
            "store/sqlite/pages.py",
            "        given.move_with(tx, head, one, known[piece.delivery], SeatState.ATTEMPTING)\n",
            "        one.asked_at = tx.at\n",
        ),
    ),
    fault(
        "a page is given out while the lane runs",
        (
            "store/sqlite/pages.py",
            "    if attempts.run_in(tx, head) is not None:\n        return Taken(())\n",
            "",
        ),
    ),
    fault(
        "a poll that is asked again gets a page of its own",
        (
            "store/sqlite/pages.py",
            "    if again is not None:\n        return Taken(again, again=True)\n",
            "",
        ),
    ),
    fault(
        "what a poll was given has no deadline",
        (
            "host/seats/poll.py",
            "        came_to(desk, key, SeatState.ATTEMPTING, now)\n",
            "        _ = key, now\n",
        ),
    ),
    fault(
        "what was given out is not counted when the disk did not tell",
        (
            "host/seats/poll.py",
            "        desk.alarms.put(Uncounted(chair.seat.id), house.clock.monotonic())\n",
            "",
        ),
    ),
    fault(
        "what a session refused is offered to it again",
        (
            "store/sqlite/runs.py",
            "refused=bool(refused)), seat)\n        if not",
            "refused=False), seat)\n        if not",
        ),
    ),
    # ── what a seat says ─────────────────────────────────────────────────────────────────────────
    fault(
        "any bridge may speak for the one that was given it",
        (
            "store/sqlite/answers.py",
            "    if one.binding != binding:\n",
            "    if one.binding is None:\n",
        ),
    ),
    fault(
        "an acknowledgement forgets the older messages of its event",
        (
            "store/sqlite/answers.py",
            "in (*given.members(tx.run, one), one):\n        it.acknowledged_at = tx.at\n",
            "in (one,):\n        it.acknowledged_at = tx.at\n",
        ),
    ),
    fault(
        "what a seat took waits again",
        (
            "core/delivery.py",
            f"        case SeatState.ATTEMPTING | SeatState.TAKEN | SeatState.ACCEPTED:\n{RUNS}",
            (
                "        case SeatState.TAKEN:\n            return InputState.QUEUED\n"
                f"        case SeatState.ATTEMPTING | SeatState.ACCEPTED:\n{RUNS}"
            ),
        ),
    ),
    fault(
        "a late acknowledgement is too late",
        (
            "core/delivery.py",
            "    _S.UNCERTAIN: frozenset({_S.TAKEN, _S.ACCEPTED,",
            "    _S.UNCERTAIN: frozenset({_S.RELEASED, _S.TAKEN, _S.ACCEPTED,",
        ),
        (
            "core/delivery.py",
            "    _I.UNCERTAIN: frozenset({_I.RUNNING,",
            "    _I.UNCERTAIN: frozenset({_I.QUEUED, _I.RUNNING,",
        ),
        (
            "store/sqlite/answers.py",
            "    if one.state in _TO_COME:\n        head",
            (
                "    if one.state == SeatState.UNCERTAIN:\n"
                "        head = _head(tx, one.conversation)\n"
                "        given.move(tx, head, one, SeatState.RELEASED, 'late')\n"
                "        heads.save(tx, head)\n"
                "    elif one.state in _TO_COME:\n        head"
            ),
        ),
    ),
    fault(
        "an answer without proof settles what is uncertain",
        (
            "host/seats/answers.py",
            "    if last.state is SeatState.UNCERTAIN:\n        raise",
            "    if last.state is SeatState.REFUSED:\n        raise",
        ),
    ),
    fault(
        "what is refused when its seat has left waits for ever",
        (
            "store/sqlite/answers.py",
            "        given.undelivered(tx, head, one, LEFT)\n",
            "        there = None\n",
        ),
        ("host/seats/answers.py", "    chair.queue = True\n", ""),
    ),
    fault(
        "what the owner stopped goes to the next when its seat refuses it",
        (
            "store/sqlite/answers.py",
            "    if refused.stop_asked:\n        given.cancelled(tx, head, one)\n        return\n",
            "",
        ),
    ),
    # ── evidence ─────────────────────────────────────────────────────────────────────────────────
    fault(
        "any id is the right one",
        (
            "core/session.py",
            "return evidence.value == delivery_uuid(handed.event, handed.attempt)",
            "return True",
        ),
    ),
    fault(
        "equal words are evidence whenever they come",
        (
            "core/session.py",
            "handed.at <= pressed and in_time and soon and alike",
            "alike",
        ),
    ),
    fault(
        "evidence of another attempt counts",
        (
            "core/session.py",
            "(evidence.event, evidence.attempt) != (handed.event, handed.attempt)",
            "evidence.event != handed.event",
        ),
        (
            "store/sqlite/transcripts.py",
            "batch.seat.id, evidence.event, evidence.attempt)",
            "batch.seat.id, evidence.event, 1)",
        ),
        (
            "core/session.py",
            "return evidence.value == delivery_uuid(handed.event, handed.attempt)",
            "return evidence.value == delivery_uuid(evidence.event, evidence.attempt)",
        ),
    ),
    fault(
        "a row of a transcript is taken as often as it comes",
        (
            "store/sqlite/sessions.py",
            "    return tx.changed(_ENTRY, (session.n, entry, None))",
            "    tx.run(_ENTRY, (session.n, entry, None))\n    return True",
        ),
    ),
    fault(
        "a session that a reset ended writes on",
        ("store/sqlite/sessions.py", " or retired_at is not None:", ":"),
    ),
    # ── silence, leaving ─────────────────────────────────────────────────────────────────────────
    fault(
        "a takeover also takes what was given out",
        ("core/delivery.py", MAY, BACK),
        (
            "store/sqlite/attaching.py",
            "    for attempt in given.offered(tx.run, one.id):\n",
            (
                "    gone = given.in_flight(tx.run, one.id)\n"
                "    out = [it for it in gone if it.state == 'attempting']\n"
                "    for attempt in (*given.offered(tx.run, one.id), *out):\n"
            ),
        ),
    ),
    fault(
        "what was queued for a seat is taken over",
        (
            "store/sqlite/attaching.py",
            (
                "        if inputs.read(tx, attempt.delivery).reach == Reach.HELD_QUEUE:\n"
                "            continue\n"
            ),
            "",
        ),
        (
            "core/driver.py",
            "        case Reach.OCCUPANT | Reach.HELD_QUEUE | Reach.NATIVE_PARENT:\n",
            "        case Reach.OCCUPANT | Reach.NATIVE_PARENT:\n",
        ),
        (
            "core/driver.py",
            "        case Reach.CONVERSATION:\n            return _open(addressed, seat)\n",
            (
                "        case Reach.CONVERSATION | Reach.HELD_QUEUE:\n"
                "            return _open(addressed, seat)\n"
            ),
        ),
        (
            "core/driver.py",
            "addressed.origin is Origin.LINEAR or addressed.reach is not Reach.CONVERSATION",
            "addressed.origin is Origin.LINEAR or addressed.reach is Reach.OCCUPANT",
        ),
    ),
    fault(
        "what was queued for a seat waits for ever",
        (
            "host/seats/keeping.py",
            "    if not chair.queue or ends is None or ends > mono:\n",
            "    if chair.queue or not chair.queue or ends is None or ends > mono:\n",
        ),
    ),
    fault(
        "a silent seat is never given up",
        (
            "host/seats/keeping.py",
            "    if chair.settled:\n        return\n",
            "    if chair.settled or chair is not None:\n        return\n",
        ),
    ),
    fault(
        "a seat is given up once in its life",
        (
            "host/seats/keeping.py",
            "        chair.settled = False\n        return\n",
            "        return\n",
        ),
        (
            "host/seats/desk.py",
            "        chair.settled, chair.queue = False, True\n        chair.look()",
            "        chair.queue = True\n        chair.look()",
        ),
    ),
    fault(
        "the head's seat is waited for no longer than any other",
        ("core/binding.py", "seen + limits.hold\n", "seen + limits.grace\n"),
    ),
    fault(
        "a poll that waits is no ask",
        (
            "core/binding.py",
            "    if asking.ask is not None:\n        return Presence.LIVE\n",
            "",
        ),
    ),
    fault(
        "the first of two that attach does not count",
        (
            "store/sqlite/attaching.py",
            "    if expected != (None if there is None else there.id):\n",
            "    if expected == conversation:\n",
        ),
    ),
    fault(
        "a seat that leaves keeps what was stored at it",
        (
            "store/sqlite/attaching.py",
            "one.occupant.id, reason, head)\n    _release(tx, head, one, reason)\n",
            "one.occupant.id, reason, head)\n",
        ),
    ),
    fault(
        "what is cancelled stays stored at its seat",
        (
            "store/sqlite/closing.py",
            "    if stored is not None:\n        given.release",
            "    if stored is not None and stored.state != 'offered':\n        given.release",
        ),
    ),
    # ── restarts ─────────────────────────────────────────────────────────────────────────────────
    fault(
        "a restart offers again what was on its way",
        ("core/delivery.py", MAY, BACK),
        (
            "core/delivery.py",
            "        case SeatState.ATTEMPTING:\n            return SeatState.UNCERTAIN\n",
            "        case SeatState.ATTEMPTING:\n            return SeatState.RELEASED\n",
        ),
    ),
    fault(
        "a restart forgets what is on its way",
        ("store/sqlite/node.py", "    uncertain += _seats(tx)\n", ""),
    ),
    fault(
        "a restart forgets who asked a moment ago",
        (
            "host/seats/keeping.py",
            "        chair.asking = binding.restarted(age, now.mono, desk.limits)\n",
            "        _ = age\n",
        ),
    ),
    fault(
        "a restart forgets the deadlines",
        (
            "host/seats/keeping.py",
            "    for one in await house.store.mail.in_flight():\n        _remember(house, one)\n",
            "",
        ),
    ),
    fault(
        "a restart forgets what was to be stopped",
        (
            "host/seats/keeping.py",
            "    if one.stop_asked and asked not in chair.interrupts:\n",
            "    if one.stop_asked and asked in chair.interrupts:\n",
        ),
    ),
    fault(
        "a seat that is let go is not asked to stop what it has",
        (
            "host/seats/desk.py",
            "        chair.asking = binding.detached(chair.asking)\n",
            (
                "        chair.asking = binding.detached(chair.asking)\n"
                "        chair.interrupts.clear()\n"
            ),
        ),
    ),
    # ── handoffs ─────────────────────────────────────────────────────────────────────────────────
    fault(
        "a handoff that may have arrived is told again",
        (
            "store/sqlite/handoffs.py",
            "    if moves_cursor(before, after):\n",
            "    if moves_cursor(before, after) and after is SpanState.DELIVERED:\n",
        ),
    ),
    fault(
        "a handoff that was acknowledged is told again",
        (
            "store/sqlite/handoffs.py",
            "    if moves_cursor(before, after):\n",
            "    if moves_cursor(before, after) and after is SpanState.UNCERTAIN:\n",
        ),
    ),
    fault(
        "a harness is told nothing of what it missed",
        (
            "store/sqlite/pages.py",
            "    sealed = handoffs.seal(tx, head, one, ask, budget)\n",
            "    sealed = None\n",
        ),
    ),
    fault(
        "other events go out beside a handoff",
        (
            "store/sqlite/pages.py",
            "    if span is not None and span.state in IN_FLIGHT:\n        return Taken(())\n",
            "",
        ),
    ),
    fault(
        "a handoff leaves out how the last turn went",
        ("store/sqlite/handoffs.py", "compose(turns, budget)", "compose(turns[:-1], budget)"),
    ),
    fault(
        "a harness is told what its session began with",
        (
            "store/sqlite/handoffs.py",
            (
                'shown the log up to a cursor. The caller saves the head."""\n'
                "    move_cursor(head, cursor)\n"
            ),
            'shown the log up to a cursor. The caller saves the head."""\n',
        ),
    ),
    fault(
        "a harness is told what came before a reset",
        (
            "store/sqlite/handoffs.py",
            "max(head.harness_cursor or 0, head.reset_cursor, cursor)",
            "max(head.harness_cursor or 0, cursor)",
        ),
        (
            "store/sqlite/handoffs.py",
            "        move_cursor(head, head.reset_cursor)\n",
            "        pass\n",
        ),
    ),
    fault(
        "a handoff that may not have arrived is not said to be",
        (
            "store/sqlite/handoffs.py",
            "    if to_be_said(before, after):\n",
            "    if to_be_said(after, before):\n",
        ),
    ),
)
