"""A service in a process of its own, and the place it lives in, which outlives it."""

import json
import os
import select
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any, Self

from process import checker
from process.model import ModelServer
from process.processes import Cold, Forked, Process
from process.wire import TIMEOUT, Answer, Client, GoneError

ROOT = Path(__file__).resolve().parents[2]


class Lines:
    """Whole lines from a pipe, each waited for within a bound."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""

    def next(self) -> str | None:
        """The next line; None at the end of the pipe."""
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._descriptor], [], [], TIMEOUT)
            assert ready, "nothing came on the pipe"
            data = os.read(self._descriptor, 65_536)
            if not data:
                return None
            self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()


class Service:
    """One started process. It ends with this object, or with the process that made it."""

    def __init__(self, home: Path, process: Process, errors: Path) -> None:
        self.home = home
        self.process = process
        self.errors = errors
        self.ready: dict[str, Any] = {}
        self.client = Client(home)
        self._answers = Lines(process.answers)
        self._output = Lines(process.output)
        self._status: int | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_ready(self) -> Self:
        """Until the ready line came. Fails with what the process said when it ends before."""
        line = self._output.next()
        assert line is not None, f"it ended before it was ready: {self.said()}"
        self.ready = json.loads(line)
        return self

    def said(self) -> str:
        """Everything on standard error so far."""
        return self.errors.read_text(encoding="utf-8")

    def rest_of_output(self) -> list[str]:
        """What came on standard output after the ready line; call it when the process has ended."""
        lines: list[str] = []
        while (line := self._output.next()) is not None:
            lines.append(line)
        return lines

    def tell(self, verb: str, *arguments: object) -> None:
        """Have the process do something, and wait until it has."""
        os.write(self.process.commands, json.dumps([verb, *arguments]).encode() + b"\n")
        assert self.heard() == "done"

    def heard(self) -> str | None:
        """The next thing that it tells the test."""
        return self._answers.next()

    def die_at(self, point: str, nth: int = 1) -> None:
        """Have it killed at the nth passing of a crash point from now on."""
        self.tell("arm", point, nth)

    def wait_at(self, point: str) -> None:
        """Until it stands at the point where it was told to pause."""
        assert self.heard() == f"at {point}"

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        self.process.signal(signal.SIGKILL)
        self.ended()

    def ended(self) -> int:
        """The exit status, once it has ended; negative for a signal."""
        if self._status is None:
            self._status = self.process.wait()
        return self._status

    @property
    def name(self) -> str:
        """Which of the services of its place it is."""
        return self.errors.stem

    def terminate(self) -> None:
        """SIGTERM."""
        self.process.signal(signal.SIGTERM)

    def close(self) -> None:
        """Whatever it does, it is gone afterwards."""
        if self._status is None:
            self.kill()
        self.process.close()


class Place:
    """A state directory with its model server and its record of effects. Starts services in it.

    It also remembers what the services promised, for the check at the end.
    """

    def __init__(self, model: ModelServer | None = None) -> None:
        # Short: the path of a unix socket may have about a hundred characters.
        self.root = Path(tempfile.mkdtemp(prefix="ck-"))
        self.home = self.root / "home"
        self.effects = self.root / "effects"
        self.promised: set[str] = set()
        self.services: list[Service] = []
        self.model = model or ModelServer()

    def __enter__(self) -> Self:
        self.model.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        for service in self.services:
            service.close()
        self.model.__exit__()
        shutil.rmtree(self.root)

    @property
    def database(self) -> Path:
        return self.home / "clankie.db"

    def environ(self, **more: str) -> dict[str, str]:
        """The environment of a service: nothing of ours but what it needs."""
        return {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.root),
            "PYTHONPATH": str(ROOT / "tests"),
            "PYTHONDONTWRITEBYTECODE": os.environ.get("PYTHONDONTWRITEBYTECODE", ""),
            "CLANKIE_HOME": str(self.home),
            "CLANKIE_PORT": "0",
            "CLANKIE_MODEL": "openai-chat:scripted",
            "CLANKIE_MODEL_BASE_URL": self.model.base_url,
            "CLANKIE_TEST_EFFECTS": str(self.effects),
            **more,
        }

    def begin(self, **environ: str) -> Service:
        """Start the tests' own service, and do not wait for it."""
        return self._begun(Forked, ["serve"], environ)

    def start(self, **environ: str) -> Service:
        """Start the tests' own service, and wait until it is ready."""
        return self.begin(**environ).wait_ready()

    def run(self, *arguments: str, **environ: str) -> Service:
        """Start the program itself, from cold, and do not wait for it."""
        return self._begun(Cold, ["cli", *arguments], environ)

    def done(self, *arguments: str) -> int:
        """The exit status of a command of the program."""
        return self.run(*arguments).ended()

    def refused(self, **environ: str) -> str:
        """What a service says that does not start: one sentence for people, and status 1."""
        service = self.begin(**environ)
        assert service.ended() == 1, service.said()
        assert not service.rest_of_output()
        said = service.said()
        assert said.startswith("clankie: "), said
        assert said.count("\n") == 1, said
        return said

    def _begun(
        self, kind: type[Cold | Forked], arguments: list[str], environ: dict[str, str]
    ) -> Service:
        errors = self.root / f"{len(self.services)}.stderr"
        process = kind(arguments, self.environ(**environ), errors)
        self.services.append(Service(self.home, process, errors))
        return self.services[-1]

    def send(self, service: Service, delivery: str, command: str, **fields: Any) -> Answer | None:
        """Offer the input `COMMAND [DELIVERY]`; None when no answer came because it died."""
        try:
            answer = service.client.send(delivery, f"{command} [{delivery}]", **fields)
        except GoneError:
            return None
        assert answer.status in {200, 202}, answer
        self.promised.add(delivery)
        return answer

    def account(self, service: Service) -> checker.Account:
        """Stop it in good order, then hold all that was promised against what is there."""
        service.terminate()
        assert service.ended() == 0, service.said()
        account = checker.check(self.database, self.effects, self.promised)
        for mark, times in self.model.asked.items():
            if times > account.started[mark]:
                said = f"{mark}: asked {times} times, started {account.started[mark]} times"
                account.violations.append(said)
        for one in self.services:
            defects = [line for line in one.said().splitlines() if '"level": "error"' in line]
            account.violations += [f"process {one.name}: {line}" for line in defects]
        return account

    def finish(self, service: Service) -> checker.Account:
        """The account of a service that did nothing wrong."""
        account = self.account(service)
        assert not account.violations, "\n".join(account.violations)
        return account
