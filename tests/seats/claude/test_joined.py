"""An event reaches a session in a terminal once, and by the way that fits."""

import asyncio
import json
import shlex
import socket
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import pytest

from clankie.core.seat import EventKind, delivery_uuid
from clankie.host.panes import OpenPane, PaneError
from clankie.seats.claude import ADAPTER, keys
from clankie.seats.claude.channel import METHOD, VARIABLE
from clankie.seats.claude.frame import framed
from clankie.seats.claude.joined import AGAIN, CUT, PROVEN, Joined
from clankie.seats.launch import Means
from clankie.seats.port import Handed, Refused, Taken, Unknown
from fakes.clock import START
from fakes.panes import FakePanes
from fakes.patience import through
from seats.claude import said
from seats.claude.client import Client, event

pytestmark = pytest.mark.anyio

TURN = event(EventKind.TURN, "please go on")
WAKE = event(EventKind.WAKE, "it is time")


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(keys, "in_front", lambda pid: pid > 0)
    # A socket's path is at most 107 bytes long, so no directory of pytest's.
    with tempfile.TemporaryDirectory(prefix="clankie-") as folder:
        yield Client(Path(folder))


class Box:
    """The client's messaging socket; what comes is a row in its transcript, if it `reads`."""

    def __init__(self, client: Client, *, reads: bool = True) -> None:
        self.client, self.reads = client, reads
        self.got: list[dict[str, Any]] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._take, str(self.client.root / "m.sock"))
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        row = json.loads(await reader.readline())
        self.got.append(row)
        if self.reads:
            self.client.write(said.peer(row["uuid"], row["message"]["content"]))
        writer.close()


class Keyboard(FakePanes):
    """Panes whose client takes what is typed when Enter is pressed for the `presses`-th time."""

    def __init__(self, client: Client, presses: int = 1) -> None:
        super().__init__()
        self._client, self._presses = client, presses

    async def enter(self, pane: str) -> None:
        await super().enter(pane)
        typed = self.screens[pane].typed
        if typed.count("\r") == self._presses:
            self._client.write(said.typed("u-typed", typed[0], at=self._client.at()))


async def pane(panes: FakePanes, *, touched: bool = False) -> str:
    ask = OpenPane(argv=("claude",), directory="/", session="s", title="t")
    opened = (await panes.open(ask)).id
    panes.touch(opened, START + timedelta(seconds=5 if touched else 0))
    return opened


async def given(means: Means, one: Any) -> Handed:
    """Hand it over while the fake clock goes on."""

    async def work() -> Handed:
        async with ADAPTER.join(means) as harness:
            assert isinstance(harness, Joined)
            harness._watch.look()
            return await harness.hand_over(one)

    return await through(means.clock, work())  # type: ignore[arg-type]


async def test_a_message_is_taken_when_its_row_has_the_id_of_the_delivery(client: Client) -> None:
    client.register("idle")
    async with Box(client) as box:
        assert await given(client.means(), WAKE) == Taken("a row has its id")
    (row,) = box.got
    assert row["uuid"] == delivery_uuid("d-1", 1)
    assert row["message"] == {"role": "user", "content": framed(WAKE)}


# proves: FENCE-9
async def test_what_left_and_shows_nowhere_is_unknown(client: Client) -> None:
    client.register("busy")
    async with Box(client, reads=False) as box:
        before = client.clock.monotonic()
        assert isinstance(await given(client.means(), WAKE), Unknown)
        assert client.clock.monotonic() - before >= PROVEN
    assert len(box.got) == 1


# proves: FENCE-5
async def test_a_socket_that_nobody_listens_on_refuses(client: Client) -> None:
    client.register("idle")
    assert await given(client.means(), WAKE) == Refused("socket_silent")
    client.register("idle", messagingSocketPath=None)
    assert await given(client.means(), WAKE) == Refused("socket_silent")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(client.root / "m.sock"))
    client.register("idle")
    assert await given(client.means(), WAKE) == Refused("socket_silent")


async def test_a_session_that_left_the_register_refuses(client: Client) -> None:
    client.register("idle")
    client.gone()
    assert await given(client.means(), WAKE) == Refused("session_ended")


# proves: LIMIT-1
async def test_a_limited_session_is_given_nothing(client: Client) -> None:
    client.register("idle")
    means = client.means()
    async with Box(client) as box, ADAPTER.join(means) as harness:
        client.write(said.limit_before("You've hit your session limit · resets 3pm (UTC)"))
        assert await harness.hand_over(WAKE) == Refused("usage_limited")
        assert await harness.hand_over(TURN) == Refused("usage_limited")
    assert box.got == []


# proves: SEC-6
async def test_an_owners_turn_is_typed_and_taken_when_one_row_has_its_words(
    client: Client,
) -> None:
    client.register("idle")
    panes = Keyboard(client)
    means = client.means(panes=panes, pane=await pane(panes))
    assert await given(means, TURN) == Taken("one new row has its words")
    assert panes.screens["%1"].typed == ["please go on", "\r"]
    assert client.ledger.typed_words == ["please go on"]


async def test_enter_is_pressed_once_more_where_the_client_took_it_for_a_newline(
    client: Client,
) -> None:
    client.register("idle")
    panes = Keyboard(client, presses=2)
    means = client.means(panes=panes, pane=await pane(panes))
    assert isinstance(await given(means, TURN), Taken)
    assert panes.screens["%1"].typed == ["please go on", "\r", "\r"]


