"""Bearers: made here, shown once, stored as hashes, each standing for one principal."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Self

from clankie.core.conversation import OPERATOR, Author, Principal
from clankie.core.errors import InvalidFieldError, TokenNotFoundError
from clankie.host.bearer import Token

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clankie.host.house import House

ISSUED = frozenset({Principal.DEVICE, Principal.WORKER, Principal.METRICS})
"""Principals that may be given a token here. A seat gets its own for its grant: another one would
be of no seat, and open next to nothing. Fleets get theirs with the fleet link."""

LABEL_LIMIT = 80


def digest(secret: str) -> str:
    """SHA-256, hexadecimal. The secrets have 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


class Tokens:
    """Who a bearer is. Held in memory; the store has the same hashes."""

    def __init__(self, operator: Token, operator_secret: str) -> None:
        self._operator = operator
        self._operator_digest = digest(operator_secret)
        self._known: dict[str, Token] = {}
        self._revoked: set[str] = set()

    @classmethod
    def for_operator(cls, secret: str, now: datetime) -> Self:
        """The operator's own token and no other yet."""
        return cls(
            Token(id="operator", principal=OPERATOR, label="operator", created_at=now), secret
        )

    def add(self, token: Token, secret_digest: str) -> None:
        """Know one more."""
        if token.revoked:
            self._revoked.add(token.id)
        else:
            self._known[secret_digest] = token

    def drop(self, token: str) -> None:
        """Know one less: streams it opened see that it is gone."""
        self._revoked.add(token)
        self._known = {key: one for key, one in self._known.items() if one.id != token}

    def who(self, secret: str) -> Token | None:
        """The record of this secret, None when nobody has it."""
        given = digest(secret)
        if hmac.compare_digest(given, self._operator_digest):
            return self._operator
        return self._known.get(given)

    def alive(self, token: str) -> bool:
        """Whether it still opens anything."""
        return token not in self._revoked


async def load(house: House) -> None:
    """Know all that were issued before."""
    for token, secret_digest in await house.store.owner.tokens():
        house.tokens.add(token, secret_digest)


def issuable(name: str) -> Principal:
    """The principal of this name. Raises InvalidFieldError: it is given no token."""
    for one in ISSUED:
        if one == name:
            return one
    seat = ". A seat gets its own: use `clankie seat open`" if name == Principal.SEAT else ""
    raise InvalidFieldError("principal", f"one of {', '.join(sorted(ISSUED))}{seat}")


async def issue(house: House, principal: Principal, label: str) -> tuple[Token, str]:
    """Make one; its secret is returned here and nowhere else.

    Raises:
        InvalidFieldError: a principal that holds no token, or a label out of bounds.
    """
    issuable(principal)
    if not (1 <= len(label) <= LABEL_LIMIT) or not label.isprintable():
        raise InvalidFieldError("label", f"1 to {LABEL_LIMIT} printable characters")
    name, secret = house.ids.new("t"), house.ids.secret()
    token = Token(
        id=name,
        principal=Author(principal, f"{principal}-{name}"),
        label=label,
        created_at=house.clock.now(),
    )
    await house.store.owner.add_token(token, digest(secret))
    house.tokens.add(token, digest(secret))
    return token, secret


async def listed(house: House) -> Sequence[Token]:
    """All that were issued, revoked ones too."""
    return [token for token, _ in await house.store.owner.tokens()]


async def revoke(house: House, token: str) -> None:
    """It opens nothing any more. Raises TokenNotFoundError."""
    if all(one.id != token for one, _ in await house.store.owner.tokens()):
        raise TokenNotFoundError(token)
    await house.store.owner.revoke_token(token)
    house.tokens.drop(token)
