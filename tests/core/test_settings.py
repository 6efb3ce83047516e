"""Numbers and choices an owner may change: whatever is asked, the tree stays within its bounds."""

import json
import math
from collections.abc import Iterator
from dataclasses import Field, fields
from typing import Any
from zoneinfo import available_timezones

import pytest
from hypothesis import example, given
from hypothesis import settings as effort
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from clankie.core.errors import InvalidFieldError
from clankie.core.mcp import McpServer
from clankie.core.settings import DEFAULTS, Settings, merge, to_wire, with_model
from core import servers

Option = tuple[str, Field[Any]]


def options(settings: Settings = DEFAULTS) -> Iterator[Option]:
    """Every option but the servers of tools, which are no single value."""
    for group in fields(settings):
        for one in fields(getattr(settings, group.name)):
            if (group.name, one.name) != ("mcp", "servers"):
                yield group.name, one


OPTIONS = list(options())
NUMBERS = [one for one in OPTIONS if "low" in one[1].metadata]
TEXTS = [one for one in OPTIONS if "limit" in one[1].metadata]
FLAGS = [one for one in OPTIONS if isinstance(one[1].default, bool)]
GROUPS = [group.name for group in fields(Settings)]
NAMES = sorted({one.name for _, one in OPTIONS} | {"servers"})
ZONES = ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT"]

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(0, 100_000)
    | st.floats()
    | st.floats(0, 100_000)
    | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
PATCHES = st.dictionaries(
    st.sampled_from(GROUPS) | st.text(),
    JSON
    | st.dictionaries(st.sampled_from(NAMES) | st.text(), JSON, max_size=4)
    | st.fixed_dictionaries({"servers": servers.patches() | JSON}),
    max_size=4,
)


def draw_valid(option: Option) -> st.SearchStrategy[Any]:
    bounds, default = option[1].metadata, option[1].default
    if isinstance(default, bool):
        return st.booleans()
    if "form" in bounds:
        return st.sampled_from(ZONES)
    if isinstance(default, str):
        return st.text(max_size=min(bounds["limit"], 50))
    if isinstance(default, int):
        return st.integers(bounds["low"], bounds["high"])
    return st.floats(bounds["low"], bounds["high"]) | st.integers(
        math.ceil(bounds["low"]), math.floor(bounds["high"])
    )


@st.composite
def valid_patches(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    patch: dict[str, dict[str, Any]] = {}
    for option in draw(st.lists(st.sampled_from(OPTIONS), max_size=5)):
        value = draw(st.none() | draw_valid(option))
        patch.setdefault(option[0], {})[option[1].name] = value
    return patch


@st.composite
def valid_trees(draw: st.DrawFn) -> Settings:
    tools = {"mcp": {"servers": draw(servers.patches())}}
    return merge(merge(DEFAULTS, draw(valid_patches())), tools)


def read(settings: Settings, option: Option) -> object:
    return getattr(getattr(settings, option[0]), option[1].name)


def assert_within_bounds(settings: Settings) -> None:
    for option in OPTIONS:
        value, bounds, default = read(settings, option), option[1].metadata, option[1].default
        assert type(value) is type(default), option
        if isinstance(value, str):
            assert len(value) <= bounds["limit"]
        elif not isinstance(value, bool):
            assert isinstance(value, int | float)
            assert bounds["low"] <= value <= bounds["high"]
            assert math.isfinite(value)


def test_every_option_says_what_it_is_and_its_default_is_within_its_bounds() -> None:
    # proves: BASE-1
    assert_within_bounds(DEFAULTS)
    assert all(one.metadata["doc"] for _, one in OPTIONS)
    assert len(NUMBERS) + len(TEXTS) + len(FLAGS) == len(OPTIONS)
    assert DEFAULTS.mcp.servers == {}


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("projection.budget", 24_000),
        ("projection.message", 4_000),
        ("projection.tool_detail", 400),
        ("watchdog.idle", 300.0),
        ("watchdog.check", 300.0),
        ("wakes.first_backoff", 5.0),
        ("wakes.attempts", 3),
        ("wakes.waiting", 20),
        ("wakes.soonest", 30.0),
        ("wakes.depth", 10),
        ("models.retries", 2),
        ("models.retry_after_limit", 30.0),
        ("streams.per_principal", 64),
        ("streams.total", 2_000),
        ("streams.heartbeat", 15.0),
        ("retention.receipts", 7 * 86_400.0),
        ("lifecycle.drain", 15.0),
        ("models.daily_tokens", 2_000_000),
        ("models.confirmed_local", ""),
        ("tools.files", True),
        ("tools.shell", False),
        ("attachments.bytes", 8 * 1_048_576),
        ("attachments.count", 8),
        ("attachments.megapixels", 24.0),
        ("time.zone", "UTC"),
    ],
)
def test_a_default_is_the_number_that_was_promised(path: str, number: object) -> None:
    # proves: SERV-8
    group, _, name = path.partition(".")
    found = getattr(getattr(DEFAULTS, group), name)
    assert (type(found), found) == (type(number), number)


