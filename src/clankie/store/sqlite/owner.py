"""Settings and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from clankie.core.conversation import Author, Principal
from clankie.core.errors import (
    InvalidFieldError,
    SettingsConflictError,
    TokenNotFoundError,
)
from clankie.core.settings import DEFAULTS, Settings, merge, to_wire
from clankie.host.bearer import Token
from clankie.store.sqlite.sql import rows
from clankie.store.sqlite.values import millis, moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.store.sqlite.sql import Database
    from clankie.store.sqlite.unit import Transaction

_SETTINGS: Final = "SELECT revision, body FROM setting"
_REVISION: Final = "SELECT revision FROM setting"
_SAVE: Final = "INSERT OR REPLACE INTO setting (id, revision, body, at) VALUES (1, ?, ?, ?)"
_TOKENS: Final = """
SELECT id, principal, author, label, created_at, revoked, coalesce(sha256, '') FROM token
ORDER BY created_at, id"""
_ADD_BEARER: Final = """
INSERT OR IGNORE INTO token (id, principal, author, label, created_at, revoked, sha256)
VALUES (?, ?, ?, ?, ?, ?, ?)"""
_REVOKE: Final = "UPDATE token SET revoked = 1 WHERE id = ?"


def settings(connection: Database) -> tuple[int, Settings]:
    """See OwnerStore.settings."""
    row = connection.execute(_SETTINGS).fetchone()
    if row is None:
        return 0, DEFAULTS
    revision, body = row
    return revision, _merged(msgspec.json.decode(body))


def _merged(stored: Mapping[str, Mapping[str, object]]) -> Settings:
    """The stored choices over the defaults.

    One that no longer exists, or is out of bounds now, falls back: a start must not fail over it.
    """
    tree = DEFAULTS
    for group, values in stored.items():
        for name, value in values.items():
            for part in _parts(value):
                try:
                    tree = merge(tree, {group: {name: part}})
                except InvalidFieldError:
                    continue
    return tree


def _parts(value: object) -> Sequence[object]:
    """A choice that is a mapping by its entries: one that falls back takes no other with it."""
    if isinstance(value, Mapping):
        return [{key: one} for key, one in cast("Mapping[str, object]", value).items()]
    return [value]


def save_settings(tx: Transaction, tree: Settings, expected_revision: int) -> int:
    """See OwnerStore.save_settings. Only what differs from the defaults is kept."""
    revision = tx.value(_REVISION) or 0
    if revision != expected_revision:
        raise SettingsConflictError(revision)
    body = msgspec.json.encode(_chosen(to_wire(tree), to_wire(DEFAULTS))).decode()
    tx.run(_SAVE, (revision + 1, body, tx.at))
    return cast("int", revision + 1)


def _chosen(tree: dict[str, Any], defaults: dict[str, Any]) -> dict[str, dict[str, object]]:
    changed = {
        group: {name: value for name, value in values.items() if value != defaults[group][name]}
        for group, values in tree.items()
    }
    return {group: values for group, values in changed.items() if values}


def add_token(tx: Transaction, token: Token, secret_sha256: str) -> None:
    """See OwnerStore.add_token."""
    values = (
        token.id,
        token.principal.principal,
        token.principal.id,
        token.label,
        millis(token.created_at),
        int(token.revoked),
        secret_sha256,
    )
    tx.run(_ADD_BEARER, values)


def tokens(connection: Database) -> Sequence[tuple[Token, str]]:
    """See OwnerStore.tokens."""
    return [_token(row) for row in rows(connection, _TOKENS)]


def _token(row: tuple[Any, ...]) -> tuple[Token, str]:
    identity, principal, author, label, created_at, revoked, sha256 = row
    token = Token(
        id=identity,
        principal=Author(Principal(principal), author),
        label=label,
        created_at=moment(created_at),
        revoked=bool(revoked),
    )
    return token, sha256


def revoke_token(tx: Transaction, token: str) -> None:
    """See OwnerStore.revoke_token."""
    if not tx.changed(_REVOKE, (token,)):
        raise TokenNotFoundError(token)
