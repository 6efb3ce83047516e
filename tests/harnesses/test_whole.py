"""The real thing from end to end: the service, `clankie seat open`, and each real harness."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from clankie.cli.client import Client
from clankie.cli.wire import Address
from clankie.host.clock import SystemClock
from clankie.seats.process import alive
from harnesses.homes import HOMES
from harnesses.install import Harnesses
from harnesses.model import Model

CLOCK = SystemClock()
PATIENCE = 60.0


@dataclass
class Whole:
    """A running service, and a person's command line."""

    home: Path
    environment: Mapping[str, str]
    model: Model
    work: Path
    service: subprocess.Popen[bytes] = field(init=False)
    client: Client = field(init=False)

    def start(self) -> None:
        """Start the service."""
        self.service = subprocess.Popen(
            [sys.executable, "-P", "-m", "clankie", "serve"],
            env=dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.service.stdout is not None
        assert json.loads(self.service.stdout.readline())["ready"]
        token = (self.home / "operator.token").read_text().strip()
        self.client = Client(Address(token, socket_path=str(self.home / "service.sock")))

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it."""
        self.service.send_signal(number)
        self.service.wait(60)
        assert self.service.stdout is not None
        self.service.stdout.close()

    def restart(self) -> None:
        """Kill it, and start it again."""
        self.stop(signal.SIGKILL)
        self.start()

    def run(self, *arguments: str) -> Any:
        """A command with --json; what it said."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "clankie", *arguments, "--json"],
            env=dict(self.environment),
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return json.loads(done.stdout)

    def say(self, conversation: str, delivery: str, text: str) -> dict[str, Any]:
        """Send a message, and wait for what becomes of it."""
        body = {"delivery_id": delivery, "text": text}
        self.client.post(f"/v1/conversations/{conversation}/inputs", body)
        found = self.client.get(f"/v1/deliveries/{delivery}", wait=30, timeout=60)
        return dict(found.get("delivery", found))

    def log(self, conversation: str) -> list[tuple[str, str]]:
        """Who said what."""
        page = self.client.get(f"/v1/conversations/{conversation}/events", limit=500)
        found = [one for one in page["events"] if one["kind"] == "message"]
        return [(str(one["role"]), str(one["text"])) for one in found]

    def seats(self, conversation: str) -> list[dict[str, Any]]:
        found = self.client.get("/v1/seats")["seats"]
        return [one for one in found if one.get("conversation") == conversation]

    def told(self) -> str:
        """What the seats wrote about themselves, for a failure."""
        logs = sorted(self.home.glob("seats/*/*.log"))
        return "\n".join(f"{one}:\n{one.read_text()[-3000:]}" for one in logs)

    def until(self, found: Callable[[], Any]) -> Any:
        """Wait for it: other programs send us no event."""
        end = CLOCK.monotonic() + PATIENCE
        while not (value := found()):
            if CLOCK.monotonic() > end:
                raise TimeoutError(f"it never came:\n{self.told()}")
            asyncio.run(CLOCK.sleep(0.1))
        return value


@pytest.fixture(params=sorted(HOMES))
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def whole(name: str, harnesses: Harnesses, model: Model) -> Iterator[Whole]:
    # A socket's path is at most 107 bytes long, so no directory of pytest's.
    root = Path(tempfile.mkdtemp(prefix="clk-"))
    home = root / "state"
    environment = {
        **HOMES[name](root / "person", harnesses, model),
        "CLANKIE_HOME": str(home),
        "CLANKIE_PORT": "0",
        "CLANKIE_MODEL": "practice",
        "CLANKIE_CREDENTIALS": "file",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "TMUX_TMPDIR": str(root),
    }
    for one in ("CLANKIE_SEAT_GRANT", "CLANKIE_STAND_IN"):
        environment.pop(one, None)
    found = Whole(home, environment, model, root / "person" / "work")
    found.start()
    try:
        yield found
    finally:
        subprocess.run(["tmux", "kill-server"], env=environment, check=False, capture_output=True)
        found.stop()
        for record in home.glob("seats/*/codex.json"):
            kept = json.loads(record.read_text())
            if alive(kept["pid"], kept["began"]):
                os.kill(kept["pid"], signal.SIGKILL)
        shutil.rmtree(root, ignore_errors=True)


def opened(whole: Whole, name: str, conversation: str, *more: str) -> dict[str, Any]:
    """The seat, once it listens."""
    harness, *manner = name.split()
    whole.run("seat", "open", harness, *manner, "--conversation", conversation, "--detached", *more)
    found = whole.until(
        lambda: [one for one in whole.seats(conversation) if one["state"] == "live"]
    )
    return dict(found[0])


# proves: HAND-2, HAND-5, SEAT-3, SERV-1
def test_a_seat_reads_the_log_answers_and_leaves_the_rest_to_the_service(
    whole: Whole, name: str
) -> None:
    made = whole.client.post(
        "/v1/conversations", {"request_id": "r-1", "name": "whole", "kind": "global"}
    )
    conversation = str(made["id"])
    before = whole.say(conversation, "m-1", "The password is swordfish.")
    assert before["attempts"][0]["destination"]["kind"] == "service"

    seat = opened(whole, name, conversation)
    answered = whole.say(conversation, "m-2", "~say from the seat")
    assert answered["state"] == "settled", (answered, whole.told())
    assert answered["attempts"][0]["destination"]["kind"] == "seat"
    assert whole.log(conversation)[-2:] == [
        ("owner", "~say from the seat"),
        ("agent", "from the seat"),
    ]
    [asked] = whole.model.fresh("~say from the seat")
    assert "swordfish" in asked.text, "the session began with the log"

    whole.run("seat", "retire", str(seat["seat"]))
    after = whole.say(conversation, "m-3", "Are you still there?")
    assert after["state"] == "settled"
    assert after["attempts"][-1]["destination"]["kind"] == "service"


def pump_of(whole: Whole, seat: Mapping[str, Any]) -> int:
    """The process that pumps for a seat: its driver, else the bridge below the harness."""
    found = [one for one in Path("/proc").iterdir() if one.name.isdigit()]
    drivers = [
        one
        for one in found
        if _words(one)[-3:-1] == ["seat", "drive"] and str(whole.home) in _words(one)[-1]
    ]
    bridges = [
        one
        for one in found
        if _words(one)[-1:] == ["bridge"] and _parent(one) == seat["native"]["pid"]
    ]
    return int((drivers or bridges)[0].name)


def _words(process: Path) -> list[str]:
    try:
        return (process / "cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


def _parent(process: Path) -> int:
    return int((process / "stat").read_text().rpartition(")")[2].split()[1])


# proves: SEAT-7, HAND-3, HAND-5
def test_a_seat_that_was_away_is_told_once_what_happened(whole: Whole, name: str) -> None:
    made = whole.client.post(
        "/v1/conversations", {"request_id": "r-1", "name": "away", "kind": "global"}
    )
    conversation = str(made["id"])
    revision = whole.client.get("/v1/settings")["revision"]
    whole.client.patch(
        "/v1/settings", {"expected_revision": revision, "seats": {"hold": 1, "grace": 0, "poll": 1}}
    )
    seat = opened(whole, name, conversation)
    whole.say(conversation, "m-1", "~say first")
    pump = pump_of(whole, seat)
    os.kill(pump, signal.SIGSTOP)
    whole.until(lambda: whole.seats(conversation)[0]["state"] == "absent")
    alone = whole.say(conversation, "m-2", "The password is swordfish.")
    assert alone["attempts"][-1]["destination"]["kind"] == "service"
    os.kill(pump, signal.SIGCONT)
    whole.until(lambda: whole.model.fresh("swordfish"))
    # From here on a pause between two polls is no absence.
    revision = whole.client.get("/v1/settings")["revision"]
    whole.client.patch(
        "/v1/settings", {"expected_revision": revision, "seats": {"hold": 60, "grace": 60}}
    )
    whole.until(lambda: whole.seats(conversation)[0]["state"] == "live")
    back = whole.say(conversation, "m-3", "~say back again")
    assert back["attempts"][-1]["destination"]["kind"] == "seat", (back, whole.told())
    whole.until(lambda: any(text.startswith("back again") for _, text in whole.log(conversation)))
    assert len(whole.model.fresh("swordfish")) == 1, "told once"
    spans = [
        one["phase"]
        for one in whole.client.get(f"/v1/conversations/{conversation}/events", limit=500)["events"]
        if one["kind"] == "handoff"
    ]
    assert spans[-1] == "delivered", spans


# proves: FENCE-7
def test_a_service_that_was_killed_finds_its_seat_again(whole: Whole, name: str) -> None:
    made = whole.client.post(
        "/v1/conversations", {"request_id": "r-1", "name": "killed", "kind": "global"}
    )
    conversation = str(made["id"])
    opened(whole, name, conversation)
    whole.say(conversation, "m-1", "~say first")
    whole.restart()
    back = whole.say(conversation, "m-2", "~say second")
    assert back["attempts"][-1]["destination"]["kind"] == "seat", (back, whole.told())
    assert back["state"] == "settled"
    said = [text for role, text in whole.log(conversation) if role == "agent"]
    assert said == ["first", "second"]


# proves: FENCE-4
def test_a_pump_that_was_killed_injects_nothing_twice(whole: Whole, name: str) -> None:
    made = whole.client.post(
        "/v1/conversations", {"request_id": "r-1", "name": "dead", "kind": "global"}
    )
    conversation = str(made["id"])
    seat = opened(whole, name, conversation)
    whole.say(conversation, "m-1", "~say first")
    os.kill(pump_of(whole, seat), signal.SIGKILL)
    whole.until(lambda: whole.seats(conversation)[0]["state"] != "live")
    session = str(seat["native"]["session_id"])
    if name == "codex":
        # Its server outlived the driver, and still holds the session: it is the same seat.
        again = opened(whole, name, conversation, "--resume", session)
        assert again["seat"] == seat["seat"]
    else:
        whole.run("seat", "retire", str(seat["seat"]))
        again = opened(whole, name, conversation, "--resume", session)
        assert again["seat"] != seat["seat"]
    back = whole.say(conversation, "m-2", "~say second")
    assert back["attempts"][-1]["destination"]["kind"] == "seat", (back, whole.told())
    said = [text for role, text in whole.log(conversation) if role == "agent"]
    assert said == ["first", "second"]
    assert whole.log(conversation).count(("owner", "~say first")) == 1