@given(PATCHES)
@example({"persona": []})
@example({"persona": "name"})
@example({"wakes": {"attempts": 10**400}})
def test_whatever_json_is_asked_the_answer_is_a_tree_within_bounds_or_a_named_field(
    patch: dict[str, object],
) -> None:
    try:
        settings = merge(DEFAULTS, patch)
    except InvalidFieldError as refused:
        error = refused
    else:
        assert_within_bounds(settings)
        assert merge(settings, patch) == settings
        return
    group, _, name = error.path.partition(".")
    assert group in patch or error.path in patch
    named = {str(key) for key in keys(patch.get(group))}
    assert not name or error.path in patch or {name, name.partition(".")[0]} & named
    assert error.facts == {"errors": [{"path": error.path, "rule": error.rule}]}


def keys(value: object) -> list[object]:
    return list(value) if isinstance(value, dict) else []


@given(valid_patches(), valid_patches())
def test_a_valid_patch_changes_what_it_names_and_nothing_else(
    before: dict[str, dict[str, Any]], patch: dict[str, dict[str, Any]]
) -> None:
    # proves: BASE-1
    old = merge(DEFAULTS, before)
    new = merge(old, patch)
    assert merge(new, patch) == new
    for option in OPTIONS:
        group, one = option
        if one.name in patch.get(group, {}):
            asked = patch[group][one.name]
            assert read(new, option) == (one.default if asked is None else asked)
        else:
            assert read(new, option) == read(old, option)


@given(valid_trees())
def test_the_tree_as_json_brings_the_same_tree_back(settings: Settings) -> None:
    wire = to_wire(settings)
    assert merge(DEFAULTS, wire) == settings
    assert merge(settings, wire) == settings
    assert list(wire) == [one.name for one in fields(Settings)]
    for group, values in wire.items():
        assert list(values) == [one.name for one in fields(getattr(DEFAULTS, group))]
    # What JSON has no way to write would come back as something else.
    assert json.loads(json.dumps(wire)) == wire


@given(valid_trees(), valid_patches())
def test_a_patch_of_other_groups_leaves_the_servers_of_tools_alone(
    settings: Settings, patch: dict[str, dict[str, Any]]
) -> None:
    assert merge(settings, patch).mcp == settings.mcp


@given(valid_trees(), servers.patches())
def test_servers_of_tools_are_merged_by_name(settings: Settings, patch: dict[str, Any]) -> None:
    # A server that is there already may be a program and become an address.
    both = {"command": None, "url": None}
    patch = {name: body and {**both, **body} for name, body in patch.items()}
    after = merge(settings, {"mcp": {"servers": patch}})
    for name in {*settings.mcp.servers, *patch}:
        if name not in patch:
            assert after.mcp.servers[name] == settings.mcp.servers[name]
        else:
            assert (name in after.mcp.servers) == (patch[name] is not None)
    assert merge(after, {"mcp": settings_of(after)}) == after
    rest = [one.name for one in fields(Settings) if one.name != "mcp"]
    assert all(getattr(after, name) == getattr(settings, name) for name in rest)
    for cleared in ({"mcp": None}, {"mcp": {"servers": None}}):
        assert merge(after, cleared).mcp == DEFAULTS.mcp


def settings_of(settings: Settings) -> object:
    return to_wire(settings)["mcp"]


