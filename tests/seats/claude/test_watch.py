"""A running session is seen from outside: what it does, which one it is, what it was given."""

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clankie.core.seat import Activity
from clankie.seats.claude import watch as watching
from clankie.seats.claude.watch import LIFE, SETTLING, Watch
from clankie.seats.port import DeafError
from fakes.clock import FakeClock
from fakes.hearing import all_of
from seats.claude import said
from seats.claude.client import SESSION, Client, told

pytestmark = pytest.mark.anyio

OTHER = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


def limits(watch: Watch) -> tuple[bool, bool]:
    return watch.limited, watch.limit_met


async def test_what_stands_in_the_transcript_before_we_come_is_not_ours(client: Client) -> None:
    client.register("idle")
    client.write(said.limit_now(), said.typed("u-1", "old"))
    watch = client.watch()
    watch.look()
    assert watch.transcript == client.transcript
    assert not watch.limit_met
    assert watch.prompted_at is None


# proves: SEAT-15
async def test_a_turn_is_reported_when_it_begins_and_when_it_ends(client: Client) -> None:
    client.register("idle")
    watch = client.watch()
    watch.look()
    assert [one.activity for one in await told(watch)] == [Activity.WAITING]
    client.register("busy")
    watch.look()
    watch.look()
    assert [one.activity for one in await told(watch)] == [Activity.RESPONDING]
    await client.clock.advance(1)
    client.write(said.typed("u-1", "go"), said.assistant("a-1", said.text("done")))
    client.register("idle")
    watch.look()
    (over,) = await told(watch)
    assert over.activity is Activity.WAITING
    # It is the end of what was read: whatever stands behind that is of another turn.
    assert over.at == datetime.fromisoformat(said.AT)


# proves: SEAT-15
async def test_a_turn_between_two_looks_is_reported_all_the_same(client: Client) -> None:
    client.register("idle")
    watch = client.watch()
    watch.look()
    await told(watch)
    client.write(said.typed("u-1", "go"), said.system("turn_duration"))
    client.register("idle")
    watch.look()
    assert [one.activity for one in await told(watch)] == [
        Activity.RESPONDING,
        Activity.WAITING,
    ]


# proves: SEAT-15
async def test_of_two_turns_between_two_looks_the_first_is_over_before_the_second_begins(
    client: Client,
) -> None:
    client.register("busy")
    watch = client.watch()
    watch.look()
    await told(watch)
    later = datetime.fromisoformat(said.AT) + timedelta(seconds=5)
    client.write(
        said.typed("u-1", "go"),
        said.assistant("a-1", said.text("done")),
        said.system("turn_duration"),
        said.typed("u-2", "and now", at=later.isoformat()),
    )
    watch.look()
    first, second = await told(watch)
    assert (first.activity, second.activity) == (Activity.WAITING, Activity.RESPONDING)
    assert first.at == datetime.fromisoformat(said.AT)
    client.write(said.system("turn_duration"))
    client.register("idle")
    watch.look()
    (over,) = await told(watch)
    assert (over.activity, over.at) == (Activity.WAITING, later)


async def test_a_long_turn_shows_signs_of_life(client: Client) -> None:
    client.register("busy")
    watch = client.watch()
    watch.look()
    await client.clock.advance(LIFE)
    watch.look()
    assert [one.activity for one in await told(watch)] == [Activity.RESPONDING] * 2


# proves: SEAT-15
async def test_a_session_does_not_wait_while_words_are_on_their_way(client: Client) -> None:
    client.register("busy")
    watch = client.watch()
    watch.look()
    await told(watch)
    expected = watch.receipts.expect("words", "uuid-1")
    client.write(said.enqueue("words"))
    client.register("idle")
    watch.look()
    assert expected.proof == "it stands in the client's queue"
    assert await told(watch) == []
    client.write(said.user("uuid-1", "words"), said.system("turn_duration"))
    watch.look()
    assert [one.activity for one in await told(watch)] == [Activity.WAITING]


@pytest.mark.parametrize("operation", ["remove", "popAll"])
async def test_words_that_a_person_took_back_hold_nothing_up(
    client: Client, operation: str
) -> None:
    client.register("idle")
    watch = client.watch()
    watch.look()
    watch.receipts.expect("words", "uuid-1")
    client.write(said.enqueue("words"), said.enqueue("words", operation, reason="other"))
    watch.look()
    assert not watch.receipts.open


async def test_words_that_joined_a_turn_stay_on_their_way_until_their_row(client: Client) -> None:
    client.register("busy")
    watch = client.watch()
    watch.look()
    expected = watch.receipts.expect("words", "uuid-1")
    client.write(said.enqueue("words"), said.enqueue("words", "remove", reason="absorbed_mid_turn"))
    watch.look()
    assert watch.receipts.open
    client.write(said.queued("u-9", "words", "uuid-1"))
    watch.look()
    assert expected.shown
    assert expected.proof == "a row has its id"
    assert not watch.receipts.open


