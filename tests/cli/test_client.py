"""A message keeps its id for ever: lost answers are asked for again, never sent anew."""

import pytest

from clankie.cli import reads, wire
from clankie.cli.client import Client, Send, new_delivery_id
from clankie.cli.failures import (
    CommandError,
    ConnectionLostError,
    ProblemError,
    ServiceDownError,
    UnconfirmedSendError,
)
from clankie.cli.wire import Address, Call, exchange, find, problem_of
from fakes.service import ADDRESS, Scripted

STORED = {"delivery": {"id": "m-1", "state": "queued"}, "revision": 1, "cursor": 2}
LOST = ConnectionLostError("gone")
DOWN = ServiceDownError("down")
MESSAGE = Send(conversation="global-default", text="hello", delivery_id="m-1")


def problem(status: int, code: str) -> ProblemError:
    return ProblemError(status, {"code": code, "detail": "why"})


def client(service: Scripted, pauses: list[float] | None = None) -> Client:
    waited = [] if pauses is None else pauses
    return Client(ADDRESS, service, waited.append)


# proves: FENCE-1
@pytest.mark.parametrize(
    "trouble",
    [
        LOST,
        DOWN,
        problem(503, "commit_unknown"),
        problem(503, "service_shutting_down"),
        problem(503, "admission_backpressure"),
    ],
)
def test_a_message_is_tried_again_under_the_same_id(trouble: CommandError) -> None:
    service = Scripted(trouble, trouble, STORED)
    assert client(service).admit(MESSAGE) == STORED
    assert service.ids == ["m-1", "m-1", "m-1"]
    assert service.calls[0].body == service.calls[2].body


@pytest.mark.parametrize("trouble", [LOST, problem(503, "commit_unknown")])
def test_what_is_made_once_is_asked_for_again_with_the_same_body(trouble: CommandError) -> None:
    pauses: list[float] = []
    service = Scripted(trouble, DOWN, {"grant": "g"})
    body = {"request_id": "r-1", "new": True}
    assert client(service, pauses).insist("/v1/seats/grants", body) == {"grant": "g"}
    assert [call.body for call in service.calls] == [body] * 3
    assert pauses == [0.2, 0.5]


@pytest.mark.parametrize("trouble", [DOWN, problem(409, "attachment_conflict")])
def test_where_nobody_listens_or_it_was_refused_nothing_is_asked_again(
    trouble: CommandError,
) -> None:
    service = Scripted(trouble)
    with pytest.raises(type(trouble)):
        client(service).insist("/v1/seats/grants", {})


def test_what_never_comes_back_is_not_asked_for_ever() -> None:
    service = Scripted(*[LOST] * 6)
    with pytest.raises(ConnectionLostError):
        client(service).insist("/v1/seats/grants", {})
    assert not service.answers


@pytest.mark.parametrize("code", ["delivery_conflict", "revision_conflict", "conversation_closed"])
def test_a_refusal_is_final(code: str) -> None:
    service = Scripted(problem(409, code))
    with pytest.raises(ProblemError) as refused:
        client(service).admit(MESSAGE)
    assert refused.value.code == code
    assert len(service.calls) == 1


def test_a_message_that_may_be_stored_is_said_to_be_unconfirmed_with_its_id() -> None:
    service = Scripted(LOST, *[DOWN] * 5)
    with pytest.raises(UnconfirmedSendError, match="--id m-1"):
        client(service).admit(MESSAGE)
    assert set(service.ids) == {"m-1"}


def test_a_message_that_never_left_is_not_called_unconfirmed() -> None:
    with pytest.raises(ServiceDownError):
        client(Scripted(*[DOWN] * 6)).admit(MESSAGE)


def test_a_service_that_recorded_nothing_says_so_to_the_end() -> None:
    service = Scripted(*[problem(503, "storage_unavailable")] * 6)
    with pytest.raises(ProblemError) as refused:
        client(service).admit(MESSAGE)
    assert refused.value.code == "storage_unavailable"


def test_the_service_may_ask_for_a_longer_pause_within_a_bound() -> None:
    patient, endless = (
        problem(503, "admission_backpressure"),
        problem(503, "admission_backpressure"),
    )
    patient.retry_after, endless.retry_after = 3.0, 9_999.0
    pauses: list[float] = []
    client(Scripted(patient, endless, STORED), pauses).admit(MESSAGE)
    assert pauses == [3.0, 15.0]