@pytest.mark.parametrize("value", [[], "", 0, False, "notes"])
def test_servers_that_are_no_object_are_refused(value: object) -> None:
    with pytest.raises(InvalidFieldError) as refused:
        merge(DEFAULTS, {"mcp": {"servers": value}})
    assert refused.value.path == "mcp.servers"


@pytest.mark.parametrize("option", FLAGS, ids=lambda one: f"{one[0]}.{one[1].name}")
def test_a_switch_is_true_or_false_and_nothing_that_looks_like_it(option: Option) -> None:
    group, one = option
    for value in (True, False):
        assert read(merge(DEFAULTS, {group: {one.name: value}}), option) is value
    wrongs: list[object] = [0, 1, 1.0, "true", "", [], {}]
    for wrong in wrongs:
        with pytest.raises(InvalidFieldError, match="true or false") as refused:
            merge(DEFAULTS, {group: {one.name: wrong}})
        assert refused.value.path == f"{group}.{one.name}"


def test_every_time_zone_there_is_has_a_name_that_is_taken() -> None:
    for zone in [*ZONES, *sorted(available_timezones())]:
        assert merge(DEFAULTS, {"time": {"zone": zone}}).time.zone == zone


@pytest.mark.parametrize(
    "zone",
    [
        "",
        " ",
        "/etc/passwd",
        "../UTC",
        "Europe/../UTC",
        "Europe//Berlin",
        "Europe/Berlin/",
        "Europe/Berlin\n",
        "Europe\\Berlin",
        "Europe/Köln",
        "+02:00",
        "A/B/C/D",
        "Europe/B" + "x" * 57,
    ],
)
def test_what_cannot_name_a_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidFieldError) as refused:
        merge(DEFAULTS, {"time": {"zone": zone}})
    assert refused.value.path == "time.zone"


def test_a_refused_time_zone_says_what_one_looks_like() -> None:
    with pytest.raises(InvalidFieldError, match="such as UTC or Europe/Berlin"):
        merge(DEFAULTS, {"time": {"zone": "5"}})


@pytest.mark.parametrize("option", NUMBERS, ids=lambda one: f"{one[0]}.{one[1].name}")
@pytest.mark.parametrize(
    "value", [True, False, math.nan, math.inf, -math.inf, "5", [], {}, -1, 10**400, -(10**400)]
)
def test_what_is_no_number_within_the_bounds_is_refused_and_named(
    option: Option, value: object
) -> None:
    group, one = option
    with pytest.raises(InvalidFieldError) as refused:
        merge(DEFAULTS, {group: {one.name: value}})
    assert refused.value.path == f"{group}.{one.name}"


@pytest.mark.parametrize("option", NUMBERS, ids=lambda one: f"{one[0]}.{one[1].name}")
def test_both_bounds_are_allowed_and_nothing_beyond_them(option: Option) -> None:
    group, one = option
    low, high = one.metadata["low"], one.metadata["high"]
    step = 1 if isinstance(one.default, int) else 0.001
    for value in (low, high):
        assert read(merge(DEFAULTS, {group: {one.name: value}}), option) == value
    for value in (low - step, high + step):
        with pytest.raises(InvalidFieldError):
            merge(DEFAULTS, {group: {one.name: value}})


@pytest.mark.parametrize("option", TEXTS, ids=lambda one: f"{one[0]}.{one[1].name}")
def test_a_text_may_be_as_long_as_its_limit(option: Option) -> None:
    group, one = option
    limit = one.metadata["limit"]
    assert read(merge(DEFAULTS, {group: {one.name: "x" * limit}}), option) == "x" * limit
    for value in ("x" * (limit + 1), 5, True, ["x"]):
        with pytest.raises(InvalidFieldError, match=f"text of at most {limit} characters"):
            merge(DEFAULTS, {group: {one.name: value}})


def test_a_whole_number_is_taken_where_a_fraction_may_stand_but_not_the_other_way_round() -> None:
    taken = merge(DEFAULTS, {"watchdog": {"idle": 60}})
    assert type(taken.watchdog.idle) is float
    with pytest.raises(InvalidFieldError, match="a whole number from 1 to 20"):
        merge(DEFAULTS, {"wakes": {"attempts": 3.0}})