async def test_a_limit_holds_until_it_is_over_or_the_model_answers_again(client: Client) -> None:
    client.register("idle")
    watch = client.watch()
    watch.look()
    client.write(said.limit_before("You've hit your session limit · resets 1pm (UTC)"))
    watch.look()
    assert limits(watch) == (True, True)
    await client.clock.advance(3_601)
    assert limits(watch) == (False, True), "its menu may still be there"
    client.write(said.assistant("a-1", said.text("again")))
    watch.look()
    assert limits(watch) == (False, False)


async def test_a_limit_without_an_end_holds_for_an_hour(client: Client) -> None:
    client.register("idle")
    watch = client.watch()
    watch.look()
    client.write(said.limit_before("You've hit your session limit"))
    watch.look()
    assert limits(watch) == (True, True)
    await client.clock.advance(3_600)
    assert limits(watch) == (False, True)


# proves: SEAT-14
@pytest.mark.parametrize(
    ("older", "source"),
    [
        (None, "clear"),
        (said.typed("u-1", "long ago"), "resume"),
        (said.typed("u-1", "long ago") | {"forkedFrom": {"sessionId": SESSION}}, "fork"),
    ],
)
async def test_the_same_process_goes_on_with_another_session(
    client: Client, older: dict[str, Any] | None, source: str
) -> None:
    client.register("idle")
    watch = client.watch()
    watch.look()
    await told(watch)
    lost = watch.receipts.expect("words", "uuid-1")
    await client.clock.advance(60)
    client.session = OTHER
    if older is not None:
        client.write(older)
    client.register("idle")
    watch.look()
    first, *_ = await told(watch)
    assert (first.session_id, first.source) == (OTHER, source)
    assert watch.native.session_id == OTHER
    assert watch.native.pid == os.getpid()
    assert lost.lost
    assert watch.transcript == client.transcript


async def test_a_fresh_id_while_the_client_starts_is_no_other_session(client: Client) -> None:
    client.session = OTHER
    client.register(None)
    watch = client.watch()
    watch.look()
    assert watch.native.session_id == SESSION
    client.session = SESSION
    client.register("idle")
    watch.look()
    assert all(one.source is None for one in await told(watch))


async def test_a_register_that_never_names_our_session_is_believed_in_the_end(
    client: Client,
) -> None:
    client.session = OTHER
    client.register("idle")
    watch = client.watch()
    watch.look()
    await client.clock.advance(SETTLING + 1)
    watch.look()
    assert watch.native.session_id == OTHER


async def test_a_compaction_keeps_the_session(client: Client) -> None:
    client.register("idle")
    watch = client.watch()
    watch.look()
    await told(watch)
    client.write(
        said.system("compact_boundary"), said.user("u", "all of it", isCompactSummary=True)
    )
    watch.look()
    watch.look()
    assert [(one.session_id, one.source) for one in await told(watch)] == [(SESSION, "compact")]


async def test_what_it_wrote_before_it_ended_is_read(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.register("busy")
    watch = client.watch()
    watch.look()
    expected = watch.receipts.expect("words", "uuid-1")
    lost = watch.receipts.expect("other words", "uuid-2")
    client.write(said.user("uuid-1", "words"))
    monkeypatch.setattr(watching, "alive", lambda pid, began: False)  # noqa: ARG005 - its names
    watch.look()
    watch.look()
    assert watch.ended
    assert expected.shown
    assert lost.lost
    assert [one.ended for one in await told(watch)].count(True) == 1


async def test_a_client_without_a_register_is_read_by_its_rows(client: Client) -> None:
    client.register(None, statusUpdatedAt=None)
    watch = client.watch()
    watch.look()
    client.write(said.typed("u-1", "go"), said.assistant("a-1", said.text("done")))
    watch.look()
    assert [one.activity for one in await told(watch)] == [Activity.RESPONDING]
    await client.clock.advance(1)
    watch.rest()
    watch.look()
    assert [one.activity for one in await told(watch)] == [Activity.WAITING]


async def test_it_looks_until_the_process_ends(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.register("idle")
    watch = client.watch()
    watch.look()
    monkeypatch.setattr(watching, "alive", lambda pid, began: False)  # noqa: ARG005 - its names
    await watch.run()
    seen = [one async for one in watch.seen()]
    assert [one.observation.ended for one in seen if one.observation][-1]


async def test_what_fails_while_it_looks_ends_the_seat_in_words(client: Client) -> None:
    class Broken(FakeClock):
        async def sleep(self, seconds: float) -> None:
            raise RuntimeError(f"no {seconds} seconds here")

    client.register("idle")
    client.clock = Broken()
    watch = client.watch()
    await watch.run()
    with pytest.raises(DeafError, match="RuntimeError: no"):
        await all_of(watch)
