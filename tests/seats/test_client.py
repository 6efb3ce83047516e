"""One seat's part of the service over its socket: what is asked, and what an answer means."""

from collections.abc import AsyncIterator

import pytest

from clankie.core.seat import (
    Activity,
    Entry,
    EntryKind,
    EventKind,
    Evidence,
    Limited,
    Mishap,
    Proof,
    Report,
)
from clankie.seats.client import Client, connected
from clankie.seats.folder import Folder
from clankie.seats.port import Question
from clankie.seats.service import (
    Answered,
    BusyError,
    MissingError,
    NotOursError,
    RefusedError,
    SeatWireError,
    SupersededError,
    UnreachableError,
)
from fakes.seat_service import AT
from fakes.unix_service import UnixService

pytestmark = pytest.mark.anyio
WHICH = Answered(event="discord/1", attempt=2, binding="binding")
EVENT = {
    "id": "m-1",
    "kind": "escalation",
    "source": "discord-main",
    "steer": True,
    "content": "hello",
    "created_at": "2026-11-30T12:00:00.000Z",
    "deadline": "2026-11-30T12:01:00.000Z",
    "reply": True,
    "conversation": "global-default",
    "attempt": 1,
    "generation": 4,
    "members": ["m-0"],
    "attribution": {"author": "ada"},
    "a member of later": {"that": "nobody knows"},
}


@pytest.fixture
async def client(granted: Folder) -> AsyncIterator[Client]:
    tokens = iter(["first", "second", "third", "fourth"])
    async with connected(granted.socket, "s-1", lambda: next(tokens)) as found:
        yield found


async def test_a_poll_asks_with_its_binding_and_reads_the_page(
    client: Client, unix: UnixService
) -> None:
    unix.answers["events"] = [
        (
            200,
            {
                "events": [EVENT],
                "interrupts": [{"event": "m-0", "attempt": 3}],
                "decisions": [{"approval": "q-1", "decision": "deny"}],
            },
        )
    ]
    page = await client.poll("binding", "poll", 30.0)
    [asked] = unix.asked
    assert asked.path == "/v1/seats/s-1/events?wait=30&binding=binding&poll_id=poll"
    assert asked.token == "first"
    [event] = page.events
    assert (event.id, event.kind, event.attempt, event.generation) == (
        "m-1",
        EventKind.ESCALATION,
        1,
        4,
    )
    assert (event.reply, event.steer, event.members) == (True, True, ("m-0",))
    assert event.attribution == {"author": "ada"}
    assert event.deadline.timestamp() - event.created_at.timestamp() == 60
    assert list(page.interrupts) == [("m-0", 3)]
    assert list(page.decisions) == [("q-1", False)]
    assert not page.superseded


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "of tomorrow"}, {"content": None}, {"deadline": "soon"}, {"attempt": "1"}],
)
async def test_an_event_that_cannot_be_read_does_not_hide_the_others(
    client: Client, unix: UnixService, wrong: dict[str, object]
) -> None:
    unix.answers["events"] = [(200, {"events": [{**EVENT, "id": "x"} | wrong, EVENT]})]
    page = await client.poll("binding", "poll", 30.0)
    assert [one.id for one in page.events] == ["m-1"]
    assert [one[0] for one in page.malformed] == ["x"]


async def test_an_answer_names_event_attempt_and_binding(client: Client, unix: UnixService) -> None:
    await client.ack(WHICH)
    await client.refuse(WHICH, "busy")
    assert [one.path for one in unix.asked] == [
        "/v1/seats/s-1/events/discord%2F1/ack",
        "/v1/seats/s-1/events/discord%2F1/refuse",
    ]
    assert unix.asked[0].body == {"binding": "binding", "attempt": 2}
    assert unix.asked[1].body == {"binding": "binding", "attempt": 2, "reason": "busy"}
    assert [one.token for one in unix.asked] == ["first", "second"], "read anew each time"


