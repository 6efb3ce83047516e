"""Live views: one ring for all readers, drafts shared, and nothing kept for those who left."""

import json
from collections.abc import Callable

import pytest

from clankie.host.feed import BehindError, Channel, Feed, Place
from clankie.host.storage import Stored


def stored(cursor: int, conversation: str = "c-1") -> Stored:
    return Stored(conversation, cursor, json.dumps({"cursor": cursor}).encode())


def commit(feed: Feed, *cursors: int, conversation: str = "c-1") -> None:
    events = [stored(cursor, conversation) for cursor in cursors]
    feed.published(events, frozenset({conversation}))


def data(frame: bytes) -> dict[str, object]:
    lines = frame.decode().splitlines()
    found: dict[str, object] = json.loads(next(x for x in lines if x.startswith("data: "))[6:])
    return found


def test_a_reader_gets_each_event_once_and_in_order() -> None:
    # proves: CONV-4
    feed, place = Feed(), Place(0)
    channel = feed.join("c-1")
    commit(feed, 1, 2)
    assert channel.take(place) == [
        b'id: 1\ndata: {"cursor": 1}\n\n',
        b'id: 2\ndata: {"cursor": 2}\n\n',
    ]
    assert channel.take(place) == []
    commit(feed, 3)
    assert [data(one)["cursor"] for one in channel.take(place)] == [3]
    assert place.cursor == 3


def test_a_reader_that_starts_later_gets_only_what_follows_its_cursor() -> None:
    # proves: CONV-4
    feed = Feed()
    channel = feed.join("c-1")
    commit(feed, 5, 6, 7)
    assert [data(one)["cursor"] for one in channel.take(Place(5))] == [6, 7]
    assert channel.take(Place(9)) == []


def test_a_reader_that_fell_out_of_the_ring_is_told_so() -> None:
    # proves: CONV-4
    feed = Feed(ring=3)
    channel = feed.join("c-1")
    commit(feed, *range(1, 8))
    with pytest.raises(BehindError):
        channel.take(Place(3))
    assert [data(one)["cursor"] for one in channel.take(Place(4))] == [5, 6, 7]


def test_an_event_that_nobody_was_told_of_is_no_silent_gap() -> None:
    # proves: CONV-4
    feed = Feed()
    channel = feed.join("c-1")
    commit(feed, 1, 2)
    commit(feed, 4)
    for cursor in (0, 1, 2):
        with pytest.raises(BehindError):
            channel.take(Place(cursor))
    assert [data(one)["cursor"] for one in channel.take(Place(3))] == [4]


def test_the_size_of_the_ring_follows_its_setting() -> None:
    feed = Feed(ring=1)
    feed.ring = 2
    channel = feed.join("c-1")
    commit(feed, 1, 2, 3)
    assert [data(one)["cursor"] for one in channel.take(Place(1))] == [2, 3]


def test_a_draft_grows_for_those_who_read_and_comes_whole_to_those_who_join() -> None:
    feed, early, late = Feed(), Place(0), Place(0)
    channel = feed.join("c-1")
    feed.draft("c-1", "m-1", "a-1", "one ")
    assert data(channel.take(early)[0]) == {
        "delivery_id": "m-1",
        "attempt": "a-1",
        "seq": 1,
        "text": "one ",
    }
    feed.draft("c-1", "m-1", "a-1", "two ")
    feed.draft("c-1", "m-1", "a-1", "three")
    assert data(channel.take(early)[0])["text"] == "two three"
    assert data(channel.take(late)[0])["text"] == "one two three"
    assert channel.take(early) == channel.take(late) == []


def test_a_frame_of_a_draft_is_made_once_for_all_readers() -> None:
    feed = Feed()
    channel = feed.join("c-1")
    feed.draft("c-1", "m-1", "a-1", "word")
    assert channel.take(Place(0))[0] is channel.take(Place(0))[0]


def test_a_draft_ends_with_its_answer_or_without_one() -> None:
    feed, place = Feed(), Place(0)
    channel = feed.join("c-1")
    feed.draft("c-1", "m-1", "a-1", "word")
    channel.take(place)
    commit(feed, 1)
    feed.draft_end("c-1", "a-0")
    assert [one[:3] for one in channel.take(place)] == [b"id:"]
    feed.draft_end("c-1", "a-1")
    assert channel.take(place) == [b'event: draft_end\ndata: {"attempt": "a-1"}\n\n']
    assert channel.take(place) == []


def test_the_next_draft_takes_the_place_of_one_that_was_never_ended() -> None:
    feed, place = Feed(), Place(0)
    channel = feed.join("c-1")
    feed.draft("c-1", "m-1", "a-1", "word")
    channel.take(place)
    feed.draft("c-1", "m-2", "a-2", "other")
    ended, begun = channel.take(place)
    assert data(ended) == {"attempt": "a-1"}
    assert data(begun)["text"] == "other"


def test_nothing_is_missed_between_a_look_and_a_wait() -> None:
    feed = Feed()
    channel = feed.join("c-1")
    changes: list[Callable[[], None]] = [
        lambda: commit(feed, 1),
        lambda: feed.draft("c-1", "m-1", "a-1", "x"),
        lambda: feed.draft_end("c-1", "a-1"),
        feed.close,
    ]
    for change in changes:
        waiter = channel.waiter()
        assert not waiter.is_set()
        change()
        assert waiter.is_set()


def test_a_row_that_changed_without_an_event_is_news_for_lists_only() -> None:
    feed = Feed()
    waiter, listed = feed.join("c-1").waiter(), feed.listed()
    feed.published([], frozenset({"c-1"}))
    assert not waiter.is_set()
    assert listed.is_set()


def test_a_channel_lives_as_long_as_somebody_reads_or_speaks() -> None:
    feed = Feed()
    first, second = feed.join("c-1"), feed.join("c-1")
    assert first is second
    feed.leave("c-1")
    feed.draft("c-1", "m-1", "a-1", "x")
    feed.leave("c-1")
    assert feed.channel("c-1") is first
    feed.draft_end("c-1", "a-1")
    assert feed.channel("c-1") is not first
    feed.draft_end("c-2", "a-1")
    commit(feed, 1, conversation="c-3")
    assert feed.channel("c-3").take(Place(0)) == []


def test_the_list_of_what_changed_is_short_and_complete() -> None:
    feed = Feed()
    commit(feed, 1, conversation="c-1")
    version, changed = feed.changed_since(0)
    assert changed == ["c-1"]
    waiter = feed.listed()
    commit(feed, 1, conversation="c-2")
    commit(feed, 2, conversation="c-1")
    assert waiter.is_set()
    assert sorted(feed.changed_since(version)[1]) == ["c-1", "c-2"]
    latest, _ = feed.changed_since(version)
    assert feed.changed_since(latest) == (latest, [])
    quiet = feed.listed()
    feed.published([], frozenset())
    assert not quiet.is_set()
    feed.close()
    assert quiet.is_set()


def test_a_channel_without_events_has_nothing_to_give() -> None:
    channel = Channel(4)
    assert channel.take(Place(3)) == []
    assert channel.idle


def test_what_was_purged_is_not_given_from_memory() -> None:
    # proves: DAY-2
    feed = Feed()
    channel = feed.join("c-1")
    commit(feed, 1, 2)
    feed.forget("c-1")
    assert channel.take(Place(0)) == []
    feed.forget("nobody reads this one")
    commit(feed, 3)
    with pytest.raises(BehindError):
        channel.take(Place(1))
    assert [data(one)["cursor"] for one in channel.take(Place(2))] == [3]
