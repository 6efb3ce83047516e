"""Faults of seats: who may take, what is given, what was missed, what proves. See faults.py."""

DELIVERY = [
    (
        "what was on its way to a seat waits again after a restart",
        "return SeatState.UNCERTAIN",
        "return SeatState.RELEASED",
    ),
    (
        "a restart forgets what a seat took",
        "        case (\n            SeatState.OFFERED\n            | SeatState.TAKEN\n",
        (
            "        case SeatState.TAKEN:\n            return SeatState.RELEASED\n"
            "        case (\n            SeatState.OFFERED\n"
        ),
    ),
    (
        "a reply settles each message of its batch as its own",
        "InputState.ABSORBED if member else InputState.SETTLED",
        "InputState.SETTLED",
    ),
    (
        "what was offered counts as running",
        "        case SeatState.OFFERED | SeatState.RELEASED | SeatState.REFUSED:\n",
        "        case SeatState.RELEASED | SeatState.REFUSED:\n",
    ),
    (
        "an interrupt that the owner asked for counts as a failure",
        "InputState.CANCELLED if cancelled else InputState.FAILED",
        "InputState.FAILED",
    ),
    (
        "what a seat may have waits again",
        "case SeatState.UNCERTAIN:\n            return InputState.UNCERTAIN",
        "case SeatState.UNCERTAIN:\n            return InputState.QUEUED",
    ),
    (
        "what the owner closed is opened again",
        "if before is after or before is InputState.ABANDONED:",
        "if before is after:",
    ),
    (
        "a late reply cannot absorb",
        "late = {InputState.ABSORBED, InputState.CANCELLED}",
        "late = {InputState.CANCELLED}",
    ),
    (
        "anything can be reached by way of a run",
        "if before is InputState.UNCERTAIN and after in late:",
        "if before is InputState.UNCERTAIN:",
    ),
    ("a step of an attempt is not checked", "move_seat(attempt, *moved)", "moved[1]"),
]

DRIVER = [
    (
        "what was refused is offered to the same again",
        "    if addressed.refused and not never_on_service(addressed):\n",
        "    if addressed.refused and seat is None:\n",
    ),
    (
        "refused Linear activity is never offered again",
        "if addressed.refused and not never_on_service(addressed):",
        "if addressed.refused:",
    ),
    (
        "a refused Queue waits unseen",
        'return Refuse("refused_by_seat") if held else Wait',
        'return Wait("refused_by_seat") if held else Wait',
    ),
    (
        "a refused report of a parent fails",
        "held = addressed.reach is Reach.HELD_QUEUE",
        "held = addressed.reach is not Reach.OCCUPANT",
    ),
    (
        "a seat is given what its adapter cannot hand over",
        "    if kind_of(addressed.origin) not in seat.kinds:\n        return False\n",
        "",
    ),
]

CONVERSATION = [
    ("the service lane drives everything", "if driver is None else driver.to_wire()", ""),
    (
        "what runs waits for the seat",
        "waits = state is State.RUNNING and not conversation.running",
        "waits = state is State.RUNNING",
    ),
    (
        "what waits is a silent seat's",
        'return self.state in {"live", "holding"}',
        'return self.state != "parked"',
    ),
    (
        "a seat within its hold has nothing that waits",
        'return self.state in {"live", "holding"}',
        'return self.state == "live"',
    ),
    (
        "an unknown time is shown",
        "for name, at in times.items() if at is not None},",
        "for name, at in times.items() if at is not self},",
    ),
]

RECEIPT = [
    (
        "the moment of giving is that of offering",
        "when = _clock(attempt.asked_at or attempt.started_at)",
        "when = _clock(attempt.started_at)",
    ),
    (
        "an acknowledgement is not told",
        "if attempt.acknowledged_at is not None:\n        return f",
        "if attempt.acknowledged_at is attempt:\n        return f",
    ),
    (
        "a proof is not told",
        "if attempt.proof is not None:\n        return",
        "if 0:\n        return",
    ),
    ("a seat's attempt asked the model", "if lost.seat is not None:", "if lost.seat is lost:"),
    (
        "a refusal reads like a release",
        'done = "refused it" if',
        'done = "did not take it" if',
    ),
    ("why it left is not told", 'f" ({last.code})"', '""'),
    ("the first attempt is told", "last = delivery.attempts[-1]", "last = delivery.attempts[0]"),
]

