"""Faults of everything around the fence. See faults.py."""

from core import faults_seats

PROJECTION = [
    (
        "the marker has no room",
        "self.limits.budget - _MARKER_ROOM - self._used",
        "self.limits.budget - self._used",
    ),
    ("the lines between are free", "cost = len(line) + 2", "cost = len(line)"),
    ("only the words cost", "cost = len(line) + 2", 'cost = len(getattr(short, "text", "")) + 2'),
    ("a hole is filled with what is older", "            self._full = True\n", ""),
    ("newest first", "tuple(reversed(self._entries))", "tuple(self._entries)"),
    ("omitted counts one too many", "total - len(self._entries)", "total + 1 - len(self._entries)"),
    ("omitted counts everything", "max(0, total - len(self._entries))", "total"),
    ("a message is not cut", "clipped(body.text, self.limits.message)", "body.text"),
    ("a detail is not cut", "clipped(body.detail, self.limits.tool_detail)", "body.detail"),
    (
        "a detail is cut like a message",
        "clipped(body.detail, self.limits.tool_detail)",
        "clipped(body.detail, self.limits.message)",
    ),
    ("a cut counts what is left", "{len(text) - room} characters", "{room} characters"),
    ("a cut is longer than its limit", 'characters cut]"[:limit]', 'characters cut]"'),
    ("what just fits is cut", "if len(text) <= limit:", "if len(text) < limit:"),
    ("the oldest is called the newest", "self.entries[-1].cursor", "self.entries[0].cursor"),
    ("the marker is left out", "if self.omitted else []", "if self.omitted > 999 else []"),
    ("the agent speaks as the owner", 'Role.AGENT: "you"', 'Role.AGENT: "owner"'),
    ("a source is not told", 'if source is None else f" ({source})"', 'if source else ""'),
    ("who ran a tool is forgotten", "{author.principal} tool", "operator tool"),
]

WATCHDOG = [
    (
        "tools are ignored",
        "return None if marks.tools else marks.last + idle",
        "return marks.last + idle",
    ),
    (
        "progress renews nothing",
        '"""Something was observed."""\n        return replace(self, last=now)',
        '"""Something was observed."""\n        return replace(self, last=self.last)',
    ),
    (
        "a new phase renews nothing",
        "replace(self, last=now, phase=phase)",
        "replace(self, phase=phase)",
    ),
    ("the phase is forgotten", "replace(self, last=now, phase=phase)", "replace(self, last=now)"),
    (
        "no full window after the last tool",
        "replace(self, last=now, tools=self.tools - {call})",
        "replace(self, tools=self.tools - {call})",
    ),
    (
        "the first tool that ends ends all",
        "replace(self, last=now, tools=self.tools - {call})",
        "replace(self, last=now, tools=frozenset())",
    ),
    (
        "a second tool takes the place of the first",
        "tools=self.tools | {call})",
        "tools=frozenset({call}))",
    ),
    (
        "the start of a tool is no sign of life",
        "replace(self, last=now, tools=self.tools | {call})",
        "replace(self, tools=self.tools | {call})",
    ),
    ("a run is stuck a moment too late", "now >= limit", "now > limit"),
    ("a run is never stuck", "limit is not None and now >= limit", "limit is None and bool(now)"),
]

WAKE = [
    ("the stop has another code", '"budget_exhausted"', '"budget"'),
    ("a spent budget is tried again", "if failure.code == EXHAUSTED:", 'if failure.code == "":'),
    (
        "the backoff does not double",
        "limits.first_backoff * 2 ** (failure.attempts - 1)",
        "limits.first_backoff",
    ),
    ("the backoff begins at 10 s", "2 ** (failure.attempts - 1)", "2**failure.attempts"),
    ("the backoff grows by addition", "2 ** (failure.attempts - 1)", "failure.attempts"),
    ("the backoff trebles", "2 ** (failure.attempts - 1)", "3 ** (failure.attempts - 1)"),
    (
        "one attempt too many",
        "failure.attempts >= limits.attempts",
        "failure.attempts > limits.attempts",
    ),
    (
        "a rejected credential is tried again",
        "if failure.code == CREDENTIAL_REJECTED:",
        "if failure.code == CREDENTIAL_REJECTED and failure.attempts > 1:",
    ),
    ("stalled after a tool is tried again", "in {STALLED, STOPPED} and", "in {STOPPED} and"),
    ("stopped after a tool is tried again", "in {STALLED, STOPPED} and", "in {STALLED} and"),
    (
        "stalled before a tool is held",
        "if failure.code in {STALLED, STOPPED} and failure.tool_started:",
        "if failure.code in {STALLED, STOPPED}:",
    ),
    ("an effect is repeated", "if failure.effect_started:", "if failure.effect_started is None:"),
    ("any tool holds a failure", "if failure.effect_started:", "if failure.tool_started:"),
    ("one wake too many waits", "waiting >= limits.waiting", "waiting > limits.waiting"),
    ("a chain one too long", "wake.depth > limits.depth", "wake.depth > limits.depth + 1"),
    ("a chain one too short", "wake.depth > limits.depth", "wake.depth >= limits.depth"),
    (
        "a wake is due at once",
        "if wake.due_at < wake.created_at +",
        "if wake.due_at < wake.created_at -",
    ),
    ("30 s is too soon", "if wake.due_at < wake.created_at", "if wake.due_at <= wake.created_at"),
    ("a blank wake", "if not wake.text.strip() or", "if not wake.text or"),
    ("a wake too long", "len(wake.text) > limits.text", "len(wake.text) > limits.text + 1"),
]

