"""A world of ids, texts and revisions: whatever is offered, an id is one input for ever."""

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from clankie.core.admission import Known, Mode, Offer, Origin, Standing, Verdict, decide
from clankie.core.conversation import Kind
from clankie.core.delivery import InputState
from clankie.core.errors import (
    BackpressureError,
    ClankieError,
    ConversationClosedError,
    ConversationReadOnlyError,
    DeliveryConflictError,
    ReceiptExpiredError,
    RevisionConflictError,
    UnconfirmedError,
)
from core.kit import conversation

IDS = ["m-1", "m-2", "m-3", "m-4"]
TEXTS = ["Hello.", " Hello.\r\n", "Bye.", "bye."]
PLACES = {"garden": Kind.WORKSPACE, "kitchen": Kind.GLOBAL, "discord-text-9": Kind.ROOM}
BOUND = 3

OFFERS = st.builds(
    Offer,
    delivery_id=st.sampled_from(IDS),
    conversation=st.sampled_from(sorted(PLACES)),
    text=st.sampled_from(TEXTS),
    mode=st.sampled_from(Mode),
    origin=st.sampled_from([Origin.OWNER, Origin.ROOM, Origin.WAKE]),
    expected_revision=st.none() | st.integers(0, 3),
    automatic=st.booleans(),
)


def content(one: Offer) -> tuple[str, str, str]:
    """What makes two offers the same input, without a hash."""
    return one.conversation, one.mode, " ".join(one.text.split())


class World(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.places = {one: conversation(id=one, kind=kind) for one, kind in PLACES.items()}
        self.places = {one: replace(c, revision=0) for one, c in self.places.items()}
        self.inputs: dict[str, list[Offer]] = {one: [] for one in IDS}
        self.known: dict[str, Known] = {}

    def standing(self, given: Offer) -> Standing:
        unresolved = (
            one
            for one, found in self.known.items()
            if found.state is InputState.UNCERTAIN
            and self.inputs[one][0].conversation == given.conversation
            and found.fingerprint == given.fingerprint
        )
        return Standing(
            conversation=self.places[given.conversation],
            known=self.known.get(given.delivery_id),
            unresolved=next(unresolved, None),
            bound=BOUND,
        )

    def expected(self, given: Offer, found: Standing) -> Verdict | type[ClankieError]:
        """The order of checks, as the protocol lists it."""
        first = self.inputs[given.delivery_id][:1]
        same = [content(one) for one in first] == [content(given)]
        lost = found.known is not None and found.known.state is InputState.UNCERTAIN
        place = self.places[given.conversation]
        checks: list[tuple[bool, Verdict | type[ClankieError]]] = [
            (
                place.kind is Kind.ROOM and given.origin is Origin.OWNER,
                ConversationReadOnlyError,
            ),
            (bool(first) and not same and lost, UnconfirmedError),
            (bool(first) and not same, DeliveryConflictError),
            (found.known is not None and found.known.pruned, ReceiptExpiredError),
            (lost and given.automatic, UnconfirmedError),
            (bool(first), Verdict.REPEAT),
            (place.closed, ConversationClosedError),
            (given.automatic and found.unresolved is not None, UnconfirmedError),
            (given.expected_revision not in {None, place.revision}, RevisionConflictError),
            (place.waiting >= BOUND, BackpressureError),
        ]
        return next((answer for applies, answer in checks if applies), Verdict.ADMIT)

    @rule(given=OFFERS)
    def offer(self, given: Offer) -> None:
        found = self.standing(given)
        expected = self.expected(given, found)
        before = (dict(self.places), dict(self.known))
        answer = self.answer(given, found)
        assert answer is expected
        assert (self.places, self.known) == before
        if answer is Verdict.ADMIT:
            self.record(given)

    def answer(self, given: Offer, found: Standing) -> Verdict | type[ClankieError]:
        try:
            return decide(given, found)
        except ClankieError as refused:
            return type(refused)

    def record(self, given: Offer) -> None:
        place = self.places[given.conversation]
        self.inputs[given.delivery_id].append(given)
        self.known[given.delivery_id] = Known(given.fingerprint, InputState.QUEUED, pruned=False)
        self.places[given.conversation] = replace(
            place,
            cursor=place.cursor + 1,
            waiting=place.waiting + 1,
            revision=place.revision + (given.origin is Origin.OWNER),
        )

    @rule(one=st.sampled_from(IDS), state=st.sampled_from(InputState), pruned=st.booleans())
    def move_on(self, one: str, state: InputState, pruned: bool) -> None:
        """An input goes on; only what is confirmed is ever pruned."""
        if one in self.known:
            found = self.known[one]
            pruned = pruned and state is InputState.SETTLED
            self.known[one] = replace(found, state=state, pruned=pruned or found.pruned)
            if found.pruned:
                self.known[one] = found

    @rule(one=st.sampled_from(sorted(PLACES)), closed=st.booleans(), waiting=st.integers(0, 4))
    def change(self, one: str, closed: bool, waiting: int) -> None:
        self.places[one] = replace(
            self.places[one],
            closed=closed,
            waiting=waiting,
            revision=self.places[one].revision + 1,
        )

    @invariant()
    def no_id_has_two_inputs(self) -> None:
        assert all(len(inputs) <= 1 for inputs in self.inputs.values())


def test_whatever_is_offered_an_id_is_one_input_and_a_refusal_records_nothing() -> None:
    # proves: FENCE-1, FENCE-10
    run_state_machine_as_test(World)
