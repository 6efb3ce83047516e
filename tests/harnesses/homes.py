"""A home for each real harness: a private one of a person, with the scripted model in it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from harnesses.claude_lab import Lab
from harnesses.codex_seat import codex
from harnesses.install import Harnesses
from harnesses.model import Model

Environment = Callable[[Path, Harnesses, Model], Mapping[str, str]]


def _claude(root: Path, harnesses: Harnesses, model: Model) -> Mapping[str, str]:
    return Lab(root, model, harnesses.claude).environment


def _codex(root: Path, harnesses: Harnesses, model: Model) -> Mapping[str, str]:
    return codex(root, harnesses, model).place.environment


def _pi(root: Path, harnesses: Harnesses, model: Model) -> Mapping[str, str]:
    agent = root / "home" / ".pi" / "agent"
    agent.mkdir(parents=True)
    (root / "work").mkdir()
    scripted = {
        "baseUrl": f"{model.url}/v1",
        "api": "openai-completions",
        "apiKey": "any",
        "models": [{"id": "scripted-1", "contextWindow": 128000, "maxTokens": 4000}],
    }
    (agent / "models.json").write_text(json.dumps({"providers": {"scripted": scripted}}))
    choice = {"defaultProvider": "scripted", "defaultModel": "scripted-1"}
    (agent / "settings.json").write_text(json.dumps(choice))
    return {
        "PATH": f"{harnesses.pi.parent}:{os.environ['PATH']}",
        "HOME": str(root / "home"),
        "PI_CODING_AGENT_DIR": str(agent),
        "PI_OFFLINE": "1",
        "PI_TELEMETRY": "0",
        "PI_SKIP_VERSION_CHECK": "1",
    }


HOMES: dict[str, Environment] = {
    "claude": _claude,
    "claude --headless": _claude,
    "codex": _codex,
    "pi": _pi,
}
