"""The objective of a conversation: set by the owner, pursued in steps, ended by either.

`go_on` may be called at any time and again after a crash: what it does next follows from what is
stored, and each step is admitted under an id of its own, so none is admitted twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clankie.core.admission import Offer, Origin
from clankie.core.conversation import CAPTAIN
from clankie.core.delivery import FINAL, InputState
from clankie.core.driver import Presence
from clankie.core.errors import (
    ConversationClosedError,
    DeliveryNotFoundError,
    FaultError,
    ReceiptExpiredError,
    RefusedError,
    UncertainError,
)
from clankie.core.goal import (
    Goal,
    GoalNotFoundError,
    GoalState,
    SeatDrivesError,
    after_step,
    check_new,
    finished,
    stepped,
)
from clankie.core.ids import qualified
from clankie.host import journal
from clankie.host.admit import admit
from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from clankie.core.receipt import Delivery
    from clankie.host.house import House


async def put(house: House, conversation: str, text: str, token_budget: int) -> Goal:
    """Set the objective, in place of any earlier one, and begin.

    Raises:
        InvalidFieldError: text or budget out of bounds.
        SeatDrivesError: a seat drives the conversation.
        ConversationClosedError, ConversationNotFoundError.
    """
    check_new(text, token_budget)
    return await to_the_end(_put(house, conversation, text, token_budget))


async def _put(house: House, conversation: str, text: str, token_budget: int) -> Goal:
    here = await house.store.conversations.get(conversation)
    if here.closed:
        raise ConversationClosedError(conversation)
    seat = house.seats.standing(conversation)
    if seat is not None and seat.presence is not Presence.ABSENT:
        raise SeatDrivesError
    goal = Goal(
        id=house.ids.new("goal"),
        conversation=conversation,
        text=text.strip(),
        token_budget=token_budget,
        created_at=house.clock.now(),
    )
    try:
        await house.store.goals.put(goal)
    except UncertainError:
        # It may be stored all the same, and then it is pursued although nobody was told.
        house.goals.add(conversation)
        house.captain.nudge(conversation)
        raise
    house.goals.add(conversation)
    try:
        await go_on(house, conversation)
        return await get(house, conversation) or goal
    except (FaultError, UncertainError) as error:
        journal.warn("goal begins later", conversation=conversation, why=error.detail)
        house.captain.nudge(conversation)
        return goal


async def get(house: House, conversation: str) -> Goal | None:
    """The objective, whatever became of it."""
    await house.store.conversations.get(conversation)
    return await house.store.goals.get(conversation)


async def remove(house: House, conversation: str) -> None:
    """Forget it; a step that runs goes on to its end, and no other follows."""
    await house.store.conversations.get(conversation)
    await house.store.goals.remove(conversation)
    house.goals.discard(conversation)


async def finish(house: House, conversation: str, *, reached: bool) -> None:
    """A step says that the objective is reached, or cannot be. Raises GoalNotFoundError."""
    goal = await house.store.goals.get(conversation)
    while goal is not None and goal.state is GoalState.ACTIVE:
        if await house.store.goals.advance(goal, finished(goal, reached=reached)):
            return
        goal = await house.store.goals.get(conversation)
    raise GoalNotFoundError(conversation)


async def go_on(house: House, conversation: str) -> None:
    """Take account of the present step if it has ended, then admit the next if one follows."""
    goal = await house.store.goals.get(conversation)
    if goal is None:
        return
    if not goal.counted:
        try:
            step = await _step(house, goal)
        except ReceiptExpiredError as error:
            # It ended long ago and was never counted; what it cost is gone with its receipt.
            await _refused(house, goal, error)
            return
        if step is None:
            # The process ended between deciding on the step and admitting it.
            await _admit(house, goal)
            return
        goal = await _counted(house, goal, step)
    if goal is None or goal.state is not GoalState.ACTIVE:
        return
    following = stepped(goal)
    if await house.store.goals.advance(goal, following):
        await _admit(house, following)


async def _counted(house: House, goal: Goal, step: Delivery) -> Goal | None:
    """The goal after its step; None when that has not ended, or somebody else counted it."""
    if not (step.state in FINAL or step.state is InputState.UNCERTAIN):
        return None
    tokens = sum(one.usage.tokens for one in step.attempts if one.usage is not None)
    after = after_step(goal, step.state, tokens, step.code)
    if not await house.store.goals.advance(goal, after):
        return None
    if after.state is not GoalState.ACTIVE:
        journal.note("goal ended", conversation=goal.conversation, why=after.reason)
        text = f"The goal is {after.state} ({after.reason})."
        await house.store.conversations.notice(goal.conversation, "goal", text)
    return after


async def _step(house: House, goal: Goal) -> Delivery | None:
    try:
        return await house.store.deliveries.get(_delivery(goal))
    except DeliveryNotFoundError:
        return None


async def _admit(house: House, goal: Goal) -> None:
    offer = Offer(
        delivery_id=_delivery(goal),
        conversation=goal.conversation,
        text=goal.prompt,
        origin=Origin.GOAL,
        author=CAPTAIN,
    )
    try:
        await admit(house, offer)
    except RefusedError as error:
        await _refused(house, goal, error)


async def _refused(house: House, goal: Goal, error: RefusedError) -> None:
    """No step comes of it: the owner decides what becomes of the goal."""
    journal.warn("goal step refused", conversation=goal.conversation, why=error.detail)
    await house.store.goals.advance(goal, after_step(goal, InputState.FAILED, 0, error.code))


def _delivery(goal: Goal) -> str:
    return qualified(CAPTAIN.principal, goal.step_id)
