"""What the owner asked a harness to stop: it hears of that, and nobody else gets the input."""

from simulation.glass import Glass
from simulation.ledger import Ledger
from simulation.world import World

Key = tuple[str, int]
"""An event and its attempt."""


class Stops:
    """What the bridges of one seat were told to stop, since the service began."""

    def __init__(self, world: World, ledger: Ledger, glass: Glass, seat: str) -> None:
        self._world, self._ledger, self._glass, self._seat = world, ledger, glass, seat
        self._told: set[Key] = set()

    def boots(self) -> None:
        """A restart of the service asks again."""
        self._told.clear()

    def asked(self) -> set[Key]:
        """What this seat has been asked to stop until now."""
        seats = self._ledger.seats
        return {key for key, seat in seats.stops.items() if seat == self._seat}

    def page(self, told: tuple[Key, ...], before: set[Key], *, listens: bool) -> None:
        """A page came. `before`: what was asked when its poll began; `listens`: it binds."""
        if told:
            self._world.tell(self._seat, "is asked to stop", told)
        self._told.update(told)
        for key in self._glass.stopping(self._seat):
            if listens and key in before and key not in self._told:
                self._world.wrong(f"{self._seat} polls and is not told to stop {key}")