SETTINGS = [
    ("true is a number", "isinstance(value, bool) or not", "not"),
    (
        "NaN is within bounds",
        'if not bounds["low"] <= value <= bounds["high"]:',
        'if value < bounds["low"] or value > bounds["high"]:',
    ),
    ("there is no upper bound", '<= value <= bounds["high"]:', "<= value:"),
    (
        "the bounds are excluded",
        'bounds["low"] <= value <= bounds',
        'bounds["low"] < value < bounds',
    ),
    ("a fraction where a whole is asked", "int if whole else int | float", "int | float"),
    (
        "no whole where a fraction may be",
        "int if whole else int | float",
        "int if whole else float",
    ),
    (
        "a whole stays where a fraction stands",
        "return value if whole else float(value)",
        "return value",
    ),
    ("a text has no limit", 'or len(value) > bounds["limit"]:', "or len(value) < 0:"),
    ("a text one too long", 'len(value) > bounds["limit"]:', 'len(value) > bounds["limit"] + 1:'),
    (
        "null does not bring a default back",
        "default if value is None else",
        "default if value is ... else",
    ),
    ("null keeps a group", "changed[group] = getattr(DEFAULTS, group)", "pass"),
    (
        "an unknown group is ignored",
        "raise InvalidFieldError(group, f",
        "continue\n            print(f",
    ),
    (
        "a list is taken for a group",
        '            raise InvalidFieldError(group, "an object or null")',
        "            pass",
    ),
    (
        "a change begins from the defaults",
        "current = getattr(settings, group)",
        "current = getattr(DEFAULTS, group)",
    ),
    (
        "the idle limit is ten minutes",
        '_number(300.0, 1.0, DAY, "silence',
        '_number(600.0, 1.0, DAY, "silence',
    ),
    ("a large bound is rounded", "{bounds['high']:.15g}", "{bounds['high']:g}"),
    ("the projection is larger", "_number(24_000, 1_000", "_number(25_000, 1_000"),
    (
        "an address goes to any provider",
        'settings.models.base_url if same else ""',
        "settings.models.base_url",
    ),
    ("an address goes to no provider", 'settings.models.base_url if same else ""', '""'),
    ("the shell is on", "shell: bool = _flag(default=False", "shell: bool = _flag(default=True"),
    (
        "a switch takes anything",
        '            raise InvalidFieldError(path, "true or false")',
        "            pass",
    ),
    ("a zone may be anything", 're.fullmatch(bounds["form"], value) is None', "not value"),
    (
        "a zone may end in anything",
        're.fullmatch(bounds["form"], value)',
        're.match(bounds["form"], value)',
    ),
    ("a zone may have dots", 'r"[A-Za-z][A-Za-z0-9_+-]*(?:', 'r"[A-Za-z.][A-Za-z0-9_+.-]*(?:'),
    (
        "a refused zone is told its length",
        "raise InvalidFieldError(path, bounds[",
        "pass\n    if bounds.get(0): raise InvalidFieldError(path, bounds[",
    ),
    (
        "null keeps the servers",
        "{} if value is None else merged",
        "current.servers if value is None else merged",
    ),
    ("servers are replaced as a whole", "merged(current.servers, value)", "merged({}, value)"),
    (
        "servers that are nothing are taken",
        "merged(current.servers, value)",
        "merged(current.servers, value or {})",
    ),
    (
        "servers are shown as they are kept",
        "{name: one.to_wire() for name, one in",
        "{name: one for name, one in",
    ),
    (
        "the day has ten million tokens",
        "_number(\n        2_000_000, 0",
        "_number(\n        10_000_000, 0",
    ),
]

