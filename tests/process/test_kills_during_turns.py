"""Killed during a turn: what was never asked waits again, what may have been asked is uncertain."""

import re

from process.points import AFTER, BEFORE, dies_at
from process.service import Place, Service

UNKNOWN = re.compile(
    r"The model was asked at \d\d:\d\d UTC; the process died before an answer was stored; "
    r"tools run: (.+)\."
)


def states(receipt: dict[str, object]) -> list[str]:
    attempts = receipt["attempts"]
    assert isinstance(attempts, list)
    return [one["state"] for one in attempts]


def tools_of(receipt: dict[str, object]) -> str:
    """The tools that the sentence of an uncertain delivery names."""
    found = UNKNOWN.fullmatch(str(receipt["detail"]))
    assert found is not None, receipt
    return found[1]


def dies_during(place: Place, point: str, command: str, **fields: object) -> Service:
    """A service that was killed at the point while it ran `COMMAND [m-1]`; then the next."""
    service = place.start()
    service.client.set("wakes", soonest=0, first_backoff=0.1)
    service.die_at(point)
    place.send(service, "m-1", command, **fields)
    service.ended()
    return place.start()


def repeated(place: Place, service: Service, command: str) -> dict[str, object]:
    """The receipt after the same message was sent again: it changes nothing."""
    answer = place.send(service, "m-1", command)
    assert answer is not None
    assert answer.status == 200
    return service.client.known("m-1")


@dies_at("reserve")
def test_what_was_kept_for_the_lane_and_not_started_runs_after_the_restart(
    place: Place, point: str
) -> None:
    # proves: FENCE-3, FENCE-7
    again = dies_during(place, point, "mark")
    receipt = repeated(place, again, "mark")
    assert receipt["state"] == "settled"
    given_back = ["released"] if point.endswith(AFTER) else []
    assert states(receipt) == [*given_back, "completed"]
    place.finish(again)


@dies_at("start")
def test_only_a_start_that_is_on_disk_makes_the_outcome_unknown(place: Place, point: str) -> None:
    # proves: FENCE-7, FENCE-8, FENCE-9, DAY-1
    again = dies_during(place, point, "mark")
    receipt = repeated(place, again, "mark")
    if point.endswith(BEFORE):
        assert states(receipt) == ["released", "completed"]
        place.finish(again)
        return
    assert states(receipt) == ["uncertain"]
    assert tools_of(receipt) == "none"
    assert place.finish(again).uncertain_before_effect == 1
    assert place.model.asked["m-1"] == 0


@dies_at("tool_started")
def test_a_tool_without_its_record_on_disk_has_not_run(place: Place, point: str) -> None:
    # proves: SERV-7, FENCE-7, DAY-1
    again = dies_during(place, point, "mark")
    receipt = repeated(place, again, "mark")
    assert states(receipt) == ["uncertain"]
    begun = point.endswith(AFTER)
    assert tools_of(receipt) == ("leave_mark (uncertain)" if begun else "none")
    assert place.finish(again).uncertain_after_effect == 0


@dies_at("tool_ended")
def test_a_tool_that_has_run_is_named_and_not_run_again(place: Place, point: str) -> None:
    # proves: SERV-7, FENCE-7, DAY-1
    again = dies_during(place, point, "mark")
    receipt = repeated(place, again, "mark")
    assert states(receipt) == ["uncertain"]
    known = point.endswith(AFTER)
    assert tools_of(receipt) == f"leave_mark ({'completed' if known else 'uncertain'})"
    assert place.finish(again).uncertain_after_effect == 1


@dies_at("settle")
def test_an_answer_is_in_the_log_once_or_its_outcome_is_unknown(place: Place, point: str) -> None:
    # proves: CONV-3, FENCE-7, FENCE-8, DAY-1
    again = dies_during(place, point, "say")
    receipt = repeated(place, again, "say")
    stored = point.endswith(AFTER)
    assert states(receipt) == ["completed" if stored else "uncertain"]
    said = [one["text"] for one in again.client.events() if one.get("role") == "agent"]
    assert said == (["said m-1"] if stored else [])
    place.finish(again)


@dies_at("join")
def test_a_message_that_joined_the_run_shares_its_end_and_others_run_afterwards(
    place: Place, point: str
) -> None:
    # proves: FENCE-7, FENCE-8
    service = place.start()
    place.send(service, "m-1", "hold")
    place.model.wait_asked("m-1")
    place.send(service, "m-2", "say", mode="steer")
    service.die_at(point)
    place.model.release("m-1")
    service.ended()

    again = place.start()
    assert again.client.known("m-1")["state"] == "uncertain"
    joined = point.endswith(AFTER)
    assert again.client.known("m-2")["state"] == ("uncertain" if joined else "settled")
    place.finish(again)


@dies_at("wake")
def test_a_wake_is_set_with_its_record_and_comes_once(place: Place, point: str) -> None:
    # proves: SERV-7, FENCE-7
    again = dies_during(place, point, "wake")
    receipt = repeated(place, again, "wake")
    assert tools_of(receipt) == "schedule_wake (uncertain)"
    if point.endswith(AFTER):
        assert again.client.woken()["state"] == "settled"
    assert place.finish(again).inputs == (2 if point.endswith(AFTER) else 1)


def test_a_wake_whose_turn_was_cut_short_by_the_end_of_the_process_is_not_tried_again(
    place: Place,
) -> None:
    # proves: FENCE-12
    service = place.start()
    service.client.set("wakes", soonest=0, first_backoff=0.1)
    place.send(service, "m-1", "slow")
    assert service.client.known("m-1")["state"] == "settled"
    place.model.wait_asked("wake-of-m-1")
    service.kill()

    again = place.start()
    receipt = again.client.woken()
    assert states(receipt) == ["uncertain"]
    place.finish(again)


def test_a_wake_that_failed_is_tried_again_after_a_restart_as_the_same_input(place: Place) -> None:
    # proves: FENCE-12
    service = place.start()
    service.client.set("wakes", soonest=0, first_backoff=0.1, attempts=2)
    service.die_at("settle.after-commit", 2)
    place.send(service, "m-1", "fragile")
    service.ended()

    again = place.start()
    place.model.wait_asked("wake-of-m-1", 2)
    receipt = again.client.receipt(again.client.held_wake()).body
    assert states(receipt) == ["failed", "failed"]
    place.finish(again)


@dies_at("release")
def test_what_is_given_back_for_a_seat_waits_for_whoever_is_there_then(
    place: Place, point: str
) -> None:
    # proves: FENCE-5, FENCE-6
    service = place.start(CLANKIE_TEST_STANDS="1")
    service.tell("stand", "returning")
    service.die_at(point)
    place.send(service, "m-1", "say")
    service.ended()

    again = place.start()
    receipt = repeated(place, again, "say")
    assert receipt["state"] == "settled"
    assert states(receipt) == ["released", "completed"]
    place.finish(again)


@dies_at("refuse")
def test_what_no_driver_may_run_fails_once_and_no_model_is_asked(place: Place, point: str) -> None:
    # proves: FENCE-2, FENCE-8
    service = place.start(CLANKIE_TEST_STANDS="1")
    service.tell("stand", "remote")
    service.die_at(point)
    place.send(service, "m-1", "say")
    service.ended()

    again = place.start()
    receipt = repeated(place, again, "say")
    # Before the commit nothing is known of the refusal, and the seat is gone: it may run here now.
    stored = point.endswith(AFTER)
    assert receipt["state"] == ("failed" if stored else "settled")
    assert place.model.asked["m-1"] == (0 if stored else 1)
    place.finish(again)
