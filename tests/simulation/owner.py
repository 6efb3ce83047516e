"""What an owner does now and then to whole conversations."""

from collections.abc import Awaitable, Callable, Sequence

from clankie.core.conversation import Conversation
from clankie.core.receipt import Delivery
from clankie.host import conversations
from clankie.host.house import House
from simulation.ledger import Ledger
from simulation.world import World


class Owner:
    """One owner. `house` and `places` say where, at the moment of asking."""

    def __init__(
        self,
        world: World,
        ledger: Ledger,
        house: Callable[[], House],
        places: Callable[[], Sequence[str]],
    ) -> None:
        self._world, self._ledger = world, ledger
        self._house, self._places = house, places

    def verbs(self) -> list[tuple[int, Callable[[], Awaitable[None]]]]:
        """How often each of them."""
        return [(2, self._rename), (1, self._model), (4, self._purge)]

    async def _rename(self) -> None:
        house, place = self._house(), self._world.chance.choice(self._places())
        here = await house.store.conversations.get(place)
        self._now(await conversations.rename(house, place, "renamed", here.revision))

    async def _model(self) -> None:
        house, place = self._house(), self._world.chance.choice(self._places())
        model = self._world.chance.choice((None, "practice", "openai-chat:m3"))
        here = await house.store.conversations.get(place)
        self._now(await conversations.set_model(house, place, model, here.revision))

    def _now(self, after: Conversation) -> None:
        self._world.alive()
        known = self._ledger.revisions
        known[after.id] = max(known.get(after.id, 0), after.revision)

    async def _purge(self) -> None:
        """Closed ones alone can be, and a seat may still hold what it was given there."""
        house, place = self._house(), self._world.chance.choice(self._places())
        # Evidence goes with it, also when nobody hears that it was done.
        if (await house.store.conversations.get(place)).closed:
            self._world.pruned = True
        await conversations.purge(house, place)
        self._world.alive()
        self._world.tell("purged", place)


def asked_to_stop(ledger: Ledger, got: Delivery) -> None:
    """Somebody was promised that what this went to will be asked to stop."""
    last = got.attempts[-1] if got.attempts else None
    if last is not None and last.seat is not None and last.into is None:
        ledger.seats.stops[got.id, last.n] = last.seat