IDS = [
    (
        "a delivery id may end in anything",
        "if _DELIVERY.fullmatch(given)",
        "if _DELIVERY.match(given)",
    ),
    (
        "a line feed may end a conversation id",
        "_CONVERSATION.fullmatch(given)",
        "_CONVERSATION.match(given)",
    ),
    (
        "a stored id may end in anything",
        "_STORED_DELIVERY.fullmatch(given)",
        "_STORED_DELIVERY.match(given)",
    ),
    (
        "a delivery id may hold a slash",
        're.compile(r"[A-Za-z0-9._:-]{1,128}")',
        're.compile(r"[A-Za-z0-9._:/-]{1,128}")',
    ),
    (
        "a delivery id may be 129 long",
        're.compile(r"[A-Za-z0-9._:-]{1,128}")',
        're.compile(r"[A-Za-z0-9._:-]{1,129}")',
    ),
    (
        "a delivery id may be in any script",
        're.compile(r"[A-Za-z0-9._:-]{1,128}")',
        're.compile(r"[\\w._:-]{1,128}")',
    ),
    ("a conversation id may begin with a dash", '"[a-z0-9][a-z0-9-]{0,63}"', '"[a-z0-9-]{1,64}"'),
    ("a name may hold escapes", "or not given.isprintable() or", "or"),
    ("a name may be blank", " or not given.strip():", ":"),
    ("a name may be 81 long", "_NAME_LIMIT: Final = 80", "_NAME_LIMIT: Final = 81"),
    (
        "everybody's ids are the operator's",
        'return given if principal == "operator" else',
        "return given if principal else",
    ),
]

CONVERSATION = [
    ("a room looks into others", "reader.kind is not Kind.ROOM", "reader.kind is not other.kind"),
    ("a room cannot see itself", "reader.id == other.id or reader", "reader"),
    ("nobody looks anywhere else", "or reader.kind is not Kind.ROOM", ""),
    ("a list hides the model", 'wire["model"] = conversation.model', "pass"),
    ("a tool that just started is shown", "return phase is not ToolPhase.STARTED", "return True"),
    (
        "only tools that went well are shown",
        "phase is not ToolPhase.STARTED",
        "phase is ToolPhase.COMPLETED",
    ),
    (
        "what is held looks busy",
        "self.running or self.waiting > self.held",
        "self.running or self.waiting",
    ),
    ("what waits looks idle", "self.running or self.waiting > self.held", "self.running"),
    ("closed looks idle", "return State.CLOSED", "return State.IDLE"),
    ("nothing is read only", "return self.kind is Kind.ROOM", "return False"),
    ("times are not UTC", "at.astimezone(UTC).isoformat", "at.replace(tzinfo=UTC).isoformat"),
    ("times are whole seconds", 'timespec="milliseconds"', 'timespec="seconds"'),
    (
        "what is unknown is shown as null",
        "in wire.items() if value is not None}",
        "in wire.items()}",
    ),
    (
        "an event hides its author",
        '"author": event.author.to_wire(),',
        '"author": SYSTEM.to_wire(),',
    ),
    *faults_seats.CONVERSATION,
]

RECEIPT = [
    ("a receipt hides what it cost", 'wire["usage"] = self.usage.to_wire()', "pass"),
    (
        "what was closed as unknown says nothing",
        "case InputState.UNCERTAIN | InputState.ABANDONED:\n            return",
        (
            "case InputState.ABANDONED:\n            return None\n"
            "        case InputState.UNCERTAIN:\n            return"
        ),
    ),
    (
        "the first lost attempt is told",
        "for a in reversed(delivery.attempts)",
        "for a in delivery.attempts",
    ),
    ("any attempt counts as lost", "if _is_lost(a))", "if a.state)"),
    (
        "only the last attempt's tools count",
        "any(attempt.tools for attempt in delivery.attempts)",
        "bool(delivery.attempts[-1].tools)",
    ),
    (
        "the reservation is told, not the question",
        "lost.asked_at or lost.started_at",
        "lost.started_at",
    ),
    ("tools are not told", "for tool in lost.tools)", "for tool in lost.tools[:0])"),
    ("how a tool ended is not told", "{tool.name} ({tool.state})", "{tool.name}"),
    ("a receipt hides its attempts", "[attempt.to_wire() for attempt in self.attempts]", "[]"),
    (
        "a receipt shows null",
        "for name, value in wire.items() if value is not None}",
        "for name, value in wire.items()}",
    ),
    *faults_seats.RECEIPT,
]

ERRORS = [
    (
        "an unknown commit may be taken for a refusal",
        "class CommitUnknownError(UncertainError)",
        "class CommitUnknownError(FaultError)",
    ),
    (
        "a full queue is the caller's fault",
        "class BackpressureError(FaultError)",
        "class BackpressureError(RefusedError)",
    ),
    ("the blocker is not named", "            blocker=blocker,\n", ""),
    ("a conflict hides the safe cursor", "            cursor=cursor,\n", ""),
    ("unconfirmed has another code", 'code = "unconfirmed"', 'code = "delivery_conflict"'),
]
