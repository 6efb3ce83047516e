"""Faults of what a seat is given: its mailbox and its handoffs. See faults.py."""

MAILBOX = [
    (
        "every seat is held",
        "return self is Policy.HEAD\n",
        "return self in {Policy.HEAD, Policy.LEAD}\n",
    ),
    ("nobody reserves", "return self is Policy.WORKER", "return not self"),
    (
        "every global conversation is the head",
        "if conversation == HEAD else",
        "if kind is Kind.GLOBAL else",
    ),
    ("an internal input is a message", "Origin.ROUND | Origin.INTERNAL:", "Origin.ROUND:"),
    (
        "an owner's turn wants a reply",
        "{Origin.ESCALATION, Origin.ROOM}\n\n\n_SOURCES",
        "{Origin.OWNER, Origin.ESCALATION, Origin.ROOM}\n\n\n_SOURCES",
    ),
    (
        "a report wants a reply",
        "return origin in {Origin.ESCALATION, Origin.ROOM}",
        "return origin in {Origin.ESCALATION, Origin.ROOM, Origin.REPORT}",
    ),
    ("a channel is not named", "return self.channel\n", "pass\n"),
    ("the rest is not counted", "return text[:kept], len(text) - kept", "return text[:kept], 0"),
    ("16,384 characters are too long", "if len(text) <= limit:", "if len(text) < limit:"),
    ("a long text is cut at 16,384", "limit * 15_000 // 16_384", "limit"),
    (
        "a worker is given what is new beside what is unresolved",
        "if policy.reserves and unresolved:",
        "if policy.holds and unresolved:",
    ),
    ("a held Queue does not wait", "if not (responding and one.reach is Reach.HELD_QUEUE)", ""),
    (
        "everything waits for the turn to end",
        "if not (responding and one.reach is Reach.HELD_QUEUE)",
        "if not responding",
    ),
    (
        "a held Queue waits for ever",
        "if not (responding and one.reach is Reach.HELD_QUEUE)",
        "if one.reach is not Reach.HELD_QUEUE",
    ),
    (
        "the owner waits in line",
        "return one.kind not in {EventKind.TURN, EventKind.ESCALATION}, one.arrived",
        "return False, one.arrived",
    ),
    (
        "escalations wait in line",
        "return one.kind not in {EventKind.TURN, EventKind.ESCALATION}, one.arrived",
        "return one.kind not in {EventKind.TURN}, one.arrived",
    ),
    (
        "the last comes first",
        "return one.kind not in {EventKind.TURN, EventKind.ESCALATION}, one.arrived",
        "return one.kind not in {EventKind.TURN, EventKind.ESCALATION}, -one.arrived",
    ),
    ("nothing is put together", "if one.channel not in together:", "if one.channel:"),
    (
        "a room's messages are put together",
        "if one.kind is not EventKind.ESCALATION or one.channel is None:",
        "if one.channel is None:",
    ),
    (
        "a batch takes what does not fit",
        "        if room < 0:\n            break\n        kept.append(one)\n",
        "        kept.append(one)\n",
    ),
    (
        "a batch takes a later one that fits",
        "        if room < 0:\n            break\n        kept.append(one)\n",
        (
            "        if room < 0:\n            room += len(one.text) + FRAME\n"
            "            continue\n"
            "        kept.append(one)\n"
        ),
    ),
    ("a batch has the oldest one's id", "newest = group[-1]", "newest = group[0]"),
    ("an idle seat is steered", "steer=responding and _steers(newest)", "steer=_steers(newest)"),
    ("nothing steers", "steer=responding and _steers(newest)", "steer=False"),
    (
        "a Queue steers",
        "if one.reach is Reach.HELD_QUEUE or one.mode is Mode.QUEUE:",
        "if one.reach is Reach.HELD_QUEUE:",
    ),
    ("a wake steers", "one.mode is Mode.STEER or one.kind in", "one.kind or one.kind in"),
    ("a page has no end", "for batch in batches[:most]:", "for batch in batches:"),
    ("a page has no bound in bytes", "        if kept and room < 0:\n            break\n", ""),
    ("a large event is never given", "if kept and room < 0:", "if room < 0:"),
    (
        "a worker is given a page",
        "1 if policy.reserves else limits.page_events",
        "limits.page_events",
    ),
    (
        "the bytes of a character are one",
        'len(_quoted(one.text).encode(errors="surrogatepass"))',
        "len(one.text)",
    ),
    (
        "what nobody acknowledged is delivered",
        "limits.acknowledge, SeatState.UNCERTAIN)",
        "limits.acknowledge, SeatState.DELIVERED)",
    ),
    (
        "the reply is awaited from the handing over",
        "at = (attempted_at if acknowledged_at is None else acknowledged_at)",
        "at = attempted_at",
    ),
    (
        "a living turn is cut short",
        "at = max(at, alive_at + limits.silent_turn)",
        "pass",
    ),
    (
        "a dead turn ends the wait",
        "at = max(at, alive_at + limits.silent_turn)",
        "at = alive_at + limits.silent_turn",
    ),
]