BINDING = [
    ("an abort leaves the binding", "_S.ABORT: _P.UNBOUND,", "_S.ABORT: _P.GRACE,"),
    (
        "detaching leaves a grace",
        "_S.LAPSE: _P.UNBOUND, _S.DETACH: _P.NEVER",
        "_S.LAPSE: _P.UNBOUND",
    ),
    ("a peek is an ask", "    if wait <= 0:\n        return asking\n", ""),
    (
        "an older poll ends the newer one",
        "    if asking.ask != ask:\n        return asking\n    return replace(asking, phase=move",
        "    return replace(asking, phase=move",
    ),
    (
        "an older abort ends the newer poll",
        "    if asking.ask != ask:\n        return asking\n    phase = move(",
        "    phase = move(",
    ),
    (
        "a bridge that left may still take",
        "ask=None, binding=None, last_ask=now)",
        "ask=None, last_ask=now)",
    ),
    (
        "an aborted poll counts from its beginning",
        "ask=None, binding=None, last_ask=now)",
        "ask=None, binding=None)",
    ),
    (
        "a completed poll counts from its beginning",
        "Signal.COMPLETE), ask=None, last_ask=now)",
        "Signal.COMPLETE), ask=None)",
    ),
    ("an older poll is left waiting", "return asking.ask != ask\n", "return asking.ask is None\n"),
    (
        "a grace lasts a moment longer",
        "if ends is None or now < ends:",
        "if ends is None or now <= ends:",
    ),
    (
        "the grace is as long as the hold",
        "asking.last_ask + limits.grace\n\n\ndef hold",
        "asking.last_ask + limits.hold\n\n\ndef hold",
    ),
    (
        "a hold lasts a moment longer",
        "if ends is None or now >= ends:",
        "if ends is None or now > ends:",
    ),
    ("every seat is held", "if not policy.holds:", "if policy is None:"),
    ("no seat is held", "if not policy.holds:", "if policy:"),
    (
        "the hold is as short as the grace",
        "None if seen is None else seen + limits.hold",
        "None if seen is None else seen + limits.grace",
    ),
    (
        "nothing is presumed",
        "for one in (seen_until, asking.presumed_until)",
        "for one in (seen_until,)",
    ),
    (
        "the presumption shortens what was seen",
        "return max(known, default=None)",
        "return min(known, default=None)",
    ),
    (
        "every seat is presumed live",
        "if age <= limits.presumed else None",
        "if age <= 1e9 else None",
    ),
    (
        "119 s is too long ago",
        "if age <= limits.presumed else None",
        "if age < limits.presumed else None",
    ),
    (
        "a presumption outlives an ask",
        "last_ask=asking.last_ask)\n",
        "last_ask=asking.last_ask, presumed_until=asking.presumed_until)\n",
    ),
    (
        "a silence is forgotten at a start",
        "Asking(last_ask=now - max(0.0, age),",
        "Asking(last_ask=now,",
    ),
    ("a clock set back makes an ask in the future", "now - max(0.0, age)", "now - age"),
    ("a parked seat takes", "    if parked:\n        return Presence.ABSENT\n", ""),
    (
        "a silent seat is live",
        "is not None else Presence.HOLDING",
        "is not None else Presence.LIVE",
    ),
    (
        "a held Queue waits out the hold",
        "0.0 if asking.last_ask is None else asking.last_ask + limits.grace",
        "0.0 if asking.last_ask is None else asking.last_ask + limits.hold",
    ),
    ("a held Queue waits out a parking", "ends.append(parked_at + limits.grace)", "pass"),
    (
        "parking ends a held Queue at once",
        "ends.append(parked_at + limits.grace)",
        "ends.append(parked_at)",
    ),
    (
        "a held Queue ends though its seat asks",
        "    if asking.ask is None:\n        left",
        "    if True:\n        left",
    ),
    (
        "a held Queue does not wait for who is presumed there",
        "max(left, asking.presumed_until or left)",
        "left",
    ),
    (
        "who asks is silent",
        "return asking.last_ask if asking.ask is None else None",
        "return asking.last_ask",
    ),
    (
        "a change that is past is still to come",
        "one is not None and one > now)",
        "one is not None)",
    ),
    ("a parking changes nothing", "queue_ends(asking, limits, parked_at=parked_at),", ""),
]

