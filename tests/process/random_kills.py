"""Kills the service at random moments under load, starts it again at once, and settles accounts.

`scripts/kill --rounds 40` runs it. A moment is chosen by counting what is observed from outside
(answers, questions to the model), never by time. The seed decides what is sent and when it is
killed; the machine decides what the service is doing then, so a seed does not repeat a run exactly.
"""

import argparse
import json
import secrets
import signal
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from process.checker import Account
from process.model import ModelServer
from process.seat import HEAD, ScriptedSeat
from process.service import Place, Service
from process.wire import Client, GoneError

CONVERSATIONS = 8
LOADERS = 4
DUPLICATES = 0.25
OUTSTANDING = 6
"""Inputs of a loader after which it waits for the last of them."""
MOST_BETWEEN_KILLS = 80
BRIDGES = 0.6
"""How often the bridge of the seat is killed shortly before the service."""
PATIENCE = 60.0
COMMANDS = {"say": 10, "mark": 10, "wake": 3, "fragile": 1, "break": 1}
SEATS = {"hold": 1.0, "grace": 0.5, "acknowledge": 2.0, "reply": 2.0, "silent_turn": 1.0}
"""Short waits for the seat: whatever it leaves has to come to its end."""
RETRIED = frozenset({"service_shutting_down", "admission_backpressure"})


