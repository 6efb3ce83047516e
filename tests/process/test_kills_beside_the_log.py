"""Killed while something is indexed, attached, pursued or removed for good."""

from contextlib import suppress

import pytest

from process.points import BEFORE, dies_at
from process.service import Place, Service
from process.wire import GoneError

GOAL = "/v1/conversations/global-default/goal"


@dies_at("index")
def test_words_are_found_although_the_process_died_while_it_indexed_them(
    place: Place, point: str
) -> None:
    # proves: FENCE-7
    service = place.start()
    place.send(service, "m-1", "say")
    assert service.client.known("m-1")["state"] == "settled"
    service.die_at(point)
    place.send(service, "m-2", "say")
    service.ended()

    again = place.start()
    place.send(again, "m-2", "say")
    assert again.client.known("m-2")["state"] in {"settled", "uncertain"}
    says = [one for one in again.client.events() if "m-1" in str(one.get("text"))]
    assert sorted(again.client.found("m-1")) == [one["cursor"] for one in says]
    assert len(says) == len(["the question", "the answer"])
    place.finish(again)


@pytest.mark.parametrize("visit", [1, 2])
@dies_at("attachment")
def test_a_file_is_kept_whole_or_can_be_sent_again(place: Place, point: str, visit: int) -> None:
    # proves: FENCE-7
    data = b"A list of things to buy."
    service = place.start()
    service.die_at(point, visit)
    with pytest.raises(GoneError):
        service.client.upload("list.txt", data)
    service.ended()

    again = place.start()
    kept = again.client.upload("list.txt", data)
    assert kept.status == 201
    assert again.client.download(kept.body["digest"]) == data
    place.finish(again)


@pytest.mark.parametrize("visit", [1, 2, 3])
@dies_at("goal")
def test_each_step_of_a_goal_is_taken_once(place: Place, point: str, visit: int) -> None:
    # proves: FENCE-1, FENCE-7
    wanted = {"text": "say [step]", "token_budget": 20}
    service = place.start()
    service.die_at(point, visit)
    with suppress(GoneError):
        # Without an answer nobody knows whether it was set: one looks, and sets it again.
        service.client.ask("PUT", GOAL, wanted)
    service.ended()

    again = place.start()
    if again.client.ask("GET", GOAL).body["goal"] is None:
        assert (point, visit) == ("goal" + BEFORE, 1)
        again.client.ask("PUT", GOAL, wanted)
    assert again.client.goal_ended()["step"] == place.model.asked["step"] == 2
    assert place.finish(again).inputs == 2


def closed(place: Place, service: Service) -> str:
    """A closed conversation with something in it."""
    wanted = {"request_id": "r-1", "name": "Secrets", "kind": "global"}
    made = service.client.ask("POST", "/v1/conversations", wanted).body["id"]
    place.send(service, "m-1", "mark", conversation=made)
    assert service.client.known("m-1")["state"] == "settled"
    assert service.client.ask("DELETE", f"/v1/conversations/{made}").status == 200
    return str(made)


def purged(place: Place, point: str, visit: int) -> None:
    """A service dies while it removes a conversation for good; the next makes an end of it."""
    service = place.start()
    conversation = closed(place, service)
    service.die_at(point, visit)
    with pytest.raises(GoneError):
        service.client.ask("POST", f"/v1/conversations/{conversation}/purge")
    service.ended()

    again = place.start()
    if (point, visit) == ("purge" + BEFORE, 1):
        # It was not begun, so nothing of it goes on by itself.
        assert len(again.client.events(conversation)) > 1
    done = again.client.ask("POST", f"/v1/conversations/{conversation}/purge")
    assert done.status == 200
    shown = again.client.events(conversation)
    assert "m-1" not in "".join(str(one.get("text")) + str(one.get("detail")) for one in shown)
    place.model.asked.clear()  # the evidence of it is gone too
    place.finish(again)
    assert b"[m-1]" not in place.database.read_bytes()


@pytest.mark.parametrize("visit", [1, 2, 3, 4])
@dies_at("purge")
def test_what_was_to_go_for_good_goes(place: Place, point: str, visit: int) -> None:
    # proves: FENCE-7
    purged(place, point, visit)


@dies_at("compact")
def test_what_was_to_go_for_good_goes_from_the_file_too(place: Place, point: str) -> None:
    # proves: FENCE-7
    purged(place, point, 1)
