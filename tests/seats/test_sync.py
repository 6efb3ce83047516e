"""What a harness wrote is sent once, in order, and nothing of it is read twice."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from clankie.core.seat import delivery_uuid
from clankie.seats import sync as syncing
from clankie.seats import tail
from clankie.seats.folder import Folder, made
from clankie.seats.journal import Journal
from clankie.seats.registration import Seated, ServiceRefusedError
from clankie.seats.sync import Source, notice, sync
from clankie.seats.tail import TranscriptRefusedError
from clankie.seats.unix import WireError
from fakes.clock import FakeClock
from fakes.seat_service import event
from fakes.transcript import FakeTranscripts
from fakes.unix_service import UnixService

SEATED = Seated(
    seat="s-1",
    token="the-token",
    conversation="global-default",
    harness="claude",
    session_id="native-1",
    pid=1,
)
STOP = {"hook_event_name": "Stop"}


@pytest.fixture
def transcripts(state: Path, monkeypatch: pytest.MonkeyPatch) -> FakeTranscripts:
    folder = state / "projects"
    folder.mkdir()
    found = FakeTranscripts(folder)
    monkeypatch.setattr(syncing, "reading", lambda _: found)
    return found


@pytest.fixture
def source(transcripts: FakeTranscripts) -> Source:
    return Source(path=str(transcripts.folder / "t.jsonl"), session_id="native-1", environment={})


Write = Callable[..., None]


@pytest.fixture
def write(source: Source) -> Write:
    def append(*names: str, **more: object) -> None:
        with Path(source.path).open("a") as file:
            file.writelines(json.dumps({"id": name, **more}) + "\n" for name in names)

    return append


def sent(unix: UnixService) -> list[str]:
    return [row["id"] for one in unix.to("/transcript") for row in one.body["entries"]]


def test_new_rows_are_sent_with_the_seats_token(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    write("r1", "r2", text="hello")
    done = sync(granted, SEATED, source, STOP)
    [asked] = unix.to("/transcript")
    assert (asked.path, asked.token) == ("/v1/seats/s-1/transcript", "the-token")
    assert asked.body["session_id"] == "native-1"
    assert [row["text"] for row in asked.body["entries"]] == ["hello", "hello"]
    assert asked.body["activity"] == "waiting"
    assert done.sent == 2


def test_only_what_is_new_is_read(
    granted: Folder,
    unix: UnixService,
    source: Source,
    write: Write,
    transcripts: FakeTranscripts,
) -> None:
    write(*(f"old-{n}" for n in range(5_000)), text="x" * 100)
    while sync(granted, SEATED, source).more:
        pass
    unix.asked.clear()
    transcripts.read = 0
    write("new")
    sync(granted, SEATED, source)
    assert sent(unix) == ["new"]
    assert transcripts.read < 100


def test_rows_go_out_by_the_hundred_and_the_turn_is_told_with_the_last(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    write(*(f"r{n}" for n in range(250)))
    sync(granted, SEATED, source, STOP)
    bodies = [one.body for one in unix.to("/transcript")]
    assert [len(body["entries"]) for body in bodies] == [100, 100, 50]
    assert [body.get("activity") for body in bodies] == [None, None, "waiting"]


def test_rows_go_out_within_the_bound_of_bytes(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    write(*(f"r{n}" for n in range(60)), text="ü" * 16_000)
    sync(granted, SEATED, source)
    bodies = [one.body for one in unix.to("/transcript")]
    assert len(bodies) > 1
    assert all(len(json.dumps(body)) <= 768 * 1024 for body in bodies)
    assert len(sent(unix)) == 60


def test_long_text_is_cut_and_says_so(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    write("r1", text="y" * 20_000)
    sync(granted, SEATED, source)
    [row] = unix.to("/transcript")[0].body["entries"]
    assert len(row["text"]) == 16_384
    assert "20000 characters" in row["text"]


def test_what_the_service_did_not_take_is_sent_again(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    write(*(f"r{n}" for n in range(250)))
    away = (503, {"code": "service_shutting_down", "detail": "It stops."})
    unix.answers["transcript"] = [(200, {}), away]
    with pytest.raises(ServiceRefusedError):
        sync(granted, SEATED, source)
    unix.asked.clear()
    sync(granted, SEATED, source)
    assert sent(unix) == [f"r{n}" for n in range(100, 250)]


def test_rows_of_one_line_are_sent_again_together(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    write("a")
    write("b", rows=150)
    unix.answers["transcript"] = [(200, {}), (503, {})]
    with pytest.raises(ServiceRefusedError):
        sync(granted, SEATED, source)
    unix.asked.clear()
    sync(granted, SEATED, source)
    assert sent(unix)[0] == "b"
    assert len(sent(unix)) == 150


def test_without_a_service_nothing_is_lost(
    granted: Folder, state: Path, source: Source, write: Write
) -> None:
    write("r1")
    with pytest.raises(WireError):
        sync(granted, SEATED, source)
    unix = UnixService(state)
    sync(granted, SEATED, source)
    assert sent(unix) == ["r1"]
    unix.stop()


def test_a_row_that_the_service_calls_wrong_is_left_out_alone_and_counted(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    write("r0", "r1", "r2")
    wrong = (422, {"code": "invalid_field", "detail": "No."})
    unix.answers["transcript"] = [wrong, (200, {}), wrong]
    done = sync(granted, SEATED, source, STOP)
    assert (done.sent, done.refused) == (2, 1)
    bodies = [one.body for one in unix.to("/transcript")[1:]]
    assert [[row["id"] for row in body["entries"]] for body in bodies] == [
        ["r0"],
        ["r1"],
        ["r2"],
        [],
    ]
    # What the turn does is so, whatever its rows are.
    assert [body.get("activity") for body in bodies] == [None, None, None, "waiting"]
    unix.asked.clear()
    sync(granted, SEATED, source)
    assert sent(unix) == []


def test_characters_that_the_service_takes_from_nobody_are_replaced(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    write("r1", text="a\0b \ud83d c")
    sync(granted, SEATED, source)
    [asked] = unix.to("/transcript")
    assert [row["text"] for row in asked.body["entries"]] == ["a\ufffdb ? c"]


def test_a_conflict_is_not_swallowed(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    write("r1")
    unix.answers["transcript"] = [(409, {"code": "session_conflict", "detail": "No."})]
    with pytest.raises(ServiceRefusedError, match="session_conflict"):
        sync(granted, SEATED, source)


def test_a_turns_end_is_told_without_new_rows(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    write("r1")
    sync(granted, SEATED, source)
    unix.asked.clear()
    sync(granted, SEATED, source, STOP)
    [asked] = unix.to("/transcript")
    assert (asked.body["entries"], asked.body["activity"]) == ([], "waiting")
    sync(granted, SEATED, source)
    assert len(unix.to("/transcript")) == 1


def test_the_rows_themselves_may_say_what_the_session_does(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    write("r1", activity="responding")
    sync(granted, SEATED, source)
    assert unix.to("/transcript")[0].body["activity"] == "responding"


def test_a_run_reads_a_bounded_part_and_says_that_there_is_more(
    granted: Folder,
    unix: UnixService,
    source: Source,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tail, "RUN", 1_000)
    write(*(f"r{n}" for n in range(100)))
    first = sync(granted, SEATED, source, STOP)
    assert first.more
    assert "activity" not in unix.to("/transcript")[-1].body, "not before all that came before it"
    while sync(granted, SEATED, source, STOP).more:
        pass
    assert sent(unix) == [f"r{n}" for n in range(100)]
    assert unix.to("/transcript")[-1].body["activity"] == "waiting"


def test_what_was_written_before_a_resumed_session_sat_down_is_not_sent(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    write("before")
    notice(granted, SEATED, source, "resume")
    write("after")
    sync(granted, SEATED, source)
    assert sent(unix) == ["after"]


def test_a_fresh_session_is_sent_from_its_first_row(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    write("first")
    notice(granted, SEATED, source, "startup")
    sync(granted, SEATED, source)
    assert sent(unix) == ["first"]


def test_a_resumed_seat_whose_first_hook_was_lost_begins_at_the_end(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    granted.write("place.json", {"harness": "claude", "resume": ""})
    write("before")
    sync(granted, SEATED, source)
    write("after")
    sync(granted, SEATED, source)
    assert sent(unix) == ["after"]


def test_a_seat_goes_on_where_an_earlier_one_of_the_same_session_stopped(
    granted: Folder, unix: UnixService, source: Source, write: Write
) -> None:
    Journal(granted, FakeClock()).begin(event("m-1"), "binding")
    write("r1")
    sync(granted, SEATED, source)
    uuid = delivery_uuid("m-1", 1)
    write(uuid, "r2")
    later = made(granted.home, "seat-2")
    later.write("place.json", {"harness": "claude", "resume": "native-1"})
    unix.asked.clear()
    notice(later, replace(SEATED, seat="s-2"), source, "resume")
    write("r3")
    sync(later, replace(SEATED, seat="s-2"), source)
    assert sent(unix) == [uuid, "r2", "r3"]
    [row, *_] = unix.to("/transcript")[0].body["entries"]
    assert row["delivery_evidence"] == {
        "event": "m-1",
        "attempt": 1,
        "proof": "uuid",
        "value": uuid,
    }


def test_a_path_that_is_not_the_harnesss_own_is_refused(
    granted: Folder, unix: UnixService, source: Source, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text('{"id": "secret"}\n')
    with pytest.raises(TranscriptRefusedError):
        sync(granted, SEATED, replace(source, path=str(tmp_path / "secret")))
    assert unix.asked == []


def test_a_transcript_that_is_not_there_yet_only_tells_the_turn(
    granted: Folder, unix: UnixService, source: Source
) -> None:
    sync(granted, SEATED, source, STOP)
    assert [one.body["activity"] for one in unix.to("/transcript")] == ["waiting"]