class Observed:
    """Counts what is seen of the service from outside."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0

    def one_more(self) -> None:
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def wait_for(self, more: int) -> None:
        with self._changed:
            target = self._count + more
            came = self._changed.wait_for(lambda: self._count >= target, PATIENCE)
        assert came, "nothing happens any more"


@dataclass
class Run:
    """A run under way, shared by the loaders and by who kills."""

    place: Place
    observed: Observed
    seed: int
    conversations: list[str] = field(default_factory=list)
    kills: int = 0
    bridges: int = 0
    given: int = 0
    duplicates: int = 0
    wrong: list[str] = field(default_factory=list)
    up: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    service: Service | None = None

    def start(self) -> Service:
        """The next service."""
        self.service = self.place.start()
        self.up.set()
        return self.service

    def kill(self) -> None:
        """End the present one, whatever it does."""
        assert self.service is not None
        self.up.clear()
        self.service.kill()
        self.kills += 1


class Seat:
    """A seat at the head: one process of its bridge after the other, each of them killed."""

    def __init__(self, run: Run) -> None:
        self._load = run
        self._folder = run.place.root / "seat"
        self._given = run.place.root / "given"
        self._process: subprocess.Popen[bytes] | None = None
        self._listening: list[threading.Thread] = []

    def open(self, service: Service) -> None:
        """Registered, attached, and asking."""
        seat = ScriptedSeat(service.client).open()
        self._folder.mkdir()
        kept = {"seat": seat.id, "token": seat.token}
        (self._folder / "seat.json").write_text(json.dumps(kept), encoding="utf-8")
        self.start()

    def start(self) -> None:
        """The next process of its bridge."""
        self._load.bridges += 1
        home, start = self._load.place.home, str(self._load.bridges)
        command = [sys.executable, "-P", "-m", "process.bridge", str(home), str(self._folder)]
        self._process = subprocess.Popen(
            [*command, str(self._given), start],
            env=self._load.place.environ(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        listening = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        listening.start()
        self._listening.append(listening)

    def _listen(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        for _ in process.stdout:
            self._load.observed.one_more()

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(PATIENCE)
        self._listening[-1].join(PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None

    def wrong(self, account: Account) -> None:
        """Nothing was given twice, and nothing that ran was given too."""
        given = Counter(one["event"] for one in _lines(self._given))
        self._load.given = given.total()
        ran = {one["delivery"] for one in _lines(self._load.place.effects) if one["what"] == "run"}
        for name, times in given.items():
            if times > 1 or (name in ran and not name.startswith("captain/")):
                account.twice += 1
                said = f"{name}: given to the seat {times} times, and ran: {name in ran}"
                account.violations.append(said)


def _lines(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.splitlines() if line]


class Loader(threading.Thread):
    """Sends inputs, a quarter of them more than once; repeats each until it is answered."""

    def __init__(self, run: Run, number: int) -> None:
        super().__init__(name=f"loader-{number}")
        self._load = run
        self._number = number
        self._random = Random(f"{run.seed} {number}")

    def run(self) -> None:
        try:
            count = 0
            while not self._load.over.is_set():
                count += 1
                self._one(f"m-{self._number}-{count}", wait=count % OUTSTANDING == 0)
        except Exception as error:  # noqa: BLE001 - it belongs into the account, not on the screen
            self._load.wrong.append(f"{self.name}: {error!r}")

    def _one(self, delivery: str, *, wait: bool) -> None:
        (command,) = self._random.choices(list(COMMANDS), list(COMMANDS.values()))
        body = {
            "text": f"{command} [{delivery}]",
            "conversation": self._random.choice([*self._load.conversations, HEAD, HEAD, HEAD]),
            "mode": self._random.choice(["auto", "auto", "auto", "queue", "steer"]),
        }
        times = 2 if self._random.random() < DUPLICATES else 1
        fresh = [self._until_answered(delivery, body) for _ in range(times)]
        self._load.duplicates += times - 1
        if any(fresh[1:]):
            self._load.wrong.append(f"{delivery}: admitted again")
        if wait:
            self._known(delivery)

    def _until_answered(self, delivery: str, body: dict[str, Any]) -> bool:
        """Send it under the same id until there is an answer; whether it was new."""
        while True:
            self._load.up.wait(PATIENCE)
            assert self._load.service is not None
            try:
                answer = self._load.service.client.send(delivery, **body)
            except GoneError:
                continue
            if answer.code in RETRIED:
                continue
            assert answer.status in {200, 202}, answer
            self._load.place.promised.add(delivery)
            self._load.observed.one_more()
            return answer.status == 202

    def _known(self, delivery: str) -> None:
        """Until it has ended, or the service has."""
        assert self._load.service is not None
        try:
            self._load.service.client.receipt(delivery, wait=20)
        except GoneError:
            return
        self._load.observed.one_more()


def prepare(run: Run, seat: Seat) -> None:
    """Conversations, a seat at the head, and wakes that come at once."""
    service = run.start()
    client = service.client
    client.set("seats", **SEATS)
    seat.open(service)
    client.set("wakes", soonest=0, first_backoff=0.1, attempts=2, waiting=1_000)
    run.conversations.append("global-default")
    for number in range(1, CONVERSATIONS):
        wanted = {"request_id": f"r-{number}", "name": f"Room {number}", "kind": "global"}
        made = client.ask("POST", "/v1/conversations", wanted)
        run.conversations.append(made.body["id"])


def settle(run: Run, seat: Seat) -> Account:
    """Let everything come to its end, then count."""
    assert run.service is not None
    client = run.service.client
    for delivery in sorted(run.place.promised):
        client.known(delivery)
    # Wakes that were set last may still come; each adds to the log of its conversation.
    while busy := _busy(client):
        path = f"/v1/conversations/{busy[0]['id']}/events?after={busy[0]['cursor']}&wait=5"
        client.ask("GET", path)
    seat.kill()
    account = run.place.account(run.service)
    account.violations += run.wrong
    seat.wrong(account)
    odd = account.failures.keys() - {"failed model_request_refused", "failed refused_by_seat"}
    account.violations += [f"some attempt {one}, which nobody asked for" for one in sorted(odd)]
    return account


def _busy(client: Client) -> list[dict[str, Any]]:
    """Conversations in which something runs, waits, or will come as a wake."""
    wakes = client.ask("GET", "/v1/wakes").body["wakes"]
    coming = {one["conversation"] for one in wakes if not one.get("held")}
    listed = client.ask("GET", "/v1/conversations").body["conversations"]
    return [one for one in listed if one["state"] == "running" or one["id"] in coming]


def random_kills(rounds: int, seed: int) -> tuple[Run, Account]:
    """Kill it `rounds` times; what was done, and what came of it."""
    observed = Observed()
    with Place(ModelServer(observed.one_more)) as place:
        run = Run(place, observed, seed)
        seat = Seat(run)
        prepare(run, seat)
        loaders = [Loader(run, number) for number in range(LOADERS)]
        for loader in loaders:
            loader.start()
        moments = Random(seed)
        try:
            for _ in range(rounds):
                observed.wait_for(moments.randint(1, MOST_BETWEEN_KILLS))
                if moments.random() < BRIDGES:
                    seat.kill()
                    seat.start()
                    observed.wait_for(moments.randint(1, 9))
                run.kill()
                run.start()
        finally:
            run.over.set()
            run.up.set()
            for loader in loaders:
                loader.join(PATIENCE)
        try:
            return run, settle(run, seat)
        finally:
            seat.kill()


def table(run: Run, account: Account) -> str:
    """The numbers, one a line."""
    states = account.states
    others = {name: number for name, number in sorted(states.items()) if name != "uncertain"}
    rows = [
        ("seed", run.seed),
        ("kills", run.kills),
        ("  of bridges", run.bridges - 1),
        ("given to the seat", run.given),
        ("inputs", account.inputs),
        ("  sent twice", run.duplicates),
        ("  wakes", account.wakes),
        *others.items(),
        ("uncertain", states["uncertain"]),
        ("  effect started", account.uncertain_after_effect),
        ("  effect never", account.uncertain_before_effect),
        ("executed twice", account.twice),
        ("lost", account.lost),
        ("violations", len(account.violations)),
    ]
    return "\n".join(f"{name:<18}{number:>10}" for name, number in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="how often it is killed")
    parser.add_argument("--seed", type=int, default=None, help="what is sent and when it is killed")
    given = parser.parse_args()
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    run, account = random_kills(given.rounds, seed)
    sys.stdout.write(table(run, account) + "\n")
    for violation in account.violations:
        sys.stdout.write(f"VIOLATION: {violation}\n")
    return 1 if account.violations else 0


if __name__ == "__main__":
    sys.exit(main())
