"""Killed while a seat comes, goes, asks, answers or watches: it is so, or it is not, and said again
it is so once."""

import asyncio
import json
from contextlib import suppress
from typing import Any

from clankie.core.admission import Offer, Origin
from clankie.core.conversation import Author, Principal
from clankie.host.clock import NoCrash, SystemClock, SystemIds
from clankie.store.sqlite.store import SqliteStore
from process.points import AFTER, dies_at
from process.seat import HEAD, ScriptedSeat
from process.service import Place, Service
from process.test_kills_at_seats import receipt, seated, states, stored
from process.wire import GoneError

ASKER = Author(Principal.ROOM, "somebody")
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def escalated(place: Place, name: str, text: str = "say") -> None:
    """An escalation that a room admitted: the wire has no way for an owner to make one."""

    async def admit() -> None:
        store = SqliteStore(
            place.database,
            clock=SystemClock(),
            ids=SystemIds(),
            crash=NoCrash(),
            committed=lambda *_: None,
            inline=True,
        )
        async with store:
            await store.boot()
            offer = Offer(
                delivery_id=name,
                conversation=HEAD,
                text=f"{text} [{name}]",
                origin=Origin.ESCALATION,
                author=ASKER,
                channel="a",
            )
            await store.deliveries.admit(offer, 64)

    asyncio.run(admit())
    place.promised.add(name)


def tool(seat: ScriptedSeat, name: str, **arguments: Any) -> None:
    """Call a tool of the seat's own bank."""
    token = seat.token
    head = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {token}",
    }
    begun = _posted(seat, head, 1, "initialize", HELLO)
    head["Mcp-Session-Id"] = begun["session"]
    _posted(seat, head, 2, "tools/call", {"name": name, "arguments": arguments})


def _posted(
    seat: ScriptedSeat, head: dict[str, str], number: int, method: str, params: dict[str, Any]
) -> dict[str, str]:
    connection = seat.owner.connect()
    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    try:
        connection.request("POST", "/v1/mcp", body=json.dumps(body), headers=head)
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status == 200, said
        return {"session": answer.getheader("Mcp-Session-Id") or "", "said": said.decode()}
    except OSError as error:
        raise GoneError(method) from error
    finally:
        connection.close()


@dies_at("grant")
def test_leave_to_sit_down_that_nobody_heard_of_hinders_nobody(place: Place, point: str) -> None:
    # proves: SEAT-1
    service = place.start()
    service.die_at(point)
    with suppress(GoneError):
        ScriptedSeat(service.client).open()
    service.ended()

    again = place.start()
    seat = ScriptedSeat(again.client).open()
    assert seat.poll(0.05) == []
    place.send(again, "m-1", "say")
    assert seat.one()["id"] == "m-1"
    assert seat.ack(seat.last["events"][0]).body["state"] == "taken"
    place.finish(again)


@dies_at("seat")
def test_a_seat_is_let_go_or_it_is_not_and_what_waited_runs_once(place: Place, point: str) -> None:
    # proves: SEAT-6, FENCE-3, FENCE-7
    service, seat = seated(place)
    stored(place, service, seat)
    service.die_at(point)
    path = f"/v1/seats/{seat.id}/attachment"
    with suppress(GoneError):
        service.client.ask("DELETE", path)
    service.ended()

    again = place.start()
    if not point.endswith(AFTER):
        assert states(again) == ["offered"]
    assert again.client.ask("DELETE", path).status == 200
    assert again.client.known("m-1")["state"] == "settled"
    assert states(again) == ["released", "completed"]
    place.finish(again)


@dies_at("asked")
def test_a_seat_whose_first_poll_died_with_the_service_asks_again(place: Place, point: str) -> None:
    # proves: SEAT-5, FENCE-7
    service = place.start()
    seat = ScriptedSeat(service.client).open()
    service.die_at(point)
    with suppress(GoneError):
        seat.poll(5, poll_id="first")
    service.ended()

    again = place.start()
    assert seat.poll(0.05, poll_id="first") == []
    place.send(again, "m-1", "say")
    event = seat.one()
    seat.ack(event)
    seat.sync(seat.shows(event, "say [m-1]"), seat.row("assistant", "done"), activity="waiting")
    assert receipt(again)["state"] == "settled"
    place.finish(again)


@dies_at("reply")
def test_an_answer_that_was_lost_is_said_again_and_stands_once(place: Place, point: str) -> None:
    # proves: FENCE-7, FENCE-8, SEAT-4
    service, seat = seated(place)
    service.terminate()
    assert service.ended() == 0
    escalated(place, "e-1")
    service = place.start()
    event = seat.one()
    assert event["reply"]
    service.die_at(point)
    with suppress(GoneError):
        seat.reply(event, "the answer")
    service.ended()

    again = place.start()
    # The bridge that was given it is exact, however late: what was uncertain is answered.
    assert states(again, "e-1") == (["replied"] if point.endswith(AFTER) else ["uncertain"])
    assert seat.reply(event, "the answer").body["state"] == "replied"
    assert receipt(again, "e-1")["state"] == "settled"
    said = [one["text"] for one in again.client.events() if one.get("role") == "agent"]
    assert said == ["the answer"]
    place.finish(again)


@dies_at("watch")
def test_what_a_seat_watches_is_told_once_whoever_dies(place: Place, point: str) -> None:
    # proves: SERV-1, FENCE-7
    service, seat = seated(place)
    stored(place, service, seat)
    service.die_at(point)
    with suppress(GoneError):
        tool(seat, "watch", delivery="m-1")
    service.ended()

    again = place.start()
    event = seat.one()
    if not point.endswith(AFTER):
        tool(seat, "watch", delivery="m-1")
    seat.ack(event)
    seat.sync(seat.shows(event, "say [m-1]"), seat.row("assistant", "done"), activity="waiting")
    told = seat.one(30)
    assert told["kind"] == "watch"
    assert "m-1" in told["content"]
    seat.ack(told)
    assert seat.poll(0.5) == []
    _settled(again, seat, told)
    place.finish(again)


def _settled(service: Service, seat: ScriptedSeat, event: dict[str, Any]) -> None:
    seat.sync(seat.shows(event, "watched"), seat.row("assistant", "seen"), activity="waiting")
    assert service.client.known(event["id"])["state"] == "settled"
