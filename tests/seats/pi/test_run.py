"""How a run of pi ends, and which of the provider's refusals are limits."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clankie.core.seat import Entry, EntryKind, Limited
from clankie.seats.pi.run import RATE, SOON, USAGE, Run, limit_of
from fakes.clock import START, FakeClock

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
STAMP = int(AT.timestamp() * 1000)


@pytest.mark.parametrize(
    ("said", "window", "after"),
    [
        (
            "You have hit your ChatGPT usage limit (plus plan). Try again in ~42 min.",
            USAGE,
            timedelta(minutes=42),
        ),
        ("You have hit your ChatGPT usage limit.", USAGE, None),
        ("429 The usage limit has been reached", USAGE, None),
        ("429 You exceeded your current quota, please check your plan", USAGE, None),
        ("400 Your credit balance is too low to access the Anthropic API.", USAGE, None),
        ('{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}', RATE, SOON),
        ("RESOURCE_EXHAUSTED: Resource has been exhausted.", RATE, SOON),
        ('{"message":"Check your plan and billing","status":"RESOURCE_EXHAUSTED"}', USAGE, None),
        ("Quota exceeded for metric x. RESOURCE_EXHAUSTED", USAGE, None),
        ('429 {"type":"error","error":{"type":"rate_limit_error"}}', RATE, SOON),
        ("429 Rate limit reached. Please try again in 20s.", RATE, timedelta(seconds=20)),
        ("Rate limit reached. Please try again in 1h2m3.5s", RATE, timedelta(seconds=3723.5)),
        ("Too Many Requests", RATE, SOON),
    ],
)
def test_refusals_that_are_limits(said: str, window: str, after: timedelta | None) -> None:
    # proves: LIMIT-1
    resets = None if after is None else AT + after
    assert limit_of(said, AT) == Limited(window=window, occurred_at=AT, resets_at=resets)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "529 overloaded",
        "401 invalid key",
        "4290 odd",
        "maximum context is 429 tokens",
        "quotas",
    ],
)
def test_refusals_that_are_none(said: str) -> None:
    assert limit_of(said, AT) is None


def failed(**more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "stopReason": "error", "errorMessage": "529", **more}
    return {"type": "message_end", "message": {"timestamp": STAMP, **message}}


END = {"type": "agent_end"}
BEGIN = {"type": "agent_start"}
GOOD = {"type": "message_end", "message": {"role": "assistant", "stopReason": "stop"}}
THEN = {"type": "clankie_end_1"}
AFTER = {"type": "clankie_end_2"}


def heard(*events: dict[str, Any]) -> list[str]:
    """The kinds of rows that these events came to, and whether it runs still."""
    run, found = Run(FakeClock().now), list[str]()
    for event in (BEGIN, *events):
        rows = run.hears(event)
        found += ["over" if not rows else rows[0].kind.value] if rows is not None else []
    return [*found, *(["runs"] if run.runs else [])]


def test_an_end_with_an_error_counts_once_pi_does_not_go_on() -> None:
    again, compacts = {"type": "auto_retry_start"}, {"type": "compaction_start"}
    gave_up = {"type": "auto_retry_end", "success": False, "finalError": "529"}
    went_on = {"type": "compaction_end", "willRetry": True}
    good = GOOD
    assert heard(good, END) == ["over"]
    assert heard(failed(), END) == ["runs"]
    assert heard(failed(), END, THEN) == ["error"]
    assert heard(failed(), END, again, THEN) == ["runs"]
    assert heard(failed(), END, again, THEN, BEGIN, good, END) == ["over"]
    assert heard(failed(), END, again, THEN, BEGIN, failed(), END, gave_up, AFTER) == ["error"]
    # The answer to what was asked behind the first end says nothing of the second.
    assert heard(failed(), END, again, BEGIN, failed(), END, THEN, again) == ["runs"]
    assert heard(failed(), END, again, BEGIN, failed(), END, THEN, AFTER) == ["error"]
    assert heard(failed(), END, compacts, THEN, went_on) == ["runs"]
    assert heard(failed(), END, compacts, THEN, {"type": "compaction_end"}) == ["error"]
    # Room is also made behind a good end, and an end is no error for the tool that failed in it.
    assert heard(good, END, compacts, {"type": "compaction_end"}) == ["over"]
    assert heard(failed(), good, END, THEN) == ["over"]


def test_a_failed_run_is_told_before_the_next_one_begins() -> None:
    assert heard(failed(), END, BEGIN) == ["error", "runs"]
    # What was asked behind the first end is answered into the second run, and means nothing there.
    assert heard(failed(), END, BEGIN, THEN, GOOD, END) == ["error", "over"]
    assert heard(failed(), END, BEGIN, failed(), END, AFTER) == ["error", "error"]
    assert heard(failed(), END, THEN, BEGIN, GOOD, END) == ["error", "over"]


@pytest.mark.parametrize("stamp", [None, 0, "soon", 1e40, float("nan")])
def test_a_failure_that_does_not_say_when_it_was_is_of_now(stamp: object) -> None:
    clock, found = FakeClock(), list[Entry]()
    run = Run(clock.now)
    for _ in range(2):
        run.hears(BEGIN)
        run.hears(failed(timestamp=stamp))
        run.hears(END)
        clock.shift(60)
        found += run.hears({"type": run.mark}) or ()
    assert [one.at for one in found] == [START + timedelta(seconds=after) for after in (60, 120)]
    assert len({one.id for one in found}) == 2


def test_a_row_has_the_time_of_its_request_and_an_id_of_its_own() -> None:
    run = Run(FakeClock().now)
    run.hears(BEGIN)
    run.hears(failed(errorMessage="429"))
    run.hears(END)
    assert run.undecided
    (row,) = run.hears(THEN) or ()
    assert (row.kind, row.at, row.text) == (EntryKind.LIMIT, AT, "429")
    assert row.id == "2026-11-30T12:00:00.000+00:00:end"
    assert not run.runs
