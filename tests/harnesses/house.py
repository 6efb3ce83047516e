"""The real service in a process of its own, and the command line beside it, for real harnesses."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clankie.cli.client import Client
from clankie.cli.wire import Address
from fakes.until import until

ROOT = Path(__file__).parents[2]


@dataclass
class House:
    """A service with a home of its own; `environment` is the person's at the command line.

    `directory` is where they are.
    """

    home: Path
    environment: dict[str, str]
    directory: Path
    _process: subprocess.Popen[bytes] | None = None
    _seats: list[dict[str, Any]] = field(default_factory=list)

    @property
    def client(self) -> Client:
        """The operator's way in."""
        token = (self.home / "operator.token").read_text().strip()
        return Client(Address(token, socket_path=str(self.home / "service.sock")))

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        await asyncio.to_thread(self._start)

    async def kill(self) -> None:
        """kill -9."""
        await asyncio.to_thread(self._end, signal.SIGKILL)

    async def stop(self) -> None:
        """End it in good order, and what was opened with it before."""
        await asyncio.to_thread(self._stop)

    def _start(self) -> None:
        with (self.home / "service.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "clankie", "serve"],
                env=self._env(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        # It prints one line, when it is ready, and nothing after it.
        with self._process.stdout as output:
            output.readline()

    def _end(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()

    def _stop(self) -> None:
        with suppress(FileNotFoundError):
            subprocess.run(
                ["tmux", "kill-server"], env=self.environment, capture_output=True, check=False
            )
        for opened in self._seats:
            with suppress(ProcessLookupError, KeyError):
                os.kill(opened["driver"], signal.SIGTERM)
        self._end(signal.SIGTERM)

    async def run(self, *arguments: str) -> dict[str, Any]:
        """What a command prints as JSON."""
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-P", "-m", "clankie", *arguments, "--json"],
            env=self._env(),
            cwd=self.directory,
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    async def open(self, harness: str, *arguments: str) -> dict[str, Any]:
        """Open a seat; its row in the roster once it is there."""
        opened = await self.run("seat", "open", harness, "--detached", *arguments)
        self._seats.append(opened)
        return await until(lambda: self.seat(opened["conversation"]), why=self.log)

    def seat(self, conversation: str) -> dict[str, Any]:
        """The roster's row of the seat that drives this conversation and listens; else nothing."""
        rows: list[dict[str, Any]] = self.client.get("/v1/seats")["seats"]
        found = [
            one
            for one in rows
            if one.get("conversation") == conversation and one["state"] in {"live", "holding"}
        ]
        return found[0] if found else {}

    def tmux(self, *arguments: str) -> None:
        """What a person does in the terminal of a seat."""
        subprocess.run(["tmux", *arguments], env=self.environment, check=True, capture_output=True)

    def log(self) -> str:
        """What the service and the seats wrote about themselves."""
        files = [self.home / "service.log", *self.home.glob("seats/*/*.log")]
        return "\n".join(one.read_text(errors="replace")[-2000:] for one in files if one.exists())

    def send(self, conversation: str, text: str, **more: Any) -> dict[str, Any]:
        """An owner's message; its receipt as it stands."""
        body = {"delivery_id": f"d-{os.urandom(6).hex()}", "text": text, **more}
        return dict(self.client.post(f"/v1/conversations/{conversation}/inputs", body)["delivery"])

    def delivery(self, name: str) -> dict[str, Any]:
        """A receipt."""
        return dict(self.client.get(f"/v1/deliveries/{name}"))

    def events(self, conversation: str) -> list[dict[str, Any]]:
        """The log, oldest first."""
        found = self.client.get(f"/v1/conversations/{conversation}/events?limit=500")
        return list(found["events"])

    def _env(self) -> Mapping[str, str]:
        ours = {
            "CLANKIE_HOME": str(self.home),
            "CLANKIE_PORT": "0",
            "CLANKIE_CREDENTIALS": "file",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
            "PYTHONPATH": f"{ROOT / 'src'}",
        }
        return {**self.environment, **ours}


@asynccontextmanager
async def house(environment: Mapping[str, str], directory: Path) -> AsyncGenerator[House]:
    """A running service; what was opened with it ends with it."""
    with tempfile.TemporaryDirectory(prefix="clk-", ignore_cleanup_errors=True) as folder:
        one = House(Path(folder), {**environment, "TMUX_TMPDIR": folder}, directory)
        try:
            await one.start()
            yield one
        finally:
            await one.stop()
