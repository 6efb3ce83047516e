"""Faults of host and store, made by hand. Each breaks a promise; the simulation must find it."""

from simulation.edits import fault as _fault
from simulation.seat_faults import SEAT_FAULTS

AGAIN = "outcome = Outcome(state=ServiceState.{state}, code=INTERRUPTED{wake})"
UNCERTAIN = AGAIN.format(state="UNCERTAIN", wake="")

FAULTS = (
    # ── restarts ─────────────────────────────────────────────────────────────────────────────────
    _fault(
        "a takeover queues again what ran",
        (
            "store/sqlite/node.py",
            UNCERTAIN,
            "from clankie.core.wake import Again\n            "
            + AGAIN.format(state="FAILED", wake=", wake=Again(tx.now)"),
        ),
    ),
    _fault(
        "a wake is tried again although its run is uncertain",
        (
            "store/sqlite/node.py",
            UNCERTAIN,
            "from clankie.core.wake import Again\n            "
            "mine = attempt.delivery.startswith('captain/')\n            "
            "wake = Again(tx.now) if mine else None\n            "
            + AGAIN.format(state="UNCERTAIN", wake=", wake=wake"),
        ),
        (
            "core/delivery.py",
            "        case ServiceState.UNCERTAIN:\n            return InputState.UNCERTAIN",
            (
                "        case ServiceState.UNCERTAIN:\n"
                "            return InputState.QUEUED if again else InputState.UNCERTAIN"
            ),
        ),
    ),
    _fault(
        "a takeover settles what ran",
        (
            "store/sqlite/node.py",
            UNCERTAIN,
            "outcome = Outcome(state=ServiceState.COMPLETED, text='It was probably fine.')",
        ),
    ),
    _fault(
        "a takeover forgets what was reserved",
        (
            "store/sqlite/node.py",
            "            attempts.move(tx, attempt, ServiceState.RELEASED, RESTARTED)\n",
            "",
        ),
    ),
    _fault(
        "a takeover forgets the members of a run",
        (
            "store/sqlite/node.py",
            "uncertain += finish(tx, head, attempt, outcome)",
            (
                "from clankie.store.sqlite.settle import _end\n"
                "            _end(tx, head, attempt, outcome, None)"
            ),
        ),
    ),
    _fault(
        "a node that was taken over writes on",
        (
            "store/sqlite/batch.py",
            "        if not tx.rows(_ALIVE, (tx.node,)):\n",
            "        if not tx.node:\n",
        ),
    ),
    # ── runs ─────────────────────────────────────────────────────────────────────────────────────
    _fault(
        "the lane is asked before its start is on disk",
        (
            "host/dispatch.py",
            "        await _started(house, turn)\n",
            "        _ = house.captain.spawn(_started(house, turn))\n",
        ),
    ),
    _fault(
        "the lane is asked although its start was refused by the disk",
        (
            "host/dispatch.py",
            "        await refused(house, turn, error.code, error.detail)\n        return\n",
            "        _ = error\n",
        ),
    ),
    _fault(
        "an outcome that the disk refused once is forgotten",
        (
            "host/persist.py",
            'journal.warn("not stored yet", delivery=delivery, why=error.detail)',
            "_ = error\n            return",
        ),
    ),
    _fault(
        "an outcome is not stored when the turn was cut",
        (
            "host/dispatch.py",
            "    await persisted(house, turn.reservation, outcome)\n    journal",
            (
                "    if running.cut is None:\n"
                "        await persisted(house, turn.reservation, outcome)\n    journal"
            ),
        ),
    ),
    _fault(
        "reserving does not look for an open run",
        (
            "store/sqlite/runs.py",
            "    if open_run is not None:\n        return _again(tx, open_run)\n",
            "",
        ),
    ),
    _fault(
        "a reservation whose answer was lost is lost",
        (
            "store/sqlite/runs.py",
            "        return _again(tx, open_run)\n",
            "        return None\n",
        ),
    ),
    _fault(
        "the newest message runs first",
        (
            "store/sqlite/runs.py",
            'ORDER BY mode <> \'steer\', message_cursor"""\n_STEERING',
            'ORDER BY mode <> \'steer\', message_cursor DESC"""\n_STEERING',
        ),
    ),
    _fault(
        "a nudge during the last look is dropped",
        (
            "host/captain.py",
            "            self._drains[conversation] = True\n            return\n",
            "            return\n",
        ),
    ),
    _fault(
        "a conversation is given up when the disk did not tell",
        (
            "host/captain.py",
            "without, seat)\n        except (FaultError, UncertainError) as error",
            "without, seat)\n        except FaultError as error",
        ),
    ),
    _fault(
        "what may have been stored is not taken up",
        (
            "host/admit.py",
            "        _came(house, offer)\n        raise\n",
            "        raise\n",
        ),
    ),
    # ── steering, answers ────────────────────────────────────────────────────────────────────────
    _fault(
        "a steering message joins and the lane never hears of it",
        (
            "host/turn.py",
            "        return tuple(told)\n",
            "        return ()\n",
        ),
    ),
    _fault(
        "whatever waits joins the run",
        ("store/sqlite/runs.py", "AND (mode <> 'steer') = 0 ORDER", "ORDER"),
    ),
    _fault(
        "members are left open when their run ends",
        (
            "store/sqlite/settle.py",
            "for member in attempts.members(tx, attempt.id):",
            "for member in ():",
        ),
    ),
    _fault(
        "the answer is not written down",
        (
            "store/sqlite/settle.py",
            "if outcome.state is ServiceState.COMPLETED and outcome.text:",
            "if outcome.state is ServiceState.COMPLETED and not outcome.text:",
        ),
    ),
    _fault(
        "a live view does not notice a gap",
        (
            "host/feed.py",
            "            self._ring.clear()\n        self._ring.append(frame)",
            "            pass\n        self._ring.append(frame)",
        ),
    ),
    # ── tools ────────────────────────────────────────────────────────────────────────────────────
    _fault(
        "an effect is written down after it happened",
        (
            "host/turn.py",
            "        await self._begin_tool(call)\n        try:\n            yield report\n",
            "        try:\n            yield report\n            await self._begin_tool(call)\n",
        ),
    ),
    _fault(
        "a failed wake is tried again although it had an effect",
        (
            "core/wake.py",
            '    if failure.effect_started:\n        return Hold("failed_after_effect")\n',
            "",
        ),
        (
            "core/wake.py",
            (
                "    if failure.code in {STALLED, STOPPED} and failure.tool_started:\n"
                '        return Hold("cut_off_after_tool")\n'
            ),
            "",
        ),
    ),
    _fault(
        "the host forgets that an effect was started",
        ("host/turn.py", "self.effect_started or call.effect", "self.effect_started"),
    ),
    _fault(
        "a call that was cut off stays open",
        ("store/sqlite/settle.py", "    calls.lose(tx, attempt.id)\n", ""),
    ),
    # ── admission ────────────────────────────────────────────────────────────────────────────────
    _fault(
        "a known id is admitted again",
        (
            "core/admission.py",
            "    return Verdict.REPEAT\n",
            "    return Verdict.ADMIT\n",
        ),
    ),
    _fault(
        "a known id with other words is answered as the same",
        (
            "core/admission.py",
            "    if known.fingerprint != offer.fingerprint:",
            "    if known.fingerprint != offer.fingerprint and False:",
        ),
    ),
    _fault(
        "a stale revision is let in and the input of the house counts",
        ("store/sqlite/admit.py", "    head.revision += owner\n", "    head.revision += 1\n"),
    ),
    # ── cancelling, closing, resetting ───────────────────────────────────────────────────────────
    _fault(
        "cancelling does not look whether a run was reserved",
        (
            "store/sqlite/closing.py",
            " or (stored is None and attempts.open_for(tx, delivery)):",
            ":",
        ),
    ),
    _fault(
        "what was to be cancelled before it began waits again",
        (
            "host/dispatch.py",
            "    if cut is Cut.OWNER:\n",
            "    if cut is Cut.STALLED:\n",
        ),
    ),
    _fault(
        "a view goes back beyond the reset",
        (
            "store/sqlite/conversations.py",
            "    head.reset_ordinal = head.ordinal\n",
            "",
        ),
    ),
    _fault(
        "closing forgets what waits",
        (
            "store/sqlite/conversations.py",
            "        inputs.move(tx, head, one, InputState.NOT_SENT)\n",
            "        one.state = InputState.NOT_SENT\n",
        ),
    ),
    _fault(
        "a held wake is never counted out",
        (
            "store/sqlite/inputs.py",
            "            head.held += step * (one.held is not None)\n",
            "            head.held += one.held is not None\n",
        ),
    ),
    # ── wakes ────────────────────────────────────────────────────────────────────────────────────
    _fault(
        "the wait of a failed wake does not grow",
        (
            "core/wake.py",
            "limits.first_backoff * 2 ** (failure.attempts - 1)",
            "limits.first_backoff",
        ),
    ),
    _fault(
        "a failed wake is tried without end",
        (
            "core/wake.py",
            "    if failure.attempts >= limits.attempts:\n",
            "    if failure.attempts > 20:\n",
        ),
    ),
    _fault(
        "wakes end with the first disk that does not tell",
        (
            "host/wakes.py",
            'except (FaultError, UncertainError) as error:\n            journal.warn("wakes wait"',
            'except FaultError as error:\n            journal.warn("wakes wait"',
        ),
    ),
    _fault(
        "a goal is given up when the disk did not tell",
        (
            "host/captain.py",
            "go_on(house, conversation)\n        except (FaultError, UncertainError) as error",
            "go_on(house, conversation)\n        except FaultError as error",
        ),
    ),
    # ── the record ───────────────────────────────────────────────────────────────────────────────
    _fault(
        "a move is not recorded",
        (
            "store/sqlite/attempts.py",
            "    record(tx, one.id, before, after)\n",
            "    if after != 'released':\n        record(tx, one.id, before, after)\n",
        ),
    ),
    _fault(
        "a stop leaves reservations behind",
        (
            "host/dispatch.py",
            "    await given_back(house, turn.reservation, cut)\n",
            "    if cut is Cut.OWNER:\n        await given_back(house, turn.reservation, cut)\n",
        ),
    ),
    _fault(
        "a turn that was cut at the stop is not waited for",
        (
            "host/captain.py",
            "            await event_within(house.clock, self._quiet, CUT_GRACE)\n",
            "            pass\n",
        ),
    ),
    *SEAT_FAULTS,
)
