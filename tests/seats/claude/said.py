"""Rows as Claude Code writes them, of the newer (2.1.332) and the older (2.1.197) format."""

import json
from typing import Any

AT = "2026-11-30T12:00:00.000Z"
RESETS = 1_796_053_489


def line(row: dict[str, Any]) -> bytes:
    return json.dumps(row).encode()


def user(uuid: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "timestamp": AT, "message": message, **more}


def typed(uuid: str, text: str, at: str = AT) -> dict[str, Any]:
    return user(uuid, text, origin={"kind": "human"}, promptSource="typed", timestamp=at)


def peer(uuid: str, text: str) -> dict[str, Any]:
    said = (
        f"Another Claude session sent a message:\n{text}\n\n"
        "This came from another Claude session — not typed by your user, but very likely …"
    )
    return user(uuid, said, isMeta=True, origin={"kind": "peer", "from": "unknown"})


def queued(uuid: str, text: str, source: str, at: str = AT, **more: Any) -> dict[str, Any]:
    held = {
        "type": "queued_command",
        "prompt": text,
        "source_uuid": source,
        "commandMode": "prompt",
        "timestamp": at,
        **more,
    }
    return {"type": "attachment", "uuid": uuid, "timestamp": AT, "attachment": held}


def assistant(uuid: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": list(blocks)}
    return {"type": "assistant", "uuid": uuid, "timestamp": AT, "message": message, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def failed(uuid: str, words: str, **more: Any) -> dict[str, Any]:
    row = assistant(uuid, text(words), isApiErrorMessage=True, **more)
    row["message"]["model"] = "<synthetic>"
    return row


def limit_now(window: str = "five_hour") -> dict[str, Any]:
    info = {"status": "rejected", "resetsAt": RESETS, "rateLimitType": window}
    return failed(
        "u-limit",
        "You've hit your limit · resets 3:44pm (UTC)",
        apiError="usage_limit_reached",
        apiErrorParams={"rate_limit_info": info},
        quotaLimits=info,
        error="rate_limit",
        apiErrorStatus=429,
    )


def limit_before(words: str) -> dict[str, Any]:
    return failed("u-limit", words, error="rate_limit", apiErrorStatus=429)


def enqueue(words: str, operation: str = "enqueue", **more: Any) -> dict[str, Any]:
    return {
        "type": "queue-operation",
        "operation": operation,
        "content": words,
        "timestamp": AT,
        **more,
    }


def system(subtype: str) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, "uuid": f"s-{subtype}", "timestamp": AT}
