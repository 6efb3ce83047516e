"""Stopping: an event, then a deadline, then an end whose outcome is on disk."""

import http.client
import signal

import apsw
import pytest

from process.seat import ScriptedSeat
from process.service import Place, Service
from process.wire import Client

STREAM = "/v1/conversations/global-default/events?after=0"


def streaming(service: Service) -> http.client.HTTPConnection:
    """A connection on which the log is being streamed."""
    connection = service.client.connect()
    headers = {**service.client.bearer(), "Accept": "text/event-stream"}
    connection.request("GET", STREAM, headers=headers)
    return connection


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_running_turn_ends_in_peace_while_nothing_new_is_admitted(
    place: Place, number: signal.Signals
) -> None:
    # proves: FENCE-1, CONV-4
    service = place.start()
    place.send(service, "m-1", "hold")
    place.model.wait_asked("m-1")
    connection = streaming(service)
    response = connection.getresponse()
    assert response.status == 200
    poll = service.client.connect()
    poll.request("GET", "/v1/deliveries/m-1?wait=30", headers=service.client.bearer())
    service.process.signal(number)
    # Both end in good order: nothing is cut off.
    assert b'"delivery_id":"m-1"' in response.read()
    assert b'"state":"running"' in poll.getresponse().read()
    connection.close()
    poll.close()

    refused = service.client.send("m-2", "say [m-2]")
    assert (refused.status, refused.code) == (503, "service_shutting_down")
    assert int(refused.headers["retry-after"]) > 0
    assert service.client.receipt("m-1", wait=20).body["state"] == "running"
    place.model.release("m-1")
    assert service.ended() == 0, service.said()

    again = place.start()
    receipt = again.client.known("m-1")
    assert [one["state"] for one in receipt["attempts"]] == ["completed"]
    assert again.client.receipt("m-2").status == 404
    place.finish(again)


def test_a_turn_that_takes_too_long_is_cut_and_what_it_wrote_is_kept(place: Place) -> None:
    # proves: FENCE-7, FENCE-13
    service = place.start()
    service.client.set("lifecycle", drain=0.2)
    place.send(service, "m-1", "begin")
    place.send(service, "m-2", "say")
    place.model.wait_asked("m-1")
    service.terminate()
    assert service.ended() == 0, service.said()

    again = place.start()
    receipt = again.client.known("m-1")
    assert (receipt["state"], receipt["code"]) == ("failed", "service_stopped")
    turns = [one for one in again.client.events() if one.get("phase") == "failed"]
    assert [one["partial"] for one in turns] == ["I begin. "]
    # What waited behind it was never cut: it waits for the next start.
    assert again.client.known("m-2")["state"] == "settled"
    place.finish(again)


def test_a_second_signal_ends_it_at_once_and_the_next_start_says_what_is_unknown(
    place: Place,
) -> None:
    # proves: FENCE-7
    service = place.start()
    place.send(service, "m-1", "hold")
    place.model.wait_asked("m-1")
    connection = streaming(service)
    response = connection.getresponse()
    service.terminate()
    response.read()
    connection.close()
    service.terminate()
    assert service.ended() == 1

    again = place.start()
    assert again.client.known("m-1")["state"] == "uncertain"
    place.finish(again)


def test_the_program_itself_stops_in_good_order(place: Place) -> None:
    service = place.run("serve", CLANKIE_MODEL="practice").wait_ready()
    assert service.client.send("m-1", "remind me in 40 seconds to look").status == 202
    assert service.client.known("m-1")["state"] == "settled"
    place.promised.add("m-1")
    place.finish(service)


def test_a_service_whose_state_another_one_has_taken_stops_and_says_so(place: Place) -> None:
    # proves: FENCE-3
    service = place.start()
    place.send(service, "m-1", "say")
    assert service.client.known("m-1")["state"] == "settled"
    take_over(place)
    answer = service.client.send("m-2", "say [m-2]")
    assert answer.status == 503
    assert service.ended() == 1
    assert service.said().count("clankie: ") == 1
    assert str(place.home) in service.said()
    again = place.start()
    assert again.client.receipt("m-2").status == 404
    place.finish(again)


def take_over(place: Place) -> None:
    """What the boot of another service does to the one that runs."""
    other = apsw.Connection(str(place.database))
    other.execute("UPDATE node SET dead = 1")
    other.close()


def test_a_service_that_was_taken_over_leaves_the_other_ones_door_and_ends_what_waits_at_its_own(
    place: Place,
) -> None:
    # proves: FENCE-3
    service = place.start()
    seat = ScriptedSeat(service.client).open()
    assert seat.poll(0.05) == []
    log = streaming(service)
    followed = log.getresponse()
    parked = seat.parked()
    socket, run = place.home / "service.sock", place.home / "run.json"
    socket.unlink()
    socket.write_text("of the other one")
    run.write_text('{"ready": true, "url": "http://127.0.0.1:1", "pid": 1}')
    take_over(place)
    over_tcp = Client(place.home, url=service.ready["url"])
    assert over_tcp.send("m-1", "say [m-1]").status == 503
    assert b"m-1" not in followed.read()
    assert parked.getresponse().status == 503
    assert service.ended() == 1
    assert '"level": "error"' not in service.said()
    assert socket.read_text() == "of the other one"
    assert b"127.0.0.1:1" in run.read_bytes()
    log.close()
    parked.close()


def test_a_service_that_ends_leaves_the_door_of_one_that_began_since(place: Place) -> None:
    # It wrote nothing since, so it never heard that it was taken over.
    service = place.start()
    run = place.home / "run.json"
    run.write_text('{"ready": true, "url": "http://127.0.0.1:1", "pid": 1}')
    service.terminate()
    assert service.ended() == 0
    assert run.exists()
    assert (place.home / "service.sock").exists()
