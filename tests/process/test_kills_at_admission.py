"""Killed while something is recorded: it is there once or not at all, and a repeat is safe."""

import pytest

from process.points import AFTER, BEFORE, dies_at, killed, kinds
from process.service import Place
from process.wire import GoneError


def test_every_kind_of_commit_has_a_test_that_dies_at_it() -> None:
    # proves: FENCE-1, SERV-7
    assert killed() == kinds()


@dies_at("admit")
def test_a_message_that_got_no_answer_is_there_once_however_the_process_died(
    place: Place, point: str
) -> None:
    # proves: FENCE-1, FENCE-7
    service = place.start()
    service.die_at(point)
    assert place.send(service, "m-1", "say") is None
    service.ended()

    again = place.start()
    stored = point.endswith(AFTER)
    assert again.client.receipt("m-1").status == (200 if stored else 404)
    repeated = place.send(again, "m-1", "say")
    assert repeated is not None
    assert repeated.status == (200 if stored else 202)
    assert again.client.known("m-1")["state"] == "settled"
    assert place.finish(again).inputs == 1


def test_a_message_that_was_answered_for_is_there_whatever_comes_after(place: Place) -> None:
    # proves: FENCE-1, FENCE-7
    service = place.start()
    accepted = place.send(service, "m-1", "hold")
    assert accepted is not None
    service.kill()

    place.model.release("m-1")
    again = place.start()
    receipt = again.client.known("m-1")
    assert receipt["fingerprint"] == accepted.body["delivery"]["fingerprint"]
    changed = again.client.send("m-1", "say [other]")
    lost = receipt["state"] == "uncertain"
    assert (changed.status, changed.code) == (409, "unconfirmed" if lost else "delivery_conflict")
    place.finish(again)


@dies_at("boot")
def test_a_start_that_dies_while_it_takes_over_leaves_that_to_the_next(
    place: Place, point: str
) -> None:
    # proves: FENCE-7, FENCE-8
    service = place.start()
    place.send(service, "m-1", "hold")
    place.model.wait_asked("m-1")
    place.send(service, "m-2", "say")
    service.kill()

    assert place.begin(CLANKIE_TEST_DIES_AT=point).ended() < 0
    again = place.start()
    assert again.client.known("m-1")["state"] == "uncertain"
    assert again.client.known("m-2")["state"] == "settled"
    place.finish(again)


@pytest.mark.parametrize("point", ["boot.before-commit", "boot.after-commit"])
def test_a_first_start_that_dies_is_no_hindrance_to_the_next(place: Place, point: str) -> None:
    assert place.begin(CLANKIE_TEST_DIES_AT=point).ended() < 0
    again = place.start()
    place.send(again, "m-1", "say")
    assert again.client.known("m-1")["state"] == "settled"
    assert place.finish(again).inputs == 1


@dies_at("prune")
def test_a_start_that_dies_while_it_drops_old_evidence_loses_nothing(
    place: Place, point: str
) -> None:
    # proves: FENCE-7
    service = place.start()
    place.send(service, "m-1", "say")
    assert service.client.known("m-1")["state"] == "settled"
    service.kill()

    assert place.begin(CLANKIE_TEST_DIES_AT=point).ended() < 0
    again = place.start()
    assert again.client.known("m-1")["state"] == "settled"
    place.finish(again)


@dies_at("create")
def test_a_conversation_is_made_once_however_the_process_died(place: Place, point: str) -> None:
    # proves: CONV-1
    wanted = {"request_id": "r-1", "name": "Garden", "kind": "global"}
    service = place.start()
    service.die_at(point)
    with pytest.raises(GoneError):
        service.client.ask("POST", "/v1/conversations", wanted)
    service.ended()

    again = place.start()
    made = again.client.ask("POST", "/v1/conversations", wanted)
    assert made.status == (201 if point.endswith(BEFORE) else 200)
    listed = again.client.ask("GET", "/v1/conversations").body["conversations"]
    assert [one["name"] for one in listed] == ["Clankie", "Garden"]
    place.finish(again)


@dies_at("conversation")
def test_a_reset_happened_once_or_not_at_all(place: Place, point: str) -> None:
    # proves: CONV-5, CONV-7
    reset = "/v1/conversations/global-default/reset"
    service = place.start()
    service.die_at(point)
    with pytest.raises(GoneError):
        service.client.ask("POST", reset, {"expected_revision": 0})
    service.ended()

    again = place.start()
    repeated = again.client.ask("POST", reset, {"expected_revision": 0})
    assert repeated.status == (200 if point.endswith(BEFORE) else 409)
    assert [one["kind"] for one in again.client.events()] == ["reset"]
    place.finish(again)


@dies_at("owner")
def test_a_setting_is_changed_or_as_it_was(place: Place, point: str) -> None:
    service = place.start()
    service.die_at(point)
    with pytest.raises(GoneError):
        service.client.set("persona", name="Rosie")
    service.ended()

    again = place.start()
    found = again.client.ask("GET", "/v1/settings").body
    stored = point.endswith(AFTER)
    assert (found["revision"], found["settings"]["persona"]["name"]) == (
        (1, "Rosie") if stored else (0, "Clankie")
    )
    place.finish(again)
