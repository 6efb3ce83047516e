"""Killed while the owner cancels, closes or releases something."""

import pytest

from process.points import AFTER, BEFORE, dies_at
from process.service import Place, Service
from process.wire import GoneError

CANCEL = "/v1/conversations/global-default/cancel"


@dies_at("cancel")
def test_what_is_cancelled_while_it_waits_ends_so_or_runs_and_never_both(
    place: Place, point: str
) -> None:
    # proves: FENCE-13, FENCE-7
    service = place.start()
    place.send(service, "m-1", "hold")
    place.model.wait_asked("m-1")
    place.send(service, "m-2", "say")
    service.die_at(point)
    with pytest.raises(GoneError):
        service.client.ask("POST", CANCEL, {"delivery_id": "m-2"})
    service.ended()

    again = place.start()
    stored = point.endswith(AFTER)
    assert again.client.known("m-2")["state"] == ("cancelled" if stored else "settled")
    assert place.model.asked["m-2"] == (0 if stored else 1)
    place.finish(again)


def uncertain(place: Place) -> Service:
    """A service that found `m-1` uncertain at its start."""
    service = place.start()
    place.send(service, "m-1", "hold")
    place.model.wait_asked("m-1")
    service.kill()
    again = place.start()
    assert again.client.known("m-1")["state"] == "uncertain"
    return again


@dies_at("abandon")
def test_closing_what_nobody_can_know_happens_once(place: Place, point: str) -> None:
    # proves: FENCE-7, FENCE-8, DAY-1
    settle = "/v1/deliveries/m-1/settle"
    service = uncertain(place)
    service.die_at(point)
    with pytest.raises(GoneError):
        service.client.ask("POST", settle, {"as": "abandoned"})
    service.ended()

    again = place.start()
    closed = again.client.ask("POST", settle, {"as": "abandoned"})
    assert closed.status == (200 if point.endswith(BEFORE) else 409)
    receipt = again.client.known("m-1")
    assert receipt["state"] == "abandoned"
    assert receipt["detail"].endswith("closed as unknown.")
    place.finish(again)


@dies_at("release_held")
def test_a_held_wake_that_was_released_runs_after_the_restart(place: Place, point: str) -> None:
    # proves: FENCE-12
    service = place.start()
    service.client.set("wakes", soonest=0, first_backoff=0.1, attempts=1)
    place.send(service, "m-1", "fragile")
    held = service.client.held_wake()
    service.die_at(point)
    with pytest.raises(GoneError):
        service.client.ask("POST", "/v1/wakes/release", {})
    service.ended()

    again = place.start()
    if point.endswith(AFTER):
        place.model.wait_asked("wake-of-m-1", 2)
    assert again.client.held_wake() == held
    tried = again.client.receipt(held).body["attempts"]
    assert [one["state"] for one in tried] == ["failed"] * (2 if point.endswith(AFTER) else 1)
    place.finish(again)
