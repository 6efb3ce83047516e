"""The bounded view of a log: newest first into the budget, read oldest first."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from clankie.core.conversation import (
    CAPTAIN,
    OPERATOR,
    SYSTEM,
    Attachment,
    Author,
    Message,
    Principal,
    Role,
    Tool,
    ToolPhase,
)
from clankie.core.projection import NAME_LIMIT, Projecting, Projection, clipped
from clankie.core.settings import DEFAULTS, ProjectionLimits
from core.kit import NOON

Body = Message | Tool
SMALL = ProjectionLimits(budget=1_000, message=200, tool_detail=50)


def words(size: int) -> str:
    return "".join(chr(ord("a") + n % 26) for n in range(size))


def message(size: int, role: Role = Role.OWNER, source: str | None = None) -> Message:
    return Message(role=role, text=words(size), delivery_id="m-1", source=source)


def tool(size: int, phase: ToolPhase = ToolPhase.COMPLETED, name: str = "look") -> Tool:
    return Tool(call_id="c-1", name=name, phase=phase, delivery_id="m-1", detail=words(size))


def project(log: Sequence[Body], limits: ProjectionLimits, total: int | None = None) -> Projection:
    """A whole log, oldest first, as a store projects it: it stops when it is told to."""
    return counted(log, limits, total)[0]


def counted(
    log: Sequence[Body], limits: ProjectionLimits, total: int | None = None
) -> tuple[Projection, int]:
    projecting, asked = Projecting(limits), 0
    for cursor in range(len(log), 0, -1):
        asked += 1
        at = NOON + timedelta(seconds=cursor)
        if not projecting.add(cursor, at, OPERATOR, log[cursor - 1]):
            break
    return projecting.done(len(log) if total is None else total), asked


SIZES = st.integers(0, 60) | st.integers(150, 260) | st.integers(0, 6_000)
BODIES = (
    st.builds(message, SIZES, st.sampled_from(Role), st.none() | st.text(max_size=20))
    | st.builds(tool, SIZES, st.sampled_from([ToolPhase.COMPLETED, ToolPhase.FAILED]), st.text())
    | st.builds(message, st.just(0), st.just(Role.EXTERNAL), st.integers(0, 1_200).map(words))
)
LIMITS = st.builds(
    ProjectionLimits,
    budget=st.integers(1_000, 5_000),
    message=st.integers(200, 6_000),
    tool_detail=st.integers(50, 600),
)


@given(st.lists(BODIES, max_size=40), LIMITS)
def test_the_budget_is_a_hard_maximum_for_any_mix_marker_included(
    log: list[Body], limits: ProjectionLimits
) -> None:
    # proves: CONV-6
    assert len(project(log, limits).text) <= limits.budget
    assert len(project(log, limits, total=2**53).text) <= limits.budget


@given(st.lists(BODIES, max_size=40), LIMITS)
def test_what_is_shown_is_the_newest_run_without_a_hole_and_the_rest_is_counted(
    log: list[Body], limits: ProjectionLimits
) -> None:
    # proves: CONV-6
    projection = project(log, limits)
    shown = [entry.cursor for entry in projection.entries]
    assert shown == list(range(len(log) - len(shown) + 1, len(log) + 1))
    assert projection.omitted == len(log) - len(shown)
    assert projection.through == (len(log) if shown else 0)


@given(st.lists(BODIES, max_size=60), LIMITS)
def test_no_more_is_looked_at_than_what_is_shown_and_one(
    log: list[Body], limits: ProjectionLimits
) -> None:
    # proves: CONV-6
    projection, asked = counted(log, limits)
    assert asked <= len(projection.entries) + 1


@given(st.lists(BODIES, max_size=20), LIMITS)
def test_each_message_and_each_detail_stays_within_its_own_limit(
    log: list[Body], limits: ProjectionLimits
) -> None:
    # proves: CONV-6
    entries = project(log, limits).entries
    for entry in entries:
        whole = log[entry.cursor - 1]
        # Only an entry that would fill the budget by itself is cut further.
        alone = len(entries) == 1
        match entry.body, whole:
            case Message(text=text), Message(text=full):
                assert len(text) <= limits.message
                assert alone or text == full or len(full) > limits.message
                source = None if whole.source is None else clipped(whole.source, NAME_LIMIT)
                assert replace(entry.body, text="") == replace(whole, text="", source=source)
            case Tool(detail=text), Tool(detail=full):
                assert len(text) <= limits.tool_detail
                assert alone or text == full or len(full) > limits.tool_detail
                name = clipped(whole.name, NAME_LIMIT)
                assert replace(entry.body, detail="") == replace(whole, detail="", name=name)
            case other:
                raise AssertionError(other)
        assert text in entry.line


@given(st.lists(BODIES, max_size=20), LIMITS, BODIES)
def test_a_longer_log_shows_no_less_of_its_newest(
    log: list[Body], limits: ProjectionLimits, older: Body
) -> None:
    short, long = (project(one, limits) for one in (log, [older, *log]))
    lines = [entry.line for entry in short.entries]
    # The clock of the helper counts cursors, so only the words are compared.
    assert [line[18:] for line in lines] == [
        entry.line[18:] for entry in long.entries[len(long.entries) - len(lines) :]
    ]


def test_the_defaults_are_those_of_the_requirement() -> None:
    # proves: CONV-6
    limits = DEFAULTS.projection
    assert (limits.budget, limits.message, limits.tool_detail) == (24_000, 4_000, 400)


def test_a_log_that_fills_the_budget_uses_nearly_all_of_it() -> None:
    # proves: CONV-6
    text = project([message(100)] * 1_000, DEFAULTS.projection).text
    assert 23_800 < len(text) <= 24_000


def test_the_budget_is_used_to_the_last_character_that_the_marker_leaves() -> None:
    limits = ProjectionLimits(budget=1_000, message=2_000)
    marker = len(f"[{2**53} earlier events omitted]") + 2
    head = len("[2026-11-30 12:00] owner: ") + 2
    fits = message(limits.budget - marker - head)
    assert len(project([fits], limits).entries) == 1
    [cut] = project([message(len(fits.text) + 1)], limits).entries
    assert isinstance(cut.body, Message)
    assert len(fits.text) - 1 <= len(cut.body.text) <= len(fits.text)
    assert cut.body.text.endswith("characters cut]")
    assert len(project([fits], limits, total=2**53).text) == limits.budget - 2


def test_it_reads_oldest_first_with_the_marker_before_everything() -> None:
    # proves: CONV-6
    log: list[Body] = [
        message(3),
        message(2, Role.AGENT),
        message(1, Role.EXTERNAL, source="report"),
        message(1, Role.ROOM, source="discord"),
        tool(4),
        tool(0, ToolPhase.FAILED),
    ]
    projection = project(log, DEFAULTS.projection, total=len(log) + 7)
    assert projection.text.split("\n\n") == [
        "[7 earlier events omitted]",
        "[2026-11-30 12:00] owner: abc",
        "[2026-11-30 12:00] you: ab",
        "[2026-11-30 12:00] external (report): a",
        "[2026-11-30 12:00] room (discord): a",
        "[2026-11-30 12:00] operator tool look completed: abcd",
        "[2026-11-30 12:00] operator tool look failed: ",
    ]


def test_nothing_left_out_needs_no_marker() -> None:
    assert "omitted" not in project([message(3)], SMALL).text
    assert project([], SMALL) == Projection((), 0)
    assert project([], SMALL).text == ""


def test_an_entry_keeps_who_was_behind_it() -> None:
    projecting = Projecting(SMALL)
    worker = Author(Principal.WORKER, "w-1")
    assert projecting.add(1, NOON, worker, tool(1))
    (entry,) = projecting.done(1).entries
    assert entry.author == worker
    assert entry.line == "[2026-11-30 12:00] worker tool look completed: a"


def test_a_total_that_is_behind_what_was_shown_is_no_negative_count() -> None:
    projecting = Projecting(SMALL)
    assert projecting.add(1, NOON, OPERATOR, message(1))
    assert projecting.done(0).omitted == 0


@pytest.mark.parametrize("author", [OPERATOR, CAPTAIN, SYSTEM])
def test_after_one_that_did_not_fit_nothing_older_is_taken(author: Author) -> None:
    # proves: CONV-6
    projecting = Projecting(ProjectionLimits(budget=1_000, message=900))
    assert projecting.add(3, NOON, author, message(700))
    assert not projecting.add(2, NOON, author, message(300))
    assert not projecting.add(1, NOON, author, message(1))
    assert [entry.cursor for entry in projecting.done(3).entries] == [3]


@given(st.integers(0, 1_400).map(words), st.integers(50, 300))
def test_a_cut_says_exactly_how_much_is_missing(text: str, limit: int) -> None:
    # proves: CONV-6
    short = clipped(text, limit)
    assert len(short) <= limit
    if len(text) <= limit:
        assert short == text
        return
    found = re.fullmatch(r"(?s)(.*) … \[(\d+) characters cut\]", short)
    assert found is not None
    assert text.startswith(found[1])
    assert int(found[2]) == len(text) - len(found[1])


@given(st.text(), st.integers(0, 40))
def test_a_cut_keeps_to_any_limit(text: str, limit: int) -> None:
    assert len(clipped(text, limit)) <= limit


class Feeding(RuleBasedStateMachine):
    """Somebody feeds a projection, and does not always stop when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.projecting = Projecting(SMALL)
        self.offered = 0
        self.taken: list[int] = []
        self.full = False

    @rule(body=BODIES)
    def older(self, body: Body) -> None:
        cursor = 1_000_000 - self.offered
        self.offered += 1
        took = self.projecting.add(cursor, NOON, OPERATOR, body)
        assert not (took and self.full)
        self.full = not took
        if took:
            self.taken.insert(0, cursor)

    @invariant()
    def it_is_the_newest_run_within_the_budget(self) -> None:
        projection = self.projecting.done(self.offered)
        assert [entry.cursor for entry in projection.entries] == self.taken
        assert self.taken == list(range(1_000_000 - len(self.taken) + 1, 1_000_001))
        assert projection.omitted == self.offered - len(self.taken)
        assert len(projection.text) <= SMALL.budget
        assert (f"[{projection.omitted} earlier" in projection.text) == (projection.omitted > 0)


