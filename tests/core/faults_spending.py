"""Faults of goals, budgets and servers of tools. See faults.py."""

GOAL = [
    (
        "a failed step leads to the next",
        "return _ended(spent, GoalState.PAUSED, code or ended.value)",
        "return spent",
    ),
    (
        "an uncertain step leads to the next",
        'return _ended(spent, GoalState.PAUSED, "uncertain")',
        "return spent",
    ),
    (
        "an uncertain step ends the goal",
        'GoalState.PAUSED, "uncertain"',
        'GoalState.DONE, "uncertain"',
    ),
    ("an absorbed step pauses", "SETTLED | InputState.ABSORBED", "SETTLED"),
    ("the last token may be spent twice", "spent.spent < goal", "spent.spent <= goal"),
    ("the present step is not counted", "if spent.spent < goal", "if goal.spent < goal"),
    ("spent is not kept", "goal.spent + max(0, tokens)", "max(0, tokens)"),
    ("spent can shrink", "max(0, tokens)", "tokens"),
    (
        "a step that runs costs already",
        "case InputState.QUEUED | InputState.RUNNING:\n            return goal",
        "case InputState.QUEUED | InputState.RUNNING:\n            return spent",
    ),
    (
        "a step brings an ended goal to another end",
        "        return goal\n    return replace(goal, state=state",
        "        pass\n    return replace(goal, state=state",
    ),
    ("an ended goal is stepped", "        raise TransitionRefusedError(", "        print("),
    ("a step keeps its number", "step=goal.step + 1", "step=goal.step"),
    ("steps of all goals share ids", "{self.id}-{self.step}", "goal-{self.step}"),
    ("all steps of a goal share an id", "{self.id}-{self.step}", "{self.id}-1"),
    ("goal and number run together", "{self.id}-{self.step}", "{self.id}{self.step}"),
    ("the id depends on what was spent", "{self.id}-{self.step}", "{self.id}-{self.spent}"),
    ("what was not reached counts as reached", '"reached" if reached', '"reached" if True'),
    ("a blank objective", "not text.strip() or", "not text or"),
    ("an objective one too long", "len(text) > TEXT_LIMIT", "len(text) > TEXT_LIMIT + 1"),
    ("a budget of nothing", "if not 1 <= token_budget", "if not 0 <= token_budget"),
    ("a budget without end", "<= token_budget <= BUDGET_LIMIT", "<= token_budget"),
    ("a code is not told", "code or ended.value", "ended.value"),
    ("what is unknown is shown", "if value is not None}", "}"),
]

BUDGET = [
    ("one token more than the budget", "spent_today < models", "spent_today <= models"),
    (
        "the owner is stopped",
        "Spending.WARN if origin is Origin.OWNER",
        "Spending.STOP if origin is Origin.OWNER",
    ),
    (
        "rooms are only warned",
        "if origin is Origin.OWNER",
        "if origin in {Origin.OWNER, Origin.ROOM}",
    ),
    ("goals are only warned", "if origin is Origin.OWNER", "if origin in {Origin.OWNER, 'goal'}"),
    ("the owner's budget has no end", "return Spending.WARN", "return Spending.FREE"),
    ("a budget of nothing is none", "models.daily_tokens:", "(models.daily_tokens or 1):"),
    ("the stop has another code", '"budget_exhausted"', '"budget"'),
]

MCP = [
    ("a secret stands in env", "and _CREDENTIAL.fullmatch(credential)", ""),
    (
        "a credential's name may end in anything",
        "_CREDENTIAL.fullmatch(credential)",
        "_CREDENTIAL.match(credential)",
    ),
    ("a credential's name may have capitals", "[a-z0-9][a-z0-9._-]{0,63}", "[a-zA-Z0-9._-]{1,64}"),
    (
        "a refusal shows the secret",
        'rule = "the name of',
        'rule = f"{credential!r} is not the name of',
    ),
    ("an address may hold a password", "[^\\s/?#@\\\\]+(", "[^\\s/?#\\\\]+("),
    ("an address may have a fragment", "[^\\s#\\\\]*", "[^\\s\\\\]*"),
    ("any scheme", "https?://", "[a-z]+://"),
    ("an address may end in anything", "_URL.fullmatch(url)", "_URL.match(url)"),
    ("a name may end in a dash", "(?:-[a-z0-9]+)*", "(?:-[a-z0-9]*)*"),
    ("a name may be 33 long", "{1,32}", "{1,33}"),
    ("a name may end in a line feed", "_NAME.fullmatch(name)", "_NAME.match(name)"),
    ("a name may begin with a digit", "[a-z][a-z0-9]*(?:-", "[a-z0-9]+(?:-"),
    ("one server too many", "len(after) > SERVERS", "len(after) > SERVERS + 1"),
    (
        "servers are counted before the patch",
        "if len(after) > SERVERS",
        "if len(current) > SERVERS",
    ),
    (
        "null keeps a server",
        "            after.pop(name, None)\n        else:\n            after[name] = _server",
        "            pass\n        else:\n            after[name] = _server",
    ),
    (
        "null keeps a credential",
        "            after.pop(name, None)\n        elif",
        "            pass\n        elif",
    ),
    ("a server is replaced as a whole", "after.get(name, _BLANK)", "_BLANK"),
    (
        "credentials are replaced as a whole",
        "    after = dict(current)\n    for name, credential",
        "    after = dict[str, str]()\n    for name, credential",
    ),
    (
        "a patch changes what it was given",
        "after = dict(current)\n    for name, given",
        "after = current\n    for name, given",
    ),
    ("null keeps a field", "changed[name] = getattr(_BLANK, name)", "pass"),
    (
        "both a program and an address",
        "bool(server.command) == bool(server.url)",
        "not (server.command or server.url)",
    ),
    (
        "neither program nor address",
        "bool(server.command) == bool(server.url)",
        "server.command and server.url",
    ),
    (
        "true is a time",
        "isinstance(given, bool) or not isinstance(given, int",
        "not isinstance(given, int",
    ),
    ("a call may take for ever", "not low <= given <= high", "not low <= given"),
    ("one is true", "if not isinstance(given, bool):", "if given not in (True, False):"),
    ("a program of blanks", "command != command.strip()", "command.strip() is None"),
    ("texts hold control characters", "or not given.isprintable()", ""),
    (
        "arguments without end",
        '> _ITEMS:\n        raise InvalidFieldError(path, f"a list',
        '> 10**9:\n        raise InvalidFieldError(path, f"a list',
    ),
    ("credentials without end", "if len(after) > _ITEMS:", "if len(after) > 10**9:"),
    ("headers go into env", "given, current.headers, _HEADER", "given, current.env, _HEADER"),
    ("a header's name may end a line", "allowed.fullmatch(name)", "allowed.match(name)"),
    (
        "an unknown field is ignored",
        '            raise InvalidFieldError(f"{path}.{name}", f"one of',
        '            continue\n            print(f"one of',
    ),
    ("a server is off at first", "on: bool = True", "on: bool = False"),
    (
        "arguments are shown as they are kept",
        '{**asdict(self), "args": list(self.args)}',
        "asdict(self)",
    ),
]
