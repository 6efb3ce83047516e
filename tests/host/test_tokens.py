"""Tokens: shown once, stored as hashes, each standing for one principal, and revocable."""

from pathlib import Path

import pytest

from clankie.core.conversation import OPERATOR, Principal
from clankie.core.errors import InvalidFieldError, TokenNotFoundError
from clankie.host import tokens
from clankie.wiring.home import read_operator_token
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.loop import virtual


@virtual
async def test_a_token_opens_as_its_principal_until_it_is_revoked(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-3
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        token, secret = await tokens.issue(hall.house, Principal.DEVICE, "phone")
        other, kept = await tokens.issue(hall.house, Principal.METRICS, "graphs")
        known = hall.house.tokens
        assert known.who(secret) == token
        assert token.principal.principal is Principal.DEVICE
        assert other.principal != token.principal
        assert known.who(secret + "x") is None
        assert known.alive(token.id)
        await tokens.revoke(hall.house, token.id)
        assert known.who(secret) is None
        assert not known.alive(token.id)
        assert known.who(kept) == other
    async with machine.on() as hall:
        known = hall.house.tokens
        assert known.who(secret) is None
        assert not known.alive(token.id)
        assert known.who(kept) == other
        assert [(one.label, one.revoked) for one in await tokens.listed(hall.house)] == [
            ("phone", True),
            ("graphs", False),
        ]


@virtual
async def test_the_operator_is_known_by_the_secret_of_the_state_directory(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-3
    async with Machine(tmp_path, clock).on() as hall:
        token = hall.house.tokens.who(read_operator_token(tmp_path))
        assert token is not None
        assert token.principal == OPERATOR
        assert hall.house.tokens.alive(token.id)
        assert hall.house.tokens.who("") is None


@virtual
async def test_no_secret_is_stored(clock: FakeClock, tmp_path: Path) -> None:
    # proves: BASE-2
    async with Machine(tmp_path, clock).on() as hall:
        _, secret = await tokens.issue(hall.house, Principal.DEVICE, "phone")
    assert secret.encode() not in _stored(tmp_path)
    assert tokens.digest(secret).encode() in _stored(tmp_path)


def _stored(home: Path) -> bytes:
    return b"".join(one.read_bytes() for one in home.glob("clankie.db*"))


@pytest.mark.parametrize(
    "principal", [Principal.OPERATOR, Principal.CAPTAIN, Principal.ROOM, Principal.SEAT]
)
def test_not_everybody_can_be_given_a_token(tmp_path: Path, principal: Principal) -> None:
    # proves: BASE-3
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            with pytest.raises(InvalidFieldError):
                await tokens.issue(hall.house, principal, "mine")

    scenario()


@virtual
async def test_a_label_is_short_and_printable(clock: FakeClock, tmp_path: Path) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        for label in ("", "x" * 81, "a\nb"):
            with pytest.raises(InvalidFieldError):
                await tokens.issue(hall.house, Principal.DEVICE, label)
        assert await tokens.listed(hall.house) == []


@virtual
async def test_a_token_that_is_not_there_cannot_be_revoked(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        with pytest.raises(TokenNotFoundError):
            await tokens.revoke(hall.house, "t-9")
