"""Stands in for `clankie` in a plugin: notes how it is called, and serves two tools.

    stand_in.py prompt …      prints the text of CLANKIE_STAND_IN/projection
    stand_in.py seat-sync     notes the hook's input
    stand_in.py bridge        a server of tools that notes its calls

Everything is noted as a line of CLANKIE_STAND_IN/calls.jsonl.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ["CLANKIE_STAND_IN"])


def note(**what: Any) -> None:
    """Keep one line."""
    with (FOLDER / "calls.jsonl").open("a") as file:
        file.write(json.dumps(what) + "\n")


def hook(arguments: list[str]) -> None:
    """What a hook is given."""
    note(arguments=arguments, given=json.loads(sys.stdin.read() or "{}"))
    projection = FOLDER / "projection"
    if arguments[0] == "prompt" and projection.exists():
        sys.stdout.write(projection.read_text())


def wait() -> None:
    """Until somebody makes the file `go`; not for ever, so that no process stays behind."""
    for _ in range(600):
        if (FOLDER / "go").exists():
            return
        threading.Event().wait(0.1)


def result(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request of the client."""
    match method:
        case "initialize":
            return {
                "protocolVersion": params.get("protocolVersion"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "clankie", "version": "0"},
            }
        case "tools/list":
            schema = {"type": "object", "properties": {"text": {"type": "string"}}}
            tools = [
                {"name": name, "description": "", "inputSchema": schema}
                for name in ("reply", "wait")
            ]
            return {"tools": tools}
        case "tools/call":
            note(called=params.get("name"), given=params.get("arguments"))
            if params.get("name") == "wait":
                wait()
            return {"content": [{"type": "text", "text": "published"}]}
        case _:
            return {}


def bridge() -> None:
    """Serve until standard input ends."""
    note(bridge=os.environ.get("CLAUDE_CODE_SESSION_ID"), parent=os.getppid())
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            answer = result(asked.get("method", ""), asked.get("params") or {})
            row = {"jsonrpc": "2.0", "id": asked["id"], "result": answer}
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "bridge":
        bridge()
    else:
        hook(sys.argv[1:])
