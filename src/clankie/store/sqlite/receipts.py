"""Reading receipts: an input's row with its attempts and their tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from clankie.core.admission import Mode, Origin, Reach
from clankie.core.conversation import Author, Principal
from clankie.core.delivery import InputState, SeatState, ServiceState
from clankie.core.errors import DeliveryNotFoundError, ReceiptExpiredError
from clankie.core.receipt import Attempt, Delivery, ToolCall
from clankie.store.sqlite import attachments, inputs, usage
from clankie.store.sqlite.attempts import delivery_of
from clankie.store.sqlite.values import moment, moment_or_none

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clankie.store.sqlite.inputs import Input
    from clankie.store.sqlite.sql import Bindings, Cursor

    Run = Callable[[str, Bindings], Cursor]

_ATTEMPTS: Final = """
SELECT id, n, state, started_at, asked_at, ended_at, code, joined, usage, seat, occupant,
  acknowledged_at, proof
FROM attempt
WHERE delivery = ? ORDER BY n"""
_THERE: Final = "AND conversation = (SELECT n FROM conversation WHERE id = :conversation)"
_CALLS: Final = """
SELECT call_id, name, effect, state FROM tool_call WHERE attempt = ? ORDER BY n"""
_OFFERED: Final = f"""
SELECT {inputs.COLUMNS} FROM input
WHERE id IN (SELECT delivery FROM attempt WHERE seat = ? AND state = 'offered')
ORDER BY message_cursor"""
_PAGE: Final = """
SELECT {columns} FROM input WHERE pruned = 0 {conversation} {states} {after}
ORDER BY n LIMIT :limit"""


def read(run: Run, delivery: str) -> Delivery:
    """The receipt. Raises DeliveryNotFoundError, ReceiptExpiredError."""
    row = run(inputs.BY_ID, (delivery,)).fetchone()
    if row is None:
        raise DeliveryNotFoundError(delivery)
    return of(run, inputs.Input(*row))


def of(run: Run, one: Input) -> Delivery:
    """The receipt of a row that was read. Raises ReceiptExpiredError."""
    return assemble(one, attempts(run, one.id))


def attempts(run: Run, delivery: str) -> tuple[Attempt, ...]:
    """What was tried, in order."""
    return tuple(_attempt(run, row) for row in run(_ATTEMPTS, (delivery,)).fetchall())


def _attempt(run: Run, row: tuple[Any, ...]) -> Attempt:
    identity, n, state, started_at, asked_at, ended_at, code, joined, cost, *at_seat = row
    seat, occupant, acknowledged_at, proof = at_seat
    ran = asked_at is not None and seat is None
    calls = run(_CALLS, (identity,)).fetchall() if ran else ()
    return Attempt(
        n=n,
        state=ServiceState(state) if seat is None else SeatState(state),
        started_at=moment(started_at),
        seat=seat,
        occupant=occupant,
        acknowledged_at=moment_or_none(acknowledged_at),
        proof=proof,
        asked_at=moment_or_none(asked_at),
        ended_at=moment_or_none(ended_at),
        code=code,
        into=None if joined is None else delivery_of(joined),
        usage=usage.decode(cost),
        tools=tuple(
            ToolCall(call_id=call_id, name=name, effect=bool(effect), state=state)
            for call_id, name, effect, state in calls
        ),
    )


def _counts(attempt: Attempt) -> bool:
    """Whether it was a try of the service lane: what a seat refused says nothing of a wake."""
    return attempt.seat is None and attempt.state is not ServiceState.RELEASED


def assemble(one: Input, tried: tuple[Attempt, ...]) -> Delivery:
    """The value of a row. Raises ReceiptExpiredError: it was pruned."""
    if one.text is None:
        raise ReceiptExpiredError(one.id)
    return Delivery(
        id=one.id,
        conversation=one.conversation,
        origin=Origin(one.origin),
        author=Author(Principal(one.principal), one.author),
        text=one.text,
        mode=Mode(one.mode),
        fingerprint=one.fingerprint,
        state=InputState(one.state),
        admitted_at=moment(one.admitted_at),
        message_cursor=one.message_cursor,
        settled_at=moment_or_none(one.settled_at),
        code=one.code,
        detail=one.detail,
        reply_cursor=one.reply_cursor,
        reply_delivery_id=one.reply_delivery_id,
        absorbed_by=one.absorbed_by,
        retry_of=one.retry_of,
        attachments=attachments.decode(one.attachments),
        not_before=moment_or_none(one.not_before),
        held=one.held,
        depth=one.depth,
        reach=Reach(one.reach),
        occupant=one.occupant,
        channel=one.channel,
        name=one.name or "",
        tries=sum(a.n > one.tries_base and _counts(a) for a in tried),
        attempts=tried,
    )


def offered(run: Run, seat: str) -> Sequence[Delivery]:
    """See MailStore.offered."""
    found = run(_OFFERED, (seat,)).fetchall()
    return [of(run, inputs.Input(*row)) for row in found]


def page(
    run: Run,
    *,
    conversation: str | None,
    states: frozenset[InputState] | None,
    after: str | None,
    limit: int,
) -> Sequence[Delivery]:
    """See DeliveryStore.list. Raises DeliveryNotFoundError: there is no `after`."""
    statement = _PAGE.format(
        columns=inputs.COLUMNS,
        conversation="" if conversation is None else _THERE,
        states="" if states is None else f"AND state IN ({_words(states)})",
        after="" if after is None else "AND n > (SELECT n FROM input WHERE id = :after)",
    )
    if after is not None and run(inputs.BY_ID, (after,)).fetchone() is None:
        raise DeliveryNotFoundError(after)
    values = {"limit": limit, "conversation": conversation, "after": after}
    found = run(statement, values).fetchall()
    return [of(run, inputs.Input(*row)) for row in found]


def _words(states: frozenset[InputState]) -> str:
    return ", ".join(f"'{state}'" for state in sorted(states))
