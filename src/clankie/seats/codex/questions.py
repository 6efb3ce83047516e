"""What a Codex app-server asks, as questions for a person, and how each is answered.

Every client of a thread is asked, and the first answer counts. So we answer only what a person
decided here, and what we do not understand is left to the others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from clankie.seats.codex.rpc import Said
from clankie.seats.port import Question

Json = dict[str, Any]

_ACCEPT: Final[Json] = {"decision": "accept"}
_DECLINE: Final[Json] = {"decision": "decline"}
_SHOWN: Final = 4_000


@dataclass(frozen=True, slots=True)
class Pending:
    """A question that stands. `yes` is None where leave alone is no answer to it."""

    question: Question
    number: int | str
    yes: Json | None
    no: Json


def pending(said: Said, event: str | None) -> Pending | None:
    """What is asked; None for what is not for a person, or not understood.

    The id is made of the item's, so that the same question asked again is the same.
    """
    number, params = said.number, said.params
    if number is None:
        return None
    found = _read(said.method, params)
    if found is None:
        return None
    summary, detail, yes, no = found
    name = json.dumps([params.get(key) for key in ("threadId", "turnId", "itemId", "approvalId")])
    if params.get("itemId") is None:
        name += f"{number}{detail}"
    digest = hashlib.sha256(f"{said.method}{name}".encode()).hexdigest()[:26]
    question = Question(id=f"cx-{digest}", summary=summary, detail=detail[:_SHOWN], event=event)
    return Pending(question, number, yes, no)


def _read(method: str, params: Mapping[str, Any]) -> tuple[str, str, Json | None, Json] | None:
    reason = str(params.get("reason") or "")
    match method:
        case "item/commandExecution/requestApproval":
            detail = "\n".join(filter(None, (_command(params), reason)))
            # Declining is understood also where only cancelling is offered, and the turn goes on.
            return "Codex wants to run a command.", detail, _ACCEPT, _DECLINE
        case "item/fileChange/requestApproval":
            root = params.get("grantRoot")
            detail = "\n".join(filter(None, (reason, f"below {root}" if root else "")))
            return "Codex wants to change files.", detail, _ACCEPT, _DECLINE
        case "item/permissions/requestApproval":
            wanted = _dict(params.get("permissions"))
            granted = {key: value for key, value in wanted.items() if value is not None}
            yes = {"permissions": granted, "scope": "turn"}
            detail = "\n".join(filter(None, (reason, json.dumps(granted))))
            none = {"permissions": dict[str, Any](), "scope": "turn"}
            return "Codex wants more permissions for this turn.", detail, yes, none
        case "item/tool/requestUserInput":
            words = [_asked(_dict(one)) for one in _list(params.get("questions"))]
            return (
                "Codex asks something. Answer it in its terminal.",
                "\n".join(words),
                None,
                {"answers": {}},
            )
        case "mcpServer/elicitation/request":
            return _elicited(params)
        case _:
            return None


def _command(params: Mapping[str, Any]) -> str:
    command, where = params.get("command"), params.get("cwd")
    network = _dict(params.get("networkApprovalContext"))
    what = str(command) if command else f"reach {network.get('host')}" if network else ""
    return f"{what}\nin {where}" if where else what


def _elicited(params: Mapping[str, Any]) -> tuple[str, str, Json | None, Json] | None:
    server, mode = params.get("serverName"), params.get("mode")
    if mode not in {"form", "url"}:
        return None
    detail = "\n".join(str(params[key]) for key in ("message", "url") if params.get(key))
    schema = _dict(params.get("requestedSchema"))
    # Leave answers a form only where nothing must be filled in.
    plain = mode == "url" or not schema.get("required")
    yes: Json = {"action": "accept", "content": {} if mode == "form" else None, "_meta": None}
    no: Json = {"action": "decline", "content": None, "_meta": None}
    return f"The server of tools {server!r} asks for leave.", detail, yes if plain else None, no


def _asked(question: Json) -> str:
    options = [str(_dict(one).get("label")) for one in _list(question.get("options"))]
    text = str(question.get("question", ""))
    return f"{text} ({' / '.join(options)})" if options else text


def _dict(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
