"""Killed around a seat: what it may have seen is nobody else's, what it has not is somebody's."""

from contextlib import suppress
from typing import Any

from process.points import AFTER, BEFORE, dies_at
from process.seat import ScriptedSeat
from process.service import Place, Service
from process.wire import MANY, GoneError


def seated(place: Place, **limits: float) -> tuple[Service, ScriptedSeat]:
    """A service, and a seat at its head that has asked a moment ago."""
    service = place.start()
    if limits:
        service.client.set("seats", **limits)
    seat = ScriptedSeat(service.client).open()
    assert seat.poll(0.05) == []
    return service, seat


def stored(place: Place, service: Service, seat: ScriptedSeat, name: str = "m-1") -> None:
    """A message that waits at the seat for its next poll."""
    place.send(service, name, "say")
    for _ in range(MANY):
        if seat.row_of_roster()["waiting"] > 0:
            return
    raise AssertionError


def given(place: Place, service: Service, seat: ScriptedSeat) -> dict[str, Any]:
    """A message that the seat was given."""
    stored(place, service, seat)
    return seat.one()


def receipt(service: Service, name: str = "m-1") -> dict[str, Any]:
    found = service.client.receipt(name)
    assert found.status == 200, found
    return found.body


def states(service: Service, name: str = "m-1") -> list[str]:
    return [one["state"] for one in receipt(service, name)["attempts"]]


@dies_at("take")
def test_a_page_is_on_disk_before_anybody_reads_it(place: Place, point: str) -> None:
    # proves: FENCE-9, FENCE-4, FENCE-7
    service, seat = seated(place)
    stored(place, service, seat)
    service.die_at(point)
    with suppress(GoneError):
        seat.poll(poll_id="lost")
    service.ended()

    again = place.start()
    if point.endswith(BEFORE):
        # Nobody can have seen it: it still waits at the seat, which is presumed live.
        assert states(again) == ["offered"]
        assert seat.one()["id"] == "m-1"
        seat.ack(seat.last["events"][0])
    else:
        assert (receipt(again)["state"], states(again)) == ("uncertain", ["uncertain"])
        assert "was given to the seat" in str(receipt(again)["detail"])
        assert seat.poll(0.05, poll_id="lost") == []
        assert seat.poll(0.05) == []
        # The bridge had read it after all: late and exact, it settles what was uncertain.
        seat.ack({"id": "m-1", "attempt": 1})
    assert states(again) == ["taken"]
    place.finish(again)


@dies_at("ack")
def test_an_acknowledgement_that_was_lost_is_said_again(place: Place, point: str) -> None:
    # proves: FENCE-7, FENCE-8, SEAT-4
    service, seat = seated(place)
    event = given(place, service, seat)
    service.die_at(point)
    with suppress(GoneError):
        seat.ack(event)
    service.ended()

    again = place.start()
    assert states(again) == (["taken"] if point.endswith(AFTER) else ["uncertain"])
    assert seat.ack(event).body["state"] == "taken"
    seat.sync(seat.shows(event, "say [m-1]"), seat.row("assistant", "done"), activity="waiting")
    assert (receipt(again)["state"], states(again)) == ("settled", ["delivered"])
    place.finish(again)


@dies_at("refused")
def test_a_refusal_that_was_lost_may_still_be_said(place: Place, point: str) -> None:
    # proves: FENCE-5, FENCE-8
    service, seat = seated(place)
    event = given(place, service, seat)
    service.die_at(point)
    with suppress(GoneError):
        seat.refuse(event)
    service.ended()

    again = place.start()
    if point.endswith(AFTER):
        # It is on disk: the service lane runs it, once.
        assert again.client.known("m-1")["state"] == "settled"
        assert states(again) == ["refused", "completed"]
    else:
        # Nobody can tell any more, and nobody runs it.
        assert (receipt(again)["state"], states(again)) == ("uncertain", ["uncertain"])
    place.finish(again)


@dies_at("sync")
def test_rows_of_a_transcript_are_taken_once_whoever_dies(place: Place, point: str) -> None:
    # proves: CONV-3, FENCE-7
    service, seat = seated(place)
    event = given(place, service, seat)
    seat.ack(event)
    rows = [seat.shows(event, "say [m-1]"), seat.row("assistant", "done")]
    service.die_at(point)
    with suppress(GoneError):
        seat.sync(*rows, activity="waiting")
    service.ended()

    again = place.start()
    synced = seat.sync(*rows, activity="waiting")
    known = 2 if point.endswith(AFTER) else 0
    assert (synced["accepted"], synced["duplicates"]) == (2 - known, known)
    assert receipt(again)["state"] == "settled"
    said = [one["text"] for one in again.client.events() if one.get("role") == "agent"]
    assert said == ["done"]
    place.finish(again)


@dies_at("lapse")
def test_what_nobody_acknowledged_is_uncertain_whenever_that_is_written(
    place: Place, point: str
) -> None:
    # proves: FENCE-11, FENCE-7
    service, seat = seated(place, acknowledge=1.0)
    given(place, service, seat)
    service.die_at(point)
    service.ended()

    again = place.start()
    assert again.client.known("m-1")["state"] == "uncertain"
    assert states(again) == ["uncertain"]
    place.finish(again)


@dies_at("take_over")
def test_what_waited_for_a_silent_seat_is_run_once_whoever_dies(place: Place, point: str) -> None:
    # proves: SEAT-7, FENCE-5
    service, _ = seated(place, hold=1.0)
    service.die_at(point)
    place.send(service, "m-1", "say")
    service.ended()

    again = place.start()
    assert again.client.known("m-1")["state"] == "settled"
    # After the start the seat was waited for once more, as one that asked shortly before.
    *before, last = states(again)
    assert (set(before), last) == ({"released"}, "completed")
    place.finish(again)


@dies_at("register")
def test_a_seat_is_registered_and_attached_or_neither(place: Place, point: str) -> None:
    # proves: SEAT-1, FENCE-3
    service = place.start()
    seat = ScriptedSeat(service.client)
    service.die_at(point)
    with suppress(GoneError):
        seat.open()
    service.ended()

    again = place.start()
    roster = again.client.ask("GET", "/v1/seats").body["seats"]
    there = [one["conversation"] for one in roster]
    assert there == (["global-default"] if point.endswith(AFTER) else [])
    # Opened again it is the same seat, and the only one.
    seat.open(expected=roster[0]["seat"] if roster else None)
    roster = again.client.ask("GET", "/v1/seats").body["seats"]
    assert [one["seat"] for one in roster] == [seat.id]
    place.finish(again)
