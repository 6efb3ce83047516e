"""What an app-server asks, and how it is answered."""

from typing import Any

import pytest

from clankie.seats.codex.questions import Pending, pending
from clankie.seats.codex.rpc import Said

WHERE = {"threadId": "t", "turnId": "u", "itemId": "i"}


def asked(method: str, **params: Any) -> Pending:
    found = pending(Said(method, {**WHERE, **params}, 3), "d-1")
    assert found is not None
    assert found.number == 3
    assert found.question.event == "d-1"
    return found


def test_a_command_is_shown_with_its_place_and_its_reason() -> None:
    found = asked(
        "item/commandExecution/requestApproval", command="rm x", cwd="/w", reason="to clean"
    )
    assert found.question.detail == "rm x\nin /w\nto clean"
    assert (found.yes, found.no) == ({"decision": "accept"}, {"decision": "decline"})


def test_a_host_to_reach_is_shown() -> None:
    found = asked(
        "item/commandExecution/requestApproval", networkApprovalContext={"host": "example.com"}
    )
    assert "example.com" in found.question.detail


def test_leave_for_files_and_permissions_is_for_this_once() -> None:
    files = asked("item/fileChange/requestApproval", grantRoot="/w", reason="to write")
    assert files.question.detail == "to write\nbelow /w"
    assert files.yes == {"decision": "accept"}
    wanted = {"network": {"enabled": True}, "fileSystem": None}
    found = asked("item/permissions/requestApproval", permissions=wanted, reason="to fetch")
    assert found.yes == {"permissions": {"network": {"enabled": True}}, "scope": "turn"}
    assert found.no == {"permissions": {}, "scope": "turn"}


def test_leave_is_no_answer_to_a_question_with_words() -> None:
    questions = [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]
    found = asked("item/tool/requestUserInput", questions=questions)
    assert found.question.detail == "Which? (A / B)"
    assert found.yes is None
    assert found.no == {"answers": {}}


def test_a_server_of_tools_gets_leave_only_where_nothing_must_be_filled_in() -> None:
    plain = asked("mcpServer/elicitation/request", serverName="s", mode="form", message="Run?")
    assert plain.yes == {"action": "accept", "content": {}, "_meta": None}
    form = asked(
        "mcpServer/elicitation/request",
        serverName="s",
        mode="form",
        message="Who?",
        requestedSchema={"required": ["name"]},
    )
    assert form.yes is None
    assert form.no["action"] == "decline"
    page = asked("mcpServer/elicitation/request", serverName="s", mode="url", url="https://e.x")
    assert "https://e.x" in page.question.detail


@pytest.mark.parametrize(
    "said",
    [
        Said("item/commandExecution/requestApproval", WHERE),
        Said("account/chatgptAuthTokens/refresh", WHERE, 1),
        Said("item/tool/call", WHERE, 1),
        Said("mcpServer/elicitation/request", {**WHERE, "mode": "openai/form"}, 1),
    ],
)
def test_what_is_not_for_us_is_left_to_the_others(said: Said) -> None:
    assert pending(said, None) is None


def test_the_same_question_has_the_same_id_and_another_has_not() -> None:
    first = asked("item/fileChange/requestApproval")
    again = pending(Said("item/fileChange/requestApproval", WHERE, 99), None)
    other = pending(Said("item/fileChange/requestApproval", {**WHERE, "itemId": "j"}, 3), None)
    assert again is not None
    assert other is not None
    assert first.question.id == again.question.id != other.question.id


def test_a_long_detail_is_cut() -> None:
    found = asked("item/commandExecution/requestApproval", command="x" * 100_000)
    assert len(found.question.detail) < 5_000
