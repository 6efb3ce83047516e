"""Whatever a seat may have seen has a deadline: else nobody would ever say what became of it."""

from clankie.core.errors import ClankieError
from clankie.host.house import House
from clankie.host.seats.desk import Overdue, Uncounted
from simulation.world import World

SOON = 4.0
"""Seconds in which a deadline is set, also on a slow disk; a new alarm comes first."""


async def counted(world: World, house: House) -> None:
    """Look twice: what has none for a while never gets one."""
    try:
        if not (before := await _without(house)):
            return
        await world.clock.sleep(SOON)
        still = before & await _without(house)
    except ClankieError as error:
        world.tell("deadlines", error.code)
        return
    world.alive()
    for one in sorted(still, key=str):
        if not world.usurped:
            world.wrong(f"{one.event} {one.attempt} is at {one.seat} and has no deadline")


async def _without(house: House) -> set[Overdue]:
    alarms, found = house.desk.alarms, set[Overdue]()
    for one in await house.store.mail.in_flight():
        key = Overdue(one.seat, one.event.id, one.event.attempt)
        if not (alarms.has(key) or alarms.has(Uncounted(one.seat))):
            found.add(key)
    return found
