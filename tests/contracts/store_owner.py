"""Settings and tokens: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

import pytest

from clankie.core.conversation import OPERATOR
from clankie.core.errors import (
    SettingsConflictError,
    TokenNotFoundError,
)
from clankie.core.settings import DEFAULTS, merge
from clankie.host.storage import Store, Token
from contracts.store_kit import World


async def test_settings_are_the_defaults_until_they_are_saved(store: Store) -> None:
    # proves: BASE-1
    assert await store.owner.settings() == (0, DEFAULTS)
    chosen = merge(DEFAULTS, {"models": {"model": "openai-chat:x"}, "wakes": {"attempts": 5}})
    assert await store.owner.save_settings(chosen, 0) == 1
    assert await store.owner.settings() == (1, chosen)
    with pytest.raises(SettingsConflictError):
        await store.owner.save_settings(DEFAULTS, 0)
    assert await store.owner.settings() == (1, chosen)


async def test_tokens_are_kept_and_revoked(store: Store, world: World) -> None:
    token = Token(id="t-1", principal=OPERATOR, label="laptop", created_at=world.clock.now())
    for _ in range(2):
        await store.owner.add_token(token, "ab" * 32)
    assert await store.owner.tokens() == [(token, "ab" * 32)]
    await store.owner.revoke_token("t-1")
    ((kept, _),) = await store.owner.tokens()
    assert kept.revoked
    with pytest.raises(TokenNotFoundError):
        await store.owner.revoke_token("t-2")
