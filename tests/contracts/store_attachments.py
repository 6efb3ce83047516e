"""Attachments: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

import asyncio
import hashlib

import pytest

from clankie.core.conversation import OPERATOR, Attachment, Message
from clankie.core.errors import (
    AttachmentNotFoundError,
    DeliveryConflictError,
    DeliveryNotFoundError,
)
from clankie.core.ids import HEAD
from clankie.core.settings import ProjectionLimits
from clankie.host.storage import Store
from contracts.store_kit import World, admitted, log, made, reserved

CAT = b"\x89PNG a cat" * 100


def attachment(digest: str, name: str = "cat.png") -> Attachment:
    return Attachment(digest=digest, name=name, media_type="image/png", size=len(CAT))


async def test_bytes_are_kept_under_their_own_digest_once(store: Store) -> None:
    # proves: DAY-2
    digests = await asyncio.gather(*(store.attachments.put(CAT, "image/png") for _ in range(3)))
    assert set(digests) == {hashlib.sha256(CAT).hexdigest()}
    assert await store.attachments.facts(digests[0]) == ("image/png", len(CAT))
    assert await store.attachments.get(digests[0]) == ("image/png", CAT)
    facts = await store.facts()
    assert (facts["attachments"], facts["attachment_bytes"]) == (1, len(CAT))


async def test_nothing_at_all_is_bytes_too(store: Store) -> None:
    digest = await store.attachments.put(b"", "text/plain")
    assert await store.attachments.get(digest) == ("text/plain", b"")


async def test_the_same_bytes_keep_the_type_they_came_with_first(store: Store) -> None:
    digest = await store.attachments.put(CAT, "image/png")
    await store.attachments.put(CAT, "text/html")
    assert (await store.attachments.get(digest))[0] == "image/png"


@pytest.mark.parametrize("digest", ["0" * 64, "", "../../clankie.db"])
async def test_what_was_never_kept_is_not_there(store: Store, digest: str) -> None:
    with pytest.raises(AttachmentNotFoundError):
        await store.attachments.facts(digest)
    with pytest.raises(AttachmentNotFoundError):
        await store.attachments.get(digest)


async def test_a_message_carries_its_attachments_to_log_receipt_and_model(store: Store) -> None:
    # proves: DAY-2
    one = attachment(await store.attachments.put(CAT, "image/png"))
    delivery = await admitted(store, "m-1", "Look", attachments=(one,))
    assert delivery.attachments == (one,)
    assert await store.deliveries.get("m-1") == delivery
    assert (await log(store))[0]["attachments"] == [one.to_wire()]
    assert (await reserved(store)).delivery.attachments == (one,)
    await store.deliveries.start(await reserved(store))
    seen = await store.conversations.project(HEAD, ProjectionLimits())
    body = seen.entries[0].body
    assert isinstance(body, Message)
    assert body.attachments == (one,)


async def test_the_same_words_with_other_attachments_are_another_input(store: Store) -> None:
    # proves: FENCE-1
    one = attachment(await store.attachments.put(CAT, "image/png"))
    await admitted(store, "m-1", "Look", attachments=(one,))
    again = await admitted(store, "m-1", "Look", attachments=(one,))
    assert again.attachments == (one,)
    with pytest.raises(DeliveryConflictError):
        await admitted(store, "m-1", "Look")


async def test_an_input_that_names_what_is_not_there_is_refused_whole(store: Store) -> None:
    one = attachment(await store.attachments.put(CAT, "image/png"))
    with pytest.raises(AttachmentNotFoundError):
        await admitted(store, "m-1", "Look", attachments=(one, attachment("0" * 64)))
    with pytest.raises(DeliveryNotFoundError):
        await store.deliveries.get("m-1")
    assert await log(store) == []


async def test_what_no_message_ever_named_goes_with_old_evidence(
    store: Store, world: World
) -> None:
    named = await store.attachments.put(CAT, "image/png")
    await admitted(store, "m-1", "Look", attachments=(attachment(named),))
    left = await store.attachments.put(b"never sent", "text/plain")
    await world.clock.advance(60)
    recent = await store.attachments.put(b"just now", "text/plain")
    await store.prune(world.clock.now())
    with pytest.raises(AttachmentNotFoundError):
        await store.attachments.get(left)
    assert (await store.attachments.get(named))[1] == CAT
    assert (await store.attachments.get(recent))[1] == b"just now"


async def test_a_purge_takes_what_no_other_conversation_names(store: Store) -> None:
    for name in ("den", "lair"):
        await made(store, name)
    shared = await store.attachments.put(CAT, "image/png")
    own = await store.attachments.put(b"mine", "text/plain")
    for n, (name, digest) in enumerate((("den", shared), ("den", own), ("lair", shared))):
        await admitted(store, f"m-{n}", "x", conversation=name, attachments=(attachment(digest),))
    await store.conversations.close("den", OPERATOR)
    await store.conversations.purge("den")
    with pytest.raises(AttachmentNotFoundError):
        await store.attachments.get(own)
    assert (await store.attachments.get(shared))[1] == CAT
    assert (await store.facts())["attachments"] == 1
    again = await store.attachments.put(b"mine", "text/plain")
    assert (await store.attachments.get(again))[1] == b"mine"