SESSION = [
    ("another process goes on", 'if not same_process or source == "fork":', 'if source == "fork":'),
    ("a fork goes on", 'if not same_process or source == "fork":', "if not same_process:"),
    (
        "a resume of another session goes on",
        'frozenset({"clear", "compact"})',
        'frozenset({"clear", "compact", "resume"})',
    ),
    ("clearing ends a seat", 'frozenset({"clear", "compact"})', 'frozenset({"compact"})'),
    (
        "the same session is adopted",
        "        return Continuity.KEEP\n",
        "        return Continuity.ADOPT\n",
    ),
    (
        "any delivery is proven",
        "(evidence.event, evidence.attempt) != (handed.event, handed.attempt)",
        "evidence.attempt != handed.attempt",
    ),
    (
        "any attempt is proven",
        "(evidence.event, evidence.attempt) != (handed.event, handed.attempt)",
        "evidence.event != handed.event",
    ),
    (
        "any id is proof",
        "return evidence.value == delivery_uuid(handed.event, handed.attempt)",
        "return evidence.value is not None",
    ),
    (
        "the same words twice are proof",
        "return alike == 1 and _typed",
        "return alike >= 1 and _typed",
    ),
    (
        "typed words prove for ever",
        "soon = pressed <= entry.at <= pressed + timedelta(seconds=limits.typed)",
        "soon = pressed <= entry.at",
    ),
    (
        "a row from before proves",
        "soon = pressed <= entry.at <= pressed",
        "soon = entry.at <= pressed",
    ),
    ("any words prove", "alike = normalise(entry.text) == normalise(handed.text)", "alike = True"),
    (
        "what the agent says proves what was typed",
        "return entry.kind is EntryKind.USER and",
        "return",
    ),
    (
        "what was typed before it was given proves",
        "and handed.at <= pressed and in_time",
        "and in_time",
    ),
    (
        "what was typed long after it was given proves",
        "and handed.at <= pressed and in_time",
        "and handed.at <= pressed",
    ),
    (
        "a moment without a zone is one",
        "return None if at.tzinfo is None else at",
        "return at.astimezone()",
    ),
    (
        "what is no moment counts from the page",
        "    if pressed is None:\n        return False\n",
        "    pressed = pressed or handed.at\n",
    ),
    (
        "a parking counts from its reset",
        "        return limited.resets_at\n",
        "        return limited.resets_at + timedelta(seconds=limits.park)\n",
    ),
    (
        "a parking without a reset ends at once",
        "return limited.occurred_at + timedelta(seconds=limits.park)",
        "return limited.occurred_at",
    ),
    (
        "an older session ends the turn",
        "heeded = session == (turn.session if runs else current)",
        "heeded = bool(session)",
    ),
    (
        "the current session ends another's turn",
        "heeded = session == (turn.session if runs else current)",
        "heeded = session == current",
    ),
    (
        "an older session begins a turn",
        "            heeded = session == current\n        case Activity.WAITING:",
        "            heeded = bool(session)\n        case Activity.WAITING:",
    ),
    (
        "a dead turn holds a Queue back",
        "return alive_at + limits.silent_turn",
        "return alive_at + 9 * limits.silent_turn",
    ),
    (
        "a seat that waits holds a Queue back",
        "if activity is not Activity.RESPONDING or alive_at is None:",
        "if activity is None or alive_at is None:",
    ),
    (
        "a turn that began at nought does not run",
        "if activity is not Activity.RESPONDING or alive_at is None:",
        "if activity is not Activity.RESPONDING or not alive_at:",
    ),
    ("a grant never ends", "if now >= expires_at or offered", "if offered"),
    ("a grant ends a moment late", "if now >= expires_at or", "if now > expires_at or"),
    ("a grant is good for any harness", " or offered != harness", ""),
    ("a grant is good for anybody", " or (peer is not None and peer.uid != uid)", ""),
    (
        "only a descendant is kin",
        "return other in _line(one, parents) or one in _line(other, parents)",
        "return other in _line(one, parents)",
    ),
    (
        "only an ancestor is kin",
        "return other in _line(one, parents) or one in _line(other, parents)",
        "return one in _line(other, parents)",
    ),
]

SEAT = [
    (
        "a refusal is told in the words of the harness",
        "_REFUSALS.get(reason, _UNNAMED)",
        "_REFUSALS.get(reason, reason)",
    ),
    (
        "a refusal says nothing of its cause",
        "_REFUSALS.get(reason, _UNNAMED)",
        "_UNNAMED",
    ),
    ("every attempt has the same id", 'f"{event}#{attempt}"', 'f"{event}"'),
    ("every delivery has the same id", 'f"{event}#{attempt}"', 'f"#{attempt}"'),
    ("an id of another version", "digest[6] & 0x0F | 0x50", "digest[6] & 0x0F | 0x40"),
    ("an id of another variant", "digest[8] & 0x3F | 0x80", "digest[8] | 0x80"),
    (
        "another process is the same occupant",
        "native.session_id, str(native.pid))",
        "native.session_id)",
    ),
    (
        "another session is the same occupant",
        "self.harness, native.session_id, str",
        "self.harness, str",
    ),
    (
        "another start is the same occupant",
        '(*parts, native.process_started_at, self.pane or "")',
        '(*parts, self.pane or "")',
    ),
    (
        "another pane is the same occupant",
        '(*parts, native.process_started_at, self.pane or "")',
        "(*parts, native.process_started_at)",
    ),
    (
        "another fleet is the same occupant",
        "parts = (self.fleet, self.harness,",
        "parts = (self.harness,",
    ),
    (
        "an adapter can interrupt unless it says otherwise",
        "interrupt: bool = False",
        "interrupt: bool = True",
    ),
]

SEAT_ERRORS = [
    ("a conflict hides who is there", "            current=current,\n", ""),
    (
        "a lost race reads like a replaced bridge",
        'code = "attachment_conflict"',
        'code = "seat_superseded"',
    ),
    (
        "an event that never was has no code of its own",
        'code = "event_not_found"',
        'code = "seat_not_found"',
    ),
    (
        "nobody is called somebody",
        '"no seat is" if current is None else',
        '"some seat is" if current is None else',
    ),
    (
        "a grant tells why it was refused",
        '"This grant was used, is too old, or never was. "',
        '"This grant was used. "',
    ),
]