HANDOFF = [
    ("what is on its way is opened by a new run", "_E.RUN: _S.ATTEMPTING,", "_E.RUN: _S.OPEN,"),
    (
        "a handoff without proof is sent again",
        "_E.REFUSED: _S.OPEN,\n        _E.LAPSED: _S.UNCERTAIN,",
        "_E.REFUSED: _S.OPEN,\n        _E.LAPSED: _S.OPEN,",
    ),
    ("a refused handoff is lost", "_E.REFUSED: _S.OPEN,", "_E.REFUSED: _S.DELIVERED,"),
    (
        "a restart sends a handoff again",
        "_S.OPEN,\n        _E.LAPSED: _S.UNCERTAIN,\n        _E.RESTARTED: _S.UNRESOLVED",
        "_S.OPEN,\n        _E.LAPSED: _S.UNCERTAIN,\n        _E.RESTARTED: _S.OPEN",
    ),
    (
        "a session start does not satisfy an open span",
        "_E.COVERED: _S.DELIVERED,\n        _E.RESET: _S.NONE,\n    },\n    _S.ATTEMPTING",
        "_E.COVERED: _S.OPEN,\n        _E.RESET: _S.NONE,\n    },\n    _S.ATTEMPTING",
    ),
    (
        "a reset leaves an open span",
        "_E.RESET: _S.NONE,\n    },\n    _S.ATTEMPTING",
        "_E.RESET: _S.OPEN,\n    },\n    _S.ATTEMPTING",
    ),
    (
        "a closed span opens again",
        "_S.UNCERTAIN: {_E.ACKNOWLEDGED: _S.DELIVERED},",
        "_S.UNCERTAIN: {_E.ACKNOWLEDGED: _S.DELIVERED, _E.RUN: _S.OPEN},",
    ),
    (
        "the cursor stays when nobody can tell",
        "return after in CLOSED and before in IN_FLIGHT",
        "return after is SpanState.DELIVERED and before in IN_FLIGHT",
    ),
    (
        "a late acknowledgement moves the cursor back",
        "return after in CLOSED and before in IN_FLIGHT",
        "return after in CLOSED",
    ),
    (
        "the log is told twice",
        "return after is SpanState.UNCERTAIN and before is not SpanState.UNCERTAIN",
        "return after is SpanState.UNCERTAIN",
    ),
    ("a tool that began is told", "return None if started else rendered", "return rendered"),
    ("a failed turn reads as unanswered", "if phase not in _ENDS:", "if phase:"),
    ("why a turn failed is not told", '("" if code is None else f": {code}")', '""'),
    (
        "oldest turns first into the budget",
        "for n in range(len(turns), 0, -1):\n        longer = [turns[n - 1].text, *kept]",
        "for n in range(len(turns), 0, -1):\n        longer = [turns[len(turns) - n].text, *kept]",
    ),
    (
        "the newest comes first",
        "longer = [turns[n - 1].text, *kept]",
        "longer = [*kept, turns[n - 1].text]",
    ),
    (
        "a handoff exceeds its budget by its markers",
        "if _length(turns[: n - 1], longer) > budget:",
        "if sum(map(len, longer)) > budget:",
    ),
    (
        "what just fits is cut",
        "if _length(turns[: n - 1], longer) > budget:",
        "if _length(turns[: n - 1], longer) >= budget:",
    ),
    (
        "what is left out is not counted",
        "count=len(left), first=left[0].first",
        "count=0, first=left[0].first",
    ),
    (
        "what is left out ends where it begins",
        "last=left[-1].last)] if left",
        "last=left[0].last)] if left",
    ),
    (
        "a turn is cut at its tail",
        "return marker + turn.text[missing:]",
        "return marker + turn.text[:kept]",
    ),
    (
        "a cut counts what is left",
        "missing = len(turn.text) - kept\n    marker = _CUT.format(count=missing",
        "missing = len(turn.text) - kept\n    marker = _CUT.format(count=kept",
    ),
    (
        "a budget that is too small is exceeded",
        "_joined(left, kept)[: max(0, budget)]",
        "_joined(left, kept)",
    ),
    ("nothing is told as something", '    if not turns:\n        return ""\n', ""),
]
