"""Secrets of the owner: kept for one origin, and never shown."""

from pathlib import Path

import pytest

from clankie.core.errors import InvalidFieldError
from clankie.host.credentials import origin_of, put
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.loop import virtual


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://api.example.com/v1", "https://api.example.com:443"),
        ("http://127.0.0.1:8080/x?y=z", "http://127.0.0.1:8080"),
        ("http://Example.COM", "http://example.com:80"),
        ("https://[::1]:8443/", "https://[::1]:8443"),
    ],
)
def test_an_origin_is_scheme_host_and_port_in_one_spelling(url: str, origin: str) -> None:
    # proves: BASE-2
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    "url", ["", "api.example.com", "ftp://x", "https://", "http://me@x", "http://x:99999"]
)
def test_what_is_no_plain_address_is_no_origin(url: str) -> None:
    # proves: BASE-2
    with pytest.raises(InvalidFieldError):
        origin_of(url)


@virtual
async def test_a_secret_goes_to_its_own_origin_and_nowhere_else(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-2
    async with Machine(tmp_path, clock).on() as hall:
        await put(hall.house, "openai", "https://api.example.com/v1", "sk-1")
        kept = hall.house.credentials
        assert kept.secret_for("openai", "https://api.example.com:443") == "sk-1"
        assert kept.secret_for("openai", "https://api.example.org:443") is None
        assert kept.secret_for("other", "https://api.example.com:443") is None


@pytest.mark.parametrize(
    ("name", "origin", "secret"),
    [
        ("Open AI", "https://x", "sk-secret"),
        ("openai", "nowhere", "sk-secret"),
        ("openai", "https://x", ""),
        ("openai", "https://x", "sk-secret\n"),
        ("openai", "https://x", "sk-sécret"),
        ("openai", "https://x", "s" * 8_193),
    ],
)
def test_what_cannot_be_kept_is_refused_without_showing_it(
    tmp_path: Path, name: str, origin: str, secret: str
) -> None:
    # proves: BASE-2
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            with pytest.raises(InvalidFieldError) as refused:
                await put(hall.house, name, origin, secret)
            assert secret == "" or secret not in refused.value.detail
            assert hall.house.credentials.list() == []

    scenario()
