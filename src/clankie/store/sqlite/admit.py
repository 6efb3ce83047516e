"""Admission: decide on what is read under the transaction, then record all of it at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from clankie.core.admission import Known, Origin, Reach, Standing, Verdict, decide
from clankie.core.delivery import InputState
from clankie.core.errors import DeliveryNotFoundError, WakeNotFoundError
from clankie.core.receipt import Delivery
from clankie.host.storage import Admitted
from clankie.store.sqlite import attachments, events, offers, receipts, seats

if TYPE_CHECKING:
    from clankie.core.admission import Offer
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.unit import Transaction

_KNOWN: Final = "SELECT fingerprint, state, pruned FROM input WHERE id = ?"
_UNRESOLVED: Final = """
SELECT id FROM input WHERE conversation = ? AND fingerprint = ? AND state = 'uncertain'
ORDER BY n LIMIT 1"""
_RETRIED: Final = "SELECT state FROM input WHERE id = ? AND conversation = ?"
_WAKE: Final = "SELECT delivery FROM wake WHERE id = ? AND conversation = ?"
_WAKE_ADMITTED: Final = """
UPDATE wake SET delivery = ?, held = NULL WHERE id = ? AND delivery IS NULL"""


def admit(tx: Transaction, offer: Offer, bound: int) -> Admitted:
    """See DeliveryStore.admit."""
    if tx.behind.holds(offer.delivery_id) or _looks_further(offer):
        tx.behind.write(tx)
    head = tx.behind.head(tx, offer.conversation)
    known = tx.row(_KNOWN, (offer.delivery_id,))
    if known is None and offer.wake is not None:
        earlier = _wake_delivery(tx, offer.wake, head.n)
        if earlier is not None:
            return _answer(head, receipts.read(tx.run, earlier), fresh=False)
    if known is None and offer.reach is Reach.HELD_QUEUE:
        offer = _queued_for(tx, head, offer)
    if decide(offer, _standing(tx, offer, head, known, bound)) is Verdict.REPEAT:
        return _answer(head, receipts.read(tx.run, offer.delivery_id), fresh=False)
    return _answer(head, _record(tx, offer, head), fresh=True)


def _queued_for(tx: Transaction, head: Head, offer: Offer) -> Offer:
    """A Queue belongs to the seat that sits there now; where it has left meanwhile, to nobody."""
    there = seats.attached_to(tx.run, head)
    if there is not None and there.occupant.id == offer.occupant:
        return offer
    return replace(offer, reach=Reach.CONVERSATION, occupant=None)


def _looks_further(offer: Offer) -> bool:
    """Whether rows of other inputs, or of more than inputs, have to do with it."""
    return (
        offer.wake is not None
        or offer.retry_of is not None
        or offer.automatic
        or bool(offer.attachments)
        or offer.occupant is not None
    )


def _answer(head: Head, delivery: Delivery, *, fresh: bool) -> Admitted:
    return Admitted(delivery, fresh=fresh, revision=head.revision, cursor=head.cursor)


def _wake_delivery(tx: Transaction, wake: str, conversation: int) -> str | None:
    """The delivery a wake was admitted as, None while it waits. Raises WakeNotFoundError."""
    row = tx.row(_WAKE, (wake, conversation))
    if row is None:
        raise WakeNotFoundError(wake)
    delivery: str | None = row[0]
    return delivery


def _standing(
    tx: Transaction, offer: Offer, head: Head, known: tuple[str, str, int] | None, bound: int
) -> Standing:
    if known is not None:
        fingerprint, state, pruned = known
        return Standing(
            conversation=head,
            known=Known(fingerprint, InputState(state), bool(pruned)),
            bound=bound,
        )
    unresolved = retried = None
    if offer.automatic:
        row = tx.row(_UNRESOLVED, (head.n, offer.fingerprint))
        unresolved = None if row is None else row[0]
    if offer.retry_of is not None:
        row = tx.row(_RETRIED, (offer.retry_of, head.n))
        if row is None:
            raise DeliveryNotFoundError(offer.retry_of)
        retried = InputState(row[0])
    reserved = None if offer.occupant is None else offers.reserved(tx, offer.occupant)
    return Standing(
        conversation=head,
        unresolved=unresolved,
        retried=retried,
        reserved=reserved,
        bound=bound,
    )


def _record(tx: Transaction, offer: Offer, head: Head) -> Delivery:
    attachments.use(tx, head, offer.attachments)
    owner = offer.origin is Origin.OWNER
    said = (events.message(tx, head, offer), events.admitted(tx, head, offer.delivery_id))
    delivery = Delivery(
        id=offer.delivery_id,
        conversation=head.id,
        origin=offer.origin,
        author=offer.author,
        text=offer.text,
        mode=offer.mode,
        fingerprint=offer.fingerprint,
        state=InputState.QUEUED,
        admitted_at=tx.now,
        message_cursor=head.cursor - 1,
        retry_of=offer.retry_of,
        attachments=offer.attachments,
        depth=offer.depth,
        reach=offer.reach,
        occupant=offer.occupant,
        channel=offer.channel,
        name=offer.name,
    )
    tx.behind.add(tx, head, delivery, said)
    head.revision += owner
    if offer.wake is not None:
        tx.behind.write(tx)
        tx.run(_WAKE_ADMITTED, (delivery.id, offer.wake))
    return delivery
