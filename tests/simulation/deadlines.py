"""Whatever a seat may have seen has a deadline: else nobody would ever say what became of it."""

from clankie.core.errors import ClankieError
from clankie.host.house import House
from clankie.host.seats.desk import Overdue, Uncounted
from simulation.world import World

SOON = 4.0
"""Seconds in which a deadline is set, also on a slow disk; a new alarm comes first."""

LOOKS = 10
"""How often what is past its deadline is looked at: it may stand in line before a slow disk."""


async def counted(world: World, house: House) -> None:
    """Look twice: what has none for a while never gets one."""
    left = LOOKS
    try:
        still = await _without(house)
        while still:
            await world.clock.sleep(SOON)
            still &= await _without(house)
            left -= 1
            # An alarm that rings is none any more: its event is known till the store has lapsed it.
            lost = still - house.desk.given.keys() if left else still
            _report(world, lost)
            still -= lost
    except ClankieError as error:
        world.tell("deadlines", error.code)


def _report(world: World, lost: set[Overdue]) -> None:
    world.alive()
    for one in sorted(lost, key=str):
        if not world.usurped:
            world.wrong(f"{one.event} {one.attempt} is at {one.seat} and has no deadline")


async def _without(house: House) -> set[Overdue]:
    alarms, found = house.desk.alarms, set[Overdue]()
    for one in await house.store.mail.in_flight():
        key = Overdue(one.seat, one.event.id, one.event.attempt)
        if not (alarms.has(key) or alarms.has(Uncounted(one.seat))):
            found.add(key)
    return found
