"""Addresses of model servers: where each provider is, and what is refused."""

import pytest

from clankie.core.settings import Models
from clankie.lanes.endpoint import Endpoint, endpoint
from clankie.lanes.model import ModelUnknownError

GOOGLE = "https://generativelanguage.googleapis.com:443"


def at(model: str, base_url: str = "") -> Endpoint:
    return endpoint(Models(model=model, base_url=base_url))


@pytest.mark.parametrize(
    ("model", "base_url", "url", "name"),
    [
        ("openai-chat:gpt", "", "https://api.openai.com:443/v1/chat/completions", "gpt"),
        ("ollama:qwen:8b", "", "http://127.0.0.1:11434/v1/chat/completions", "qwen:8b"),
        ("lmstudio:x", "", "http://127.0.0.1:1234/v1/chat/completions", "x"),
        ("openai-chat:x", "http://h:8000/v1/", "http://h:8000/v1/chat/completions", "x"),
        (
            "openai-chat:x",
            "HTTPS://H/v1/chat/completions",
            "https://h:443/v1/chat/completions",
            "x",
        ),
        ("anthropic:c", "", "https://api.anthropic.com:443/v1/messages", "c"),
        ("anthropic:c", "http://h:1", "http://h:1/v1/messages", "c"),
        ("anthropic:c", "http://h:1/v1/messages", "http://h:1/v1/messages", "c"),
        ("openai:gpt", "", "https://api.openai.com:443/v1/responses", "gpt"),
        ("xai:grok", "", "https://api.x.ai:443/v1/chat/completions", "grok"),
        (
            "google:gemini",
            "",
            f"{GOOGLE}/v1beta/models/gemini:streamGenerateContent?alt=sse",
            "gemini",
        ),
        (
            "google:tunedModels/../x?key=1",
            "http://h:1",
            "http://h:1/v1beta/tunedModels/..%2Fx%3Fkey%3D1:streamGenerateContent?alt=sse",
            "tunedModels/../x?key=1",
        ),
        ("openai-chat:x", "http://[::1]:9/", "http://[::1]:9/chat/completions", "x"),
    ],
)
def test_a_provider_has_an_address_of_its_own_that_the_owner_may_replace(
    model: str, base_url: str, url: str, name: str
) -> None:
    found = at(model, base_url)
    assert (found.url, found.model) == (url, name)


@pytest.mark.parametrize(
    ("base_url", "loopback"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.8.9.1/v1", True),
        ("http://[::1]/v1", True),
        ("http://192.168.1.7/v1", False),
        ("http://localhost.example.com/v1", False),
        ("http://127.0.0.1.example.com/v1", False),
    ],
)
def test_only_this_machine_is_this_machine(base_url: str, loopback: bool) -> None:
    assert at("ollama:x", base_url).loopback is loopback


@pytest.mark.parametrize(
    "model", ["", "gpt", "practise", "openai-chat:", "openai-chat: ", "claude:x", ":x"]
)
def test_a_model_that_nobody_knows_says_what_to_set(model: str) -> None:
    with pytest.raises(ModelUnknownError) as caught:
        at(model)
    assert "clankie settings set models.model" in caught.value.detail
    assert "ollama:NAME" in caught.value.detail


@pytest.mark.parametrize(
    "base_url",
    [
        "localhost:8000/v1",
        "ftp://h/v1",
        "file:///etc/passwd",
        "http://",
        "http://user:hunter2@h/v1",
        "http://hunter2@h/v1",
        "http://h/v1?key=hunter2",
        "http://h/v1#hunter2",
        "http://h:99999/v1",
        "http://h:0/v1",
        "http://[::1/v1",
        "http://h/v1\u202e",
        "http://h /v1",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_repeating_it(base_url: str) -> None:
    with pytest.raises(ModelUnknownError) as caught:
        at("openai-chat:x", base_url)
    assert "clankie settings set models.base_url" in caught.value.detail
    assert "hunter2" not in caught.value.detail