def test_every_new_message_has_an_id_of_its_own_that_the_protocol_allows() -> None:
    made = {new_delivery_id() for _ in range(100)}
    assert len(made) == 100
    assert all(one.replace("-", "").isalnum() for one in made)


def test_an_absorbed_message_is_answered_by_the_reply_of_another() -> None:
    service = Scripted(
        {"id": "m-2", "state": "settled", "conversation": "c", "reply_cursor": 9},
        {"events": [{"cursor": 9, "text": "both"}]},
    )
    absorbed = {"id": "m-1", "state": "absorbed", "conversation": "c", "reply_delivery_id": "m-2"}
    assert reads.reply(client(service), absorbed) == "both"


def test_waiting_goes_on_while_a_message_is_open_and_ends_when_it_is_held() -> None:
    open_, held = {"id": "m", "state": "running"}, {"id": "m", "state": "queued", "held": "stalled"}
    told: list[object] = []
    assert reads.settled(client(Scripted(open_, open_, held)), "m", told.append) == held
    assert told == [open_, open_]


LISTED = {
    "conversations": [
        {"id": "c-1", "name": "Work", "state": "idle"},
        {"id": "c-2", "name": "notes", "state": "idle"},
        {"id": "c-3", "name": "notes", "state": "idle"},
        {"id": "c-4", "name": "old", "state": "closed"},
    ]
}


@pytest.mark.parametrize(
    ("given", "found"), [("c-2", "c-2"), ("Work", "c-1"), ("work", "c-1"), ("old", "c-4")]
)
def test_a_conversation_is_found_by_its_id_or_its_one_name(given: str, found: str) -> None:
    assert reads.conversation(client(Scripted(LISTED)), given)["id"] == found


def test_an_ambiguous_name_is_refused_with_the_ids_to_choose_from() -> None:
    with pytest.raises(CommandError, match="c-2, c-3") as refused:
        reads.conversation(client(Scripted(LISTED)), "notes")
    assert refused.value.code == "ambiguous_name"


def test_a_name_that_nobody_has_is_refused() -> None:
    with pytest.raises(CommandError, match="conversations list"):
        reads.conversation(client(Scripted(LISTED)), "nothing")


def test_a_problem_keeps_its_code_its_sentence_and_its_facts() -> None:
    error = problem_of(409, b'{"code": "unconfirmed", "detail": "Look.", "blocker": "m-1"}')
    assert (error.code, error.detail, error.facts) == ("unconfirmed", "Look.", {"blocker": "m-1"})


@pytest.mark.parametrize("data", [b"", b"<html>", b"[]", b"null"])
def test_an_answer_that_is_no_problem_is_still_an_error(data: bytes) -> None:
    assert problem_of(502, data).code == "http_502"


# proves: SEC-3
@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "http://192.168.1.4:4310",
        "ftp://localhost",
        "http://me:x@localhost",
        "",
    ],
)
def test_the_token_goes_to_no_address_where_it_could_be_read(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLANKIE_TOKEN", "secret-of-the-owner")
    with pytest.raises(CommandError) as refused:
        find(url)
    assert "secret-of-the-owner" not in refused.value.detail


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://127.0.0.1:4310/", "http://127.0.0.1:4310"),
        ("localhost:4310", "http://localhost:4310"),
        ("https://clankie.example/base/", "https://clankie.example/base"),
        ("http://[::1]:4310", "http://[::1]:4310"),
    ],
)
def test_an_explicit_address_is_used_with_the_token_of_the_environment(
    url: str, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLANKIE_TOKEN", " t \n")
    assert find(url) == Address("t", url=base)


def test_an_address_without_a_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLANKIE_TOKEN", raising=False)
    with pytest.raises(CommandError, match="CLANKIE_TOKEN"):
        find("http://127.0.0.1:1")


def test_an_address_where_nobody_listens_is_a_service_that_is_down() -> None:
    with pytest.raises(ServiceDownError, match=r"127\.0\.0\.1:9"):
        exchange(Address("t", url="http://127.0.0.1:9"), Call(method="GET", path="/v1/health"))


def test_what_is_not_given_is_left_out_of_a_query() -> None:
    call = Call(method="GET", path="/x", query={"a": None, "b": True, "c": "d e"})
    assert call.target == "/x?b=true&c=d+e"


@pytest.mark.usefixtures("home")
def test_an_answer_beyond_the_bound_is_not_read_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LIMIT", 4)
    with pytest.raises(CommandError, match="longer than 4 bytes"):
        exchange(find(None), Call(method="GET", path="/v1/health"))