async def test_rows_carry_their_evidence_and_limits(client: Client, unix: UnixService) -> None:
    rows = [
        Entry(
            id="r1",
            kind=EntryKind.USER,
            at=AT,
            text="hi \ud800",
            evidence=Evidence(event="m-1", attempt=1, proof=Proof.UUID, value="u"),
        ),
        Entry(
            id="r2",
            kind=EntryKind.TOOL,
            at=AT,
            native_parent="r1",
            tool={"name": "Bash", "call_id": "c", "phase": "started", "detail": {"a": 1}},
        ),
        Entry(
            id="r3",
            kind=EntryKind.LIMIT,
            at=AT,
            limit=Limited(window="five_hour", occurred_at=AT, resets_at=AT),
        ),
        Entry(id="r4", kind=EntryKind.ERROR, at=AT, error=Mishap.INTERRUPTED),
    ]
    await client.transcript("native-1", rows, Report(Activity.RESPONDING, AT))
    [asked] = unix.asked
    assert (asked.body["activity"], asked.body["activity_at"]) == ("responding", AT.isoformat())
    first, second, third, fourth = asked.body["entries"]
    assert first["text"] == "hi ?"
    assert first["delivery_evidence"] == {
        "event": "m-1",
        "attempt": 1,
        "proof": "uuid",
        "value": "u",
    }
    assert (second["native_parent"], second["tool"]["detail"]) == ("r1", '{"a": 1}')
    assert third["limit"]["window"] == "five_hour"
    assert third["limit"]["resets_at"] == AT.isoformat()
    assert (fourth["kind"], fourth["code"]) == ("error", "interrupted")
    assert "code" not in first


async def test_many_rows_are_several_requests(client: Client, unix: UnixService) -> None:
    rows = [Entry(id=f"r{n}", kind=EntryKind.USER, at=AT) for n in range(201)]
    await client.transcript("native-1", rows, Report(Activity.WAITING))
    assert [len(one.body["entries"]) for one in unix.asked] == [100, 100, 1]
    assert [one.body.get("activity") for one in unix.asked] == [None, None, "waiting"]
    assert "activity_at" not in unix.asked[-1].body


async def test_questions_and_sessions(client: Client, unix: UnixService) -> None:
    await client.ask(Question(id="q", summary="s" * 900, detail="d", event="m-1"))
    begun = await client.begin("native-1", "startup", ("persona",))
    await client.confirm(begun.projection_id)
    assert len(unix.asked[0].body["summary"]) == 500
    assert begun.text == "What was said before.\n"
    assert unix.to("/session-start")[1].body == {"projection_id": "p-1"}


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (401, "token_unknown", NotOursError),
        (404, "seat_not_found", MissingError),
        (409, "seat_superseded", SupersededError),
        (409, "occupant_changed", SupersededError),
        (409, "transition_refused", RefusedError),
        (403, "not_allowed", RefusedError),
        (410, "receipt_expired", RefusedError),
        (413, "body_too_large", RefusedError),
        (422, "invalid_field", RefusedError),
        (429, "too_many_streams", BusyError),
        (503, "service_shutting_down", BusyError),
        (500, "internal", BusyError),
    ],
)
async def test_each_refusal_is_an_error_of_its_kind(
    client: Client, unix: UnixService, status: int, code: str, error: type[SeatWireError]
) -> None:
    unix.answers["ack"] = [(status, {"code": code, "detail": "A sentence."})]
    unix.headers["Retry-After"] = "7"
    with pytest.raises(error, match=rf"A sentence\. \({code}\)") as caught:
        await client.ack(WHICH)
    if isinstance(caught.value, BusyError):
        assert caught.value.retry_after == 7.0


# A poll meets a service that shuts down: it says so, and the connection is closed.
async def test_a_service_that_is_gone_is_unreachable(client: Client, unix: UnixService) -> None:
    unix.answers["events"] = [(503, {"code": "service_shutting_down", "detail": "It stops."})]
    unix.headers["Connection"] = "close"
    with pytest.raises(BusyError):
        await client.poll("binding", "poll", 30.0)
    unix.stop()
    with pytest.raises(UnreachableError):
        await client.poll("binding", "poll", 30.0)
