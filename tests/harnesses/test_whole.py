"""The real thing from end to end: the service, `clankie seat open`, and each real harness."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clankie.cli.client import Client
from clankie.cli.wire import Address
from clankie.host.clock import SystemClock
from harnesses.claude_lab import Lab
from harnesses.codex_seat import codex
from harnesses.install import Harnesses
from harnesses.model import Model

CLOCK = SystemClock()
PATIENCE = 60.0
Environment = Callable[[Path, Harnesses, Model], Mapping[str, str]]


def _claude(root: Path, harnesses: Harnesses, model: Model) -> Mapping[str, str]:
    return Lab(root, model, harnesses.claude).environment


def _codex(root: Path, harnesses: Harnesses, model: Model) -> Mapping[str, str]:
    return codex(root, harnesses, model).place.environment


def _pi(root: Path, harnesses: Harnesses, model: Model) -> Mapping[str, str]:
    agent = root / "home" / ".pi" / "agent"
    agent.mkdir(parents=True)
    (root / "work").mkdir()
    scripted = {
        "baseUrl": f"{model.url}/v1",
        "api": "openai-completions",
        "apiKey": "any",
        "models": [{"id": "scripted-1", "contextWindow": 128000, "maxTokens": 4000}],
    }
    (agent / "models.json").write_text(json.dumps({"providers": {"scripted": scripted}}))
    choice = {"defaultProvider": "scripted", "defaultModel": "scripted-1"}
    (agent / "settings.json").write_text(json.dumps(choice))
    return {
        "PATH": f"{harnesses.pi.parent}:{os.environ['PATH']}",
        "HOME": str(root / "home"),
        "PI_CODING_AGENT_DIR": str(agent),
        "PI_OFFLINE": "1",
        "PI_TELEMETRY": "0",
        "PI_SKIP_VERSION_CHECK": "1",
    }


HOMES: dict[str, Environment] = {"claude": _claude, "codex": _codex, "pi": _pi}


@dataclass
class Whole:
    """A running service, and a person's command line."""

    home: Path
    environment: Mapping[str, str]
    model: Model
    client: Client
    work: Path

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
    service = subprocess.Popen(
        [sys.executable, "-P", "-m", "clankie", "serve"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert service.stdout is not None
    try:
        assert json.loads(service.stdout.readline())["ready"]
        token = (home / "operator.token").read_text().strip()
        address = Address(token, socket_path=str(home / "service.sock"))
        yield Whole(home, environment, model, Client(address), root / "person" / "work")
    finally:
        subprocess.run(["tmux", "kill-server"], env=environment, check=False, capture_output=True)
        service.terminate()
        service.wait(60)
        service.stdout.close()
        shutil.rmtree(root, ignore_errors=True)


def opened(whole: Whole, name: str, conversation: str, *more: str) -> dict[str, Any]:
    """The seat, once it listens."""
    whole.run("seat", "open", name, "--conversation", conversation, "--detached", *more)
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
