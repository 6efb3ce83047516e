"""A pi for tests: rpc mode as far as a seat needs it, as a process of its own.

It does what the words it is given say: `~say WORDS`, `~hold` (until `~go` joins or it is stopped),
`~confirm` and `~input` (an extension asks), and the ways to fail: `~broken` (the extension fails),
`~die` (before it answers), `~die-late` (after the words stand in the session), `~mute` (it never
answers), `~deep` (a line that nobody can read), `~unheard` (its end is never told), `~fail WORDS`
(an error of the provider; with `~again` it tries once more, with `~stopped` it is stopped before
that). With `no-extension` in its home it loads none, with `no-new` it begins no session.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HOME = Path(os.environ["PI_CODING_AGENT_DIR"])
Json = dict[str, Any]


def now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - a program of its own


class Pi:
    """One session."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.name = file.stem
        self.lock = threading.RLock()
        self.go = threading.Event()
        self.running = False
        self.worker: threading.Thread | None = None
        self.stopped = False
        self.waiting: list[Json] = []
        self.rows = 0
        self.answer: Json = {}
        self.answered = threading.Event()

    def tell(self, **message: Any) -> None:
        with self.lock:
            sys.stdout.write(json.dumps(message, separators=(",", ":")) + "\n")
            sys.stdout.flush()

    def write(self, **row: Any) -> None:
        with self.lock:
            self.rows += 1
            self.file.parent.mkdir(parents=True, exist_ok=True)
            at = now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
            whole = {"id": f"r{self.rows}", "parentId": None, "timestamp": at, **row}
            with self.file.open("a") as file:
                file.write(json.dumps(whole) + "\n")

    def show(self, given: Json) -> None:
        details = {"id": given["id"]}
        content = {"customType": "clankie", "content": given["text"], "details": details}
        self.write(type="custom_message", **content)
        self.tell(type="message_end", message={"role": "custom", **content})

    def take(self, message: Json) -> None:
        kind, name = message["type"], message.get("id")
        with (HOME / "requests.jsonl").open("a") as file:
            file.write(json.dumps(message) + "\n")
        data: Json | None = None
        match kind:
            case "get_state":
                data = {"sessionId": self.name, "sessionFile": str(self.file)}
            case "get_commands":
                ours = [{"name": "clankie", "source": "extension"}]
                data = {"commands": [] if (HOME / "no-extension").exists() else ours}
            case "new_session":
                data = {"cancelled": self.stays()}
            case "abort":
                self.stop()
            case "extension_ui_response":
                self.answer = message
                self.answered.set()
                return
            case _:
                if not self.prompt(message["message"]):
                    return
        self.tell(type="response", id=name, command=kind, success=True, data=data)

    def stays(self) -> bool:
        if (HOME / "no-new").exists():
            return True
        self.file = self.file.with_name(f"next-{self.file.name}")
        self.name = self.file.stem
        return False

    def stop(self) -> None:
        self.stopped = True
        self.go.set()
        if self.worker is not None:
            self.worker.join()

    def prompt(self, text: str) -> bool:
        given = json.loads(text.removeprefix("/clankie "))
        words = given["text"]
        if "~mute" in words:
            return False
        if "~broken" in words:
            self.tell(type="extension_error", extensionPath="command:clankie", error="no")
            return True
        if "~die-late" in words:
            self.show(given)
            os._exit(9)
        if "~die" in words:
            os._exit(9)
        if not given["turn"]:
            self.show(given)
        elif self.running:
            self.waiting.append(given)
            if "~go" in words:
                self.go.set()
        else:
            self.running, self.stopped = True, False
            self.go.clear()
            self.tell(type="agent_start")
            self.worker = threading.Thread(target=self.run, args=(given,), daemon=True)
            self.worker.start()
        return True

    def run(self, given: Json) -> None:
        sys.stdout.write("[" * 200_000 + "\n" if "~deep" in given["text"] else "")
        self.show(given)
        words, said = given["text"], given["text"].partition("~say ")[2]
        self.tell(type="message_update", message={"content": "x" * 1000})
        if "~hold" in words:
            self.go.wait()
        for method in ("confirm", "input"):
            if f"~{method}" in words:
                self.answered.clear()
                asked = {"method": method, "title": "Sure?", "message": "It is large."}
                self.tell(type="extension_ui_request", id="ask-1", **asked)
                self.answered.wait()
                said = f"answered {json.dumps(self.answer)}"
        for one in self.waiting:
            self.show(one)
        self.waiting.clear()
        self.end(words, said)

    def end(self, words: str, said: str) -> None:
        with self.lock:  # as pi does, in one go: no answer of its stands in between
            self.ends(words, said)

    def ends(self, words: str, said: str) -> None:
        failed, how = words.partition("~fail ")[2], "aborted" if self.stopped else "stop"
        tries = 2 if "~again" in words else 1
        for number in range(tries if failed else 0):
            if number:
                self.tell(type="auto_retry_start", attempt=number, errorMessage=failed)
                self.tell(type="agent_start")
            self.answers([], stopReason="error", errorMessage=failed)
            self.tell(type="agent_end", messages=[])
        if "~stopped" in words:
            self.tell(type="auto_retry_start", attempt=1, errorMessage=failed)
            self.tell(type="auto_retry_end", success=False, finalError="Retry cancelled")
        elif failed and tries > 1:
            self.tell(type="auto_retry_end", success=False, finalError=failed)
        if not failed:
            self.answers([{"type": "text", "text": said}] if said else [], stopReason=how)
        self.running = False
        if not (failed or "~unheard" in words):
            self.tell(type="agent_end", messages=[])

    def answers(self, content: list[Json], **more: str) -> None:
        at = int(now().timestamp() * 1000)
        message = {"role": "assistant", "content": content, "timestamp": at, **more}
        self.tell(type="message_end", message=message)
        self.write(type="message", message=message)


def main() -> None:
    argv = sys.argv
    if (HOME / "broken").exists():
        sys.exit("models.json: it is broken")
    if "--session" in argv:
        file = Path(argv[argv.index("--session") + 1])
    else:
        file = HOME / "sessions" / "--work--" / f"session-{os.getpid()}.jsonl"
    pi = Pi(file)
    sys.stdout.write("a line that is no JSON\n[]\n")
    for line in sys.stdin:
        pi.take(json.loads(line))


if __name__ == "__main__":
    main()
