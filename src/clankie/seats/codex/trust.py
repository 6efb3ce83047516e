"""Which of our hooks Codex would run. It skips the others without a word.

Trust is the person's to give: it is stored by Codex in their configuration, for one exact command,
and nothing here does that unless they said so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from clankie.seats.codex.rpc import Rpc

_GOOD: Final = frozenset({"trusted", "managed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A hook of ours as Codex sees it. `digest` is of what it would run."""

    key: str
    event: str
    command: str
    digest: str
    trusted: bool


async def ours(rpc: Rpc, directory: str, command: str) -> Sequence[Hook]:
    """The hooks that run this command, as Codex would in this directory. Raises RpcError."""
    found = await rpc.call("hooks/list", {"cwds": [directory]})
    return [
        Hook(
            key=str(one.get("key")),
            event=str(one.get("eventName")),
            command=command,
            digest=str(one.get("currentHash")),
            trusted=one.get("trustStatus") in _GOOD and bool(one.get("enabled", True)),
        )
        for entry in _rows(found.get("data"))
        for one in _rows(entry.get("hooks"))
        if one.get("command") == command
    ]


async def give(rpc: Rpc, hooks: Sequence[Hook]) -> None:
    """Trust these hooks as they stand: on the owner's word only. Raises RpcError.

    Codex writes it into its own configuration; another command of ours would not be covered.
    """
    value = {one.key: {"trusted_hash": one.digest} for one in hooks}
    edit = {"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": value}
    await rpc.call("config/batchWrite", {"edits": [edit], "reloadUserConfig": True})


def sentence(hooks: Sequence[Hook]) -> str:
    """What to tell the person of hooks that are not trusted."""
    names = ", ".join(sorted({one.event for one in hooks})) or "sessionStart"
    return (
        f"Codex does not trust Clankie's hook ({names}) yet, and would skip it silently: the log "
        "is put into new sessions from outside instead. To let the hook do it, open the seat once "
        "with `clankie seat open codex --trust-hooks`."
    )


def _rows(value: object) -> list[dict[str, Any]]:
    rows = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", one) for one in rows if isinstance(one, dict)]
