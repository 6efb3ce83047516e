"""A `claude` that is none: JSON lines in and out, a register and a transcript, as the real one has.

What it does with a message stands in its words: "ask" asks for leave ("of an agent": a helper does;
"takes it back": no more a moment later; "and ends": its turn ends), "hold" leaves the turn open,
"later" stays in its queue, "silent" says nothing and writes nothing, "die" ends the program, "odd"
asks what nobody knows, "/clear" begins another session, unless FAKE_CLAUDE says "stays".
"""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

CONFIG = Path(os.environ["HOME"]) / ".claude"
CLEARED: list[str] = []


def session() -> str:
    """The session it was told to go on with, or a fresh one."""
    if CLEARED:
        return f"session-{len(CLEARED)}"
    arguments = sys.argv[1:]
    if "--resume" in arguments:
        return arguments[arguments.index("--resume") + 1]
    return "fresh-session"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")  # noqa: TID251 - a program of its own


def say(**row: Any) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def write(**row: Any) -> None:
    name = "".join(one if one.isalnum() else "-" for one in str(Path.cwd()))
    folder = CONFIG / "projects" / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{session()}.jsonl").open("a") as file:
        file.write(json.dumps({"timestamp": now(), **row}) + "\n")


def register() -> None:
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    row = {"pid": os.getpid(), "sessionId": session(), "procStart": ticks, "cwd": str(Path.cwd())}
    (CONFIG / "sessions").mkdir(parents=True, exist_ok=True)
    aside = CONFIG / "sessions" / "new"
    aside.write_text(json.dumps(row))
    aside.rename(CONFIG / "sessions" / f"{os.getpid()}.json")


def turn(uuid: str, words: str) -> None:
    """One message, from the queue to the answer."""
    if words == "die":
        sys.exit(1)
    if words == "silent":
        return
    say(type="command_lifecycle", command_uuid=uuid, state="queued")
    if words == "later":
        return
    write(type="user", uuid=uuid, message={"role": "user", "content": words})
    say(type="command_lifecycle", command_uuid=uuid, state="started")
    if words.startswith("ask"):
        ask(words)
    elif words == "odd":
        say(type="control_request", request_id="q-2", request={"subtype": "elicitation"})
    elif words != "hold":
        done()


def ask(words: str) -> None:
    """It wants leave for a tool."""
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}
    of = {"agent_id": "a-1"} if "of an agent" in words else {}
    say(type="control_request", request_id="q-1", request={**request, **of})
    if "takes it back" in words:
        say(type="control_cancel_request", request_id="q-1")
    if "and ends" in words:
        done()


def clear(uuid: str) -> None:
    """Another session, in this process."""
    if "stays" not in os.environ.get("FAKE_CLAUDE", ""):
        CLEARED.append(uuid)
        register()


def done() -> None:
    content = [{"type": "text", "text": "done"}]
    write(type="assistant", uuid=f"a-{now()}", message={"role": "assistant", "content": content})
    say(type="result", subtype="success")


def controlled(row: dict[str, Any]) -> None:
    """What is asked of it, and what is answered to it."""
    if row["type"] == "control_request":
        answer = {"subtype": "success", "request_id": row["request_id"]}
        say(type="control_response", response=answer)
    write(type="noted", row=row)
    done()


def main() -> None:
    if "never" in os.environ.get("FAKE_CLAUDE", ""):
        sys.exit(4)
    register()
    sys.stdout.write("this is no JSON\n[1]\n")
    for line in sys.stdin:
        row = json.loads(line)
        if row["type"] == "user" and row["message"]["content"] == "/clear":
            clear(row["uuid"])
        elif row["type"] == "user":
            turn(row["uuid"], row["message"]["content"])
        else:
            controlled(row)


if __name__ == "__main__":
    main()