def test_however_it_is_fed_a_projection_is_the_newest_run_within_its_budget() -> None:
    # proves: CONV-6
    run_state_machine_as_test(Feeding)


def test_a_budget_smaller_than_the_limit_of_a_message_still_shows_the_newest() -> None:
    # proves: CONV-6
    projecting = Projecting(ProjectionLimits(budget=1_000, message=4_000))
    assert projecting.add(1, NOON, OPERATOR, Message(role=Role.OWNER, text="x" * 9_000))
    assert "characters cut" in projecting.done(1).text


def test_a_tool_that_is_longer_than_the_budget_is_cut_to_it_rather_than_left_out() -> None:
    limits = ProjectionLimits(budget=1_000, tool_detail=10_000)
    view = project([message(10), tool(6_000)], limits)
    (entry,) = view.entries
    assert isinstance(entry.body, Tool)
    assert entry.body.detail.endswith("characters cut]")
    assert 900 < len(view.text) <= 1_000


def test_a_name_without_end_does_not_take_the_view() -> None:
    projecting = Projecting(ProjectionLimits(budget=1_000))
    wide = Tool(call_id="c", name="n" * 5_000, phase=ToolPhase.COMPLETED, delivery_id="d")
    assert projecting.add(2, NOON, OPERATOR, wide)
    assert projecting.add(1, NOON, OPERATOR, Message(role=Role.EXTERNAL, text="", source="s" * 900))


def test_a_message_says_how_much_was_attached_to_it() -> None:
    picture = Attachment(digest="ab" * 32, name="cat.png", media_type="image/png", size=7)
    projecting = Projecting(ProjectionLimits())
    projecting.add(1, NOON, OPERATOR, Message(role=Role.OWNER, text="look", attachments=(picture,)))
    assert projecting.done(1).text.endswith("owner: look [1 attached]")