def test_null_brings_a_default_back_for_one_option_or_a_whole_group() -> None:
    changed = merge(DEFAULTS, {"wakes": {"attempts": 9, "depth": 2}, "persona": {"name": "Ada"}})
    one_back = merge(changed, {"wakes": {"attempts": None}})
    assert (one_back.wakes.attempts, one_back.wakes.depth) == (3, 2)
    assert merge(changed, {"wakes": None, "persona": None}) == DEFAULTS


@pytest.mark.parametrize(
    ("patch", "path", "rule"),
    [
        ({"wake": {}}, "wake", "one of attachments, lifecycle, mcp, models, "),
        ({"persona": {"nmae": "x"}}, "persona.nmae", "one of instructions, name"),
        ({"mcp": {"server": {}}}, "mcp.server", "one of servers"),
        ({"persona": []}, "persona", "an object or null"),
        ({"persona": "x"}, "persona", "an object or null"),
    ],
)
def test_an_unknown_name_is_refused_with_those_that_are_known(
    patch: dict[str, object], path: str, rule: str
) -> None:
    with pytest.raises(InvalidFieldError) as refused:
        merge(DEFAULTS, patch)
    assert refused.value.path == path
    assert refused.value.rule.startswith(rule)


@pytest.mark.parametrize(
    ("model", "address"),
    [
        ("openai-chat:other", "http://localhost:11434/v1"),
        ("openai-chat", "http://localhost:11434/v1"),
        ("openai:other", ""),
        ("practice", ""),
    ],
)
def test_a_model_of_its_own_takes_an_address_along_only_to_the_same_provider(
    model: str, address: str
) -> None:
    own = {"model": "openai-chat:llama3", "base_url": "http://localhost:11434/v1", "retries": 0}
    before = merge(DEFAULTS, {"models": own, "persona": {"name": "Ada"}})
    wanted = {"model": model, "base_url": address}
    assert with_model(before, model) == merge(before, {"models": wanted})


def test_a_rule_writes_large_bounds_out() -> None:
    with pytest.raises(InvalidFieldError, match="a whole number from 8000 to 10000000"):
        merge(DEFAULTS, {"models": {"context_chars": 0}})
    with pytest.raises(InvalidFieldError, match="a number from 86400 to 315360000"):
        merge(DEFAULTS, {"retention": {"receipts": 0}})
    with pytest.raises(InvalidFieldError, match=r"a number from 0\.1 to 3600"):
        merge(DEFAULTS, {"wakes": {"first_backoff": 0}})


class Owner(RuleBasedStateMachine):
    """An owner who changes settings for years; a refused change changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.settings = DEFAULTS
        self.model = {(group, one.name): one.default for group, one in OPTIONS}
        self.servers: dict[str, McpServer] = {}

    @rule(patch=valid_patches())
    def change(self, patch: dict[str, dict[str, Any]]) -> None:
        self.settings = merge(self.settings, patch)
        for group, values in patch.items():
            for name, value in values.items():
                default = next(
                    one.default for at, one in OPTIONS if (at, one.name) == (group, name)
                )
                self.model[group, name] = default if value is None else value

    @rule(name=st.sampled_from(servers.NAMES), body=st.none() | servers.bodies())
    def replace_server(self, name: str, body: dict[str, Any] | None) -> None:
        for step in (None, body):
            self.settings = merge(self.settings, {"mcp": {"servers": {name: step}}})
        self.servers.pop(name, None)
        if body is not None:
            self.servers[name] = servers.whole(body)

    @rule(patch=valid_patches(), option=st.sampled_from(OPTIONS))
    def change_with_one_mistake(self, patch: dict[str, dict[str, Any]], option: Option) -> None:
        wrong = {**patch, option[0]: {**patch.get(option[0], {}), option[1].name: [1]}}
        with pytest.raises(InvalidFieldError):
            merge(self.settings, wrong)

    @invariant()
    def the_tree_is_what_was_asked(self) -> None:
        found = {(group, one.name): read(self.settings, (group, one)) for group, one in OPTIONS}
        assert found == self.model
        assert self.settings.mcp.servers == self.servers
        assert_within_bounds(self.settings)


def test_after_any_changes_the_tree_is_what_was_asked_and_within_bounds() -> None:
    # proves: BASE-1
    # Few steps: each looks at the whole tree.
    run_state_machine_as_test(Owner, settings=effort(stateful_step_count=15))
