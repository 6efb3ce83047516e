"""A Codex for tests: `codex app-server` as far as a seat needs it, as a process of its own.

It does what the words it is given say: `~say WORDS`, `~hold` (until `~go` joins or it is stopped),
`~ask` (for leave, and says what was answered), `~limit`, and the ways to fail: `~refuse` (an
error), `~odd` (a limit that makes no sense), `~swallow` (a turn that never shows them), `~die`
(after it accepted, before the row), `~die-late` (after the row, before the answer), `~review` (a
turn that nothing can join).
With `slow` in its home no thread is ever resumed, with `deaf` none is ever looked at, with `full`
none is begun, with `shy` who joins is asked nothing. Requests that it was sent stand in
`requests.jsonl` of its home.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

from websockets.asyncio.server import ServerConnection, unix_serve

Json = dict[str, Any]
HOME = Path(os.environ["CODEX_HOME"])
SLOW, DEAF = HOME / "slow", HOME / "deaf"
AT = "2026-11-30T12:00:00.000Z"


class RefusedError(Exception):
    """An answer that is an error."""


class Thread:
    """A thread, its rollout, and who hears of it."""

    def __init__(self, number: int) -> None:
        self.id = f"thread-{number}"
        self.path = HOME / "sessions" / "2026" / "11" / "30" / f"rollout-{self.id}.jsonl"
        self.turn: str | None = None
        self.ended = asyncio.Event()
        self.how = "completed"
        self.steerable = True
        self.heard: set[ServerConnection] = set()
        self.asked: Json | None = None
        self.answer: asyncio.Future[Json] | None = None

    def wire(self) -> Json:
        flags = ["waitingOnApproval"] if self.asked else []
        status = {"type": "active", "activeFlags": flags} if self.turn else {"type": "idle"}
        return {"id": self.id, "path": str(self.path), "ephemeral": False, "status": status}

    def write(self, **payload: object) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        row = {"timestamp": AT, "ordinal": 1, "type": "event_msg", "payload": payload}
        with self.path.open("a") as file:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")


def written() -> list[str]:
    paths = sorted(HOME.glob("sessions/**/*.jsonl"))
    return [path.stem.removeprefix("rollout-") for path in paths]


class AppServer:
    """The server."""

    def __init__(self, hooks: str) -> None:
        self.hooks = hooks
        self.threads: dict[str, Thread] = {}
        self.everybody: set[ServerConnection] = set()
        self.numbers = itertools.count(len(written()) + 1)
        self.turns = itertools.count(1)
        self.tasks: set[asyncio.Task[None]] = set()

    async def connection(self, client: ServerConnection) -> None:
        self.everybody.add(client)
        try:
            async for frame in client:
                await self.take(client, json.loads(frame))
        finally:
            self.everybody.discard(client)
            for thread in self.threads.values():
                thread.heard.discard(client)

    async def take(self, client: ServerConnection, message: Json) -> None:
        if "method" not in message:
            thread = next(t for t in self.threads.values() if t.answer is not None)
            if thread.answer is not None and not thread.answer.done():
                thread.answer.set_result(message["result"])
            return
        with (HOME / "requests.jsonl").open("a") as file:
            file.write(json.dumps(message) + "\n")
        if "id" not in message:
            return
        try:
            result = await self.call(client, message["method"], message.get("params") or {})
        except RefusedError as refused:
            error = {"code": -32600, "message": str(refused)}
            await client.send(json.dumps({"id": message["id"], "error": error}))
            return
        if result is not None:
            await client.send(json.dumps({"id": message["id"], "result": result}))

    async def tell(self, thread: Thread, method: str, **params: object) -> None:
        for client in list(thread.heard):
            said = {"method": method, "params": {"threadId": thread.id, **params}}
            await client.send(json.dumps(said))

    async def call(self, client: ServerConnection, method: str, params: Json) -> Json | None:  # noqa: C901, PLR0911, PLR0912 - a table of a protocol
        match method:
            case "initialize":
                return {"userAgent": os.environ.get("FAKE_AGENT", "clankie/0.171.0 (a fake)")}
            case "hooks/list":
                return {"data": [{"cwd": params["cwds"][0], "hooks": self.hook()}]}
            case "config/batchWrite":
                self.hooks = "trusted"
                (HOME / "trusted").write_text(json.dumps(params["edits"]))
                return {}
            case "thread/start":
                return {"thread": (await self.made(client)).wire()}
            case "thread/list":
                return {"data": [{"id": name} for name in written()[-1:]]}
            case "thread/resume" if SLOW.exists():
                return None
            case "thread/resume":
                return {"thread": (await self.resumed(client, params["threadId"])).wire()}
        thread = self.threads.get(params["threadId"])
        if thread is None:
            raise RefusedError(f"thread not found: {params['threadId']}")
        match method:
            case "thread/read" if DEAF.exists():
                return None
            case "thread/read":
                return {"thread": thread.wire()}
            case "thread/turns/list":
                last = {"id": thread.turn, "status": "inProgress"}
                return {"data": [last] if thread.turn else []}
            case "thread/inject_items":
                thread.write(type="injected", items=params["items"])
                return {}
            case "turn/start":
                return await self.start(thread, params)
            case "turn/steer":
                return await self.steer(thread, params)
            case "turn/interrupt":
                if thread.turn != params["turnId"]:
                    raise RefusedError("no active turn to interrupt")
                thread.how = "interrupted"
                thread.ended.set()
                return {}
            case _:
                raise RefusedError(f"unknown method {method}")

    def hook(self) -> list[Json]:
        command = next((a for a in sys.argv if a.startswith("hooks.SessionStart")), None)
        if command is None:
            return []
        told = json.loads(command[command.index('command="') + 8 : command.index(", timeout")])
        return [
            {
                "key": "flags:0",
                "eventName": "sessionStart",
                "command": told,
                "currentHash": "sha256:1",
                "trustStatus": self.hooks,
                "enabled": True,
            },
            {"key": "other", "eventName": "stop", "command": "theirs", "trustStatus": "untrusted"},
        ]

    async def made(self, client: ServerConnection) -> Thread:
        if (HOME / "full").exists():
            raise RefusedError("no more threads")
        thread = Thread(next(self.numbers))
        self.threads[thread.id] = thread
        thread.heard.add(client)
        for one in self.everybody:
            said = {"method": "thread/started", "params": {"thread": thread.wire()}}
            await one.send(json.dumps(said))
            ready = {"name": "clankie", "status": "ready", "threadId": thread.id}
            said = {"method": "mcpServer/startupStatus/updated", "params": ready}
            await one.send(json.dumps(said))
        return thread

    async def resumed(self, client: ServerConnection, name: str) -> Thread:
        if name == "thread-elsewhere":
            raise RefusedError(f"thread {name} already has an active writer")
        thread = self.threads.get(name)
        if thread is None:
            thread = Thread(0)
            thread.id = name
            thread.path = thread.path.with_name(f"rollout-{name}.jsonl")
            if thread.path.exists():
                self.threads[name] = thread
        if not thread.path.exists():
            raise RefusedError(f"no rollout found for thread id {name}")
        thread.heard.add(client)
        if thread.asked is not None and not (HOME / "shy").exists():
            await client.send(json.dumps(thread.asked))
        return thread

    async def start(self, thread: Thread, params: Json) -> Json | None:
        words = params["input"][0]["text"]
        if "~refuse" in words:
            raise RefusedError("the words are refused")
        if "~silent" in words:
            return None
        if thread.turn is None:
            thread.turn = f"turn-{next(self.turns)}"
            thread.ended, thread.how = asyncio.Event(), "completed"
            thread.steerable = "~review" not in words
            thread.write(type="task_started", turn_id=thread.turn)
            turn = {"id": thread.turn, "status": "inProgress"}
            for one in self.everybody:
                status = {"threadId": thread.id, "status": thread.wire()["status"]}
                said = {"method": "thread/status/changed", "params": status}
                await one.send(json.dumps(said))
            await self.tell(thread, "turn/started", turn=turn)
            self.later(self.run(thread, params))
        else:
            await self.show(thread, params)
        if "~die-late" in words:
            await self.show(thread, params)
            os._exit(9)
        return {"turn": {"id": thread.turn, "status": "inProgress"}}

    async def steer(self, thread: Thread, params: Json) -> Json:
        if thread.turn is None:
            raise RefusedError("no active turn to steer")
        if thread.turn != params["expectedTurnId"]:
            raise RefusedError(f"expected active turn id but found {thread.turn}")
        if not thread.steerable:
            raise RefusedError("the turn is not steerable")
        await self.show(thread, params)
        if "~go" in params["input"][0]["text"]:
            thread.ended.set()
        return {"turnId": thread.turn}

    async def show(self, thread: Thread, params: Json) -> None:
        words, client = params["input"][0]["text"], params.get("clientUserMessageId")
        content = [{"type": "text", "text": words}]
        item = {"type": "UserMessage", "id": f"u-{client}", "client_id": client}
        thread.write(type="item_completed", item={**item, "content": content})
        shown = {"type": "userMessage", "id": f"u-{client}", "clientId": client}
        whole = {**shown, "content": content}
        await self.tell(thread, "item/completed", turnId=thread.turn, item=whole)

    async def run(self, thread: Thread, params: Json) -> None:
        words, turn = params["input"][0]["text"], thread.turn
        if "~die" in words and "~die-late" not in words:
            # The answer is out by then; the row never is.
            await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            os._exit(9)
        if "~swallow" not in words:
            await self.show(thread, params)
        said, error = words.partition("~say ")[2], None
        if "~hold" in words or "~review" in words:
            await thread.ended.wait()
        if "~ask" in words:
            said = f"answered {json.dumps(await self.asks(thread))}"
        if "~limit" in words or "~odd" in words:
            error = await self.limit(thread, "all of it" if "~odd" in words else 100)
        if said:
            content = [{"type": "Text", "text": said}]
            item = {"type": "AgentMessage", "id": f"a-{turn}", "content": content}
            thread.write(type="item_completed", item=item)
        how = "failed" if error else thread.how
        kind = "turn_aborted" if how == "interrupted" else "task_complete"
        told = {"message": "limit", "codex_error_info": "usage_limit_exceeded"} if error else None
        thread.write(type=kind, turn_id=turn, **({"error": told} if told else {}))
        thread.turn = None
        await self.tell(thread, "turn/completed", turn={"id": turn, "status": how, "error": error})

    async def asks(self, thread: Thread) -> Json:
        thread.answer = asyncio.get_running_loop().create_future()
        params = {"threadId": thread.id, "turnId": thread.turn, "itemId": "call-1"}
        thread.asked = {
            "id": 0,
            "method": "item/commandExecution/requestApproval",
            "params": {**params, "command": "rm -rf x", "cwd": "/w"},
        }
        for client in thread.heard:
            await client.send(json.dumps(thread.asked))
        answer = await thread.answer
        thread.asked = thread.answer = None
        await self.tell(thread, "serverRequest/resolved", requestId=0)
        return answer

    async def limit(self, thread: Thread, used: object) -> Json:
        window = {"usedPercent": used, "windowDurationMins": 300, "resetsAt": 4_000_000_000}
        for client in thread.heard:
            params = {"rateLimits": {"primary": window, "secondary": None}}
            said = {"method": "account/rateLimits/updated", "params": params}
            await client.send(json.dumps(said))
        full = {"used_percent": 100.0, "window_minutes": 300, "resets_at": 4_000_000_000}
        thread.write(type="token_count", rate_limits={"primary": full})
        return {"message": "limit", "codexErrorInfo": "usageLimitExceeded"}

    def later(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


async def main() -> None:
    if "app-server" not in sys.argv:
        sys.exit(2)
    trust = HOME / "trust"
    hooks = "trusted" if (HOME / "trusted").exists() else trust.read_text()
    if hooks == "broken":
        sys.exit("config.toml: it is broken")
    server = AppServer(hooks)
    path = sys.argv[sys.argv.index("--listen") + 1].removeprefix("unix://")
    async with unix_serve(server.connection, path):
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main())