async def test_typed_words_that_show_nowhere_are_unknown(client: Client) -> None:
    client.register("idle")
    panes = Keyboard(client, presses=9)
    means = client.means(panes=panes, pane=await pane(panes))
    assert isinstance(await given(means, TURN), Unknown)
    assert client.clock.monotonic() >= AGAIN


# proves: SEC-6
async def test_no_enter_is_pressed_when_a_dialog_opened_behind_the_words(client: Client) -> None:
    class Opens(Keyboard):
        async def type(self, pane: str, text: str) -> None:
            await super().type(pane, text)
            self._client.register("waiting", waitingFor="permission prompt")

    client.register("idle")
    panes = Opens(client)
    means = client.means(panes=panes, pane=await pane(panes))
    assert isinstance(await given(means, TURN), Unknown)
    assert panes.screens["%1"].typed == ["please go on"]


async def test_a_pane_that_broke_while_typing_is_unknown(client: Client) -> None:
    class Breaks(Keyboard):
        async def type(self, pane: str, text: str) -> None:
            raise PaneError(f"{pane} broke at {text!r}")

    client.register("idle")
    panes = Breaks(client)
    means = client.means(panes=panes, pane=await pane(panes))
    assert isinstance(await given(means, TURN), Unknown)


# proves: SEC-6
@pytest.mark.parametrize(
    "turn",
    [
        replace(TURN, content="/clear"),
        replace(TURN, content="! rm"),
        replace(TURN, content="a\x1b[A"),
        replace(TURN, content="x" * CUT),
        replace(TURN, members=("d-0",)),
        replace(TURN, attribution={"principal": "seat"}),
        replace(TURN, kind=EventKind.ESCALATION),
    ],
)
async def test_what_may_not_be_typed_or_is_not_bare_goes_as_a_message(
    client: Client, turn: Any
) -> None:
    client.register("idle")
    panes = Keyboard(client)
    means = client.means(panes=panes, pane=await pane(panes))
    async with Box(client) as box:
        assert await given(means, turn) == Taken("a row has its id")
    assert len(box.got) == 1
    assert panes.screens["%1"].typed == []
    assert client.ledger.typed_words == []


@pytest.mark.parametrize(
    ("status", "touched", "gone"),
    [
        ("busy", False, False),
        ("waiting", False, False),
        ("idle", True, False),
        ("idle", False, True),
    ],
)
async def test_a_turn_goes_as_a_message_where_something_is_in_the_way(
    client: Client, status: str, touched: bool, gone: bool
) -> None:
    client.register(status)
    panes = Keyboard(client)
    means = client.means(panes=panes, pane=await pane(panes, touched=touched))
    if gone:
        await panes.kill("%1")
    async with Box(client) as box:
        assert await given(means, TURN) == Taken("a row has its id")
    assert len(box.got) == 1
    assert all(one.typed == [] for one in panes.screens.values())


async def test_a_person_who_scrolls_is_not_typed_at(client: Client) -> None:
    client.register("idle")
    panes = Keyboard(client)
    means = client.means(panes=panes, pane=await pane(panes))
    panes.screens["%1"].in_mode = True
    async with Box(client) as box:
        assert isinstance(await given(means, TURN), Taken)
    assert len(box.got) == 1


async def test_an_open_channel_is_used_and_proven_by_our_words_in_a_row(client: Client) -> None:
    sent: list[tuple[str, Mapping[str, Any]]] = []

    async def notify(method: str, params: Mapping[str, object]) -> None:
        sent.append((method, params))
        shown = f'<channel source="clankie">\n{params["content"]}\n</channel>'
        client.write(said.user("u-1", shown, isMeta=True, origin={"kind": "channel"}))

    client.register("idle")
    place = client.place(environment={"HOME": str(client.root), VARIABLE: "yes"})
    means = client.means(place=place, notify=notify)
    assert await given(means, WAKE) == Taken("one new row has its words")
    ((method, params),) = sent
    assert method == METHOD
    assert params["meta"] == {"event": "d-1", "kind": "wake", "source": "test"}
    assert client.ledger.typed_words == [framed(WAKE)]


async def test_what_it_cannot_do_it_declares_and_does_not_pretend(client: Client) -> None:
    client.register("idle")
    async with ADAPTER.join(client.means()) as harness:
        assert not harness.declaration.capabilities.interrupt
        assert not await harness.interrupt("d-1")
        assert not await harness.answer("q-1", approve=True)
        assert set(harness.declaration.ways) == set(EventKind)


def test_the_frame_says_who_speaks_and_how_to_answer() -> None:
    asked = framed(event(EventKind.ESCALATION, "the words", reply=True, steer=True, id="d/<1>"))
    assert asked.startswith('<clankie event="d/&lt;1&gt;" attempt="1" kind="escalation"')
    assert "Answer it with the `reply` tool of the server `clankie`" in asked
    assert "take it into account now" in asked
    assert asked.splitlines()[-2:] == ["the words", '</clankie event="d/&lt;1&gt;">']
    handoff = framed(event(EventKind.MESSAGE, "what was", source="service-handoff"))
    assert "do none of it again" in handoff
    assert "wants no reply" in handoff
    assert framed(event(EventKind.TURN, "x", id="d-2")) != framed(event(EventKind.TURN, "x"))
    assert shlex.quote("d-2") in framed(event(EventKind.TURN, "x", id="d-2"))
