"""Faults of the fence: delivery, admission and the choice of a driver. See faults.py."""

from core import faults_seats

DELIVERY = [
    (
        "an uncertain input waits again",
        "_I.UNCERTAIN: frozenset({_I.RUNNING,",
        "_I.UNCERTAIN: frozenset({_I.RUNNING, _I.QUEUED,",
    ),
    (
        "an input settles without having run",
        "_I.QUEUED: frozenset({_I.RUNNING,",
        "_I.QUEUED: frozenset({_I.RUNNING, _I.SETTLED,",
    ),
    (
        "a closed conversation cannot drop what waits",
        "_I.RUNNING, _I.NOT_SENT, _I.CANCELLED, _I.FAILED",
        "_I.RUNNING, _I.CANCELLED, _I.FAILED",
    ),
    (
        "a running input cannot become uncertain",
        "_I.CANCELLED, _I.UNCERTAIN, _I.QUEUED}",
        "_I.CANCELLED, _I.QUEUED}",
    ),
    (
        "a running input cannot wait again",
        "_I.CANCELLED, _I.UNCERTAIN, _I.QUEUED}",
        "_I.CANCELLED, _I.UNCERTAIN}",
    ),
    (
        "a failed input waits again",
        "_I.FAILED: frozenset(),",
        "_I.FAILED: frozenset({_I.QUEUED}),",
    ),
    (
        "a cancelled input runs",
        "_I.CANCELLED: frozenset(),",
        "_I.CANCELLED: frozenset({_I.RUNNING}),",
    ),
    (
        "the owner cannot close what is unknown",
        "_I.SETTLED, _I.FAILED, _I.ABANDONED}",
        "_I.SETTLED, _I.FAILED}",
    ),
    (
        "a reserved attempt completes unasked",
        "_V.RESERVED: frozenset({_V.RUNNING,",
        "_V.RESERVED: frozenset({_V.RUNNING, _V.COMPLETED,",
    ),
    (
        "a reserved attempt cannot stall",
        "_V.RELEASED, _V.FAILED, _V.STALLED}",
        "_V.RELEASED, _V.FAILED}",
    ),
    (
        "a run is given back",
        "_V.RUNNING: frozenset({_V.COMPLETED,",
        "_V.RUNNING: frozenset({_V.COMPLETED, _V.RELEASED,",
    ),
    ("a run cannot be cancelled", "_V.STALLED, _V.CANCELLED, _V.UNC", "_V.STALLED, _V.UNC"),
    (
        "an uncertain attempt runs again",
        "_V.UNCERTAIN: frozenset(),",
        "_V.UNCERTAIN: frozenset({_V.RUNNING}),",
    ),
    (
        "words reach a seat without the intent",
        "_S.OFFERED: frozenset({_S.ATTEMPTING,",
        "_S.OFFERED: frozenset({_S.ATTEMPTING, _S.TAKEN,",
    ),
    (
        "words on their way to a seat are given back",
        "_S.ATTEMPTING: frozenset({_S.TAKEN,",
        "_S.ATTEMPTING: frozenset({_S.TAKEN, _S.RELEASED,",
    ),
    (
        "a seat refuses what it took",
        "_S.TAKEN: frozenset({_S.ACCEPTED,",
        "_S.TAKEN: frozenset({_S.ACCEPTED, _S.REFUSED,",
    ),
    (
        "a seat refuses what its transcript shows",
        "_S.ACCEPTED: frozenset({_S.REPLIED,",
        "_S.ACCEPTED: frozenset({_S.REPLIED, _S.REFUSED,",
    ),
    (
        "a seat of which nobody can tell refuses",
        "_S.UNCERTAIN: frozenset({_S.TAKEN,",
        "_S.UNCERTAIN: frozenset({_S.TAKEN, _S.REFUSED,",
    ),
    (
        "late evidence of a delivery is not taken",
        "_S.ACCEPTED, _S.REPLIED, _S.DELIVERED, _S.FAILED}",
        "_S.ACCEPTED, _S.REPLIED, _S.FAILED}",
    ),
    (
        "a restart cannot tell of what never ran",
        "return ServiceState.RELEASED",
        "return ServiceState.UNCERTAIN",
    ),
    (
        "a restart calls what ran failed",
        "return ServiceState.UNCERTAIN",
        "return ServiceState.FAILED",
    ),
    (
        "a restart leaves what ran as it is",
        "        case ServiceState.RUNNING:\n            return ServiceState.UNCERTAIN",
        "        case ServiceState.RUNNING:\n            return None",
    ),
    (
        "a steered member is settled as if it had its own answer",
        "InputState.ABSORBED if joined else InputState.SETTLED",
        "InputState.SETTLED",
    ),
    (
        "a known failure of a wake is final",
        "InputState.QUEUED if again else InputState.FAILED",
        "InputState.FAILED",
    ),
    (
        "every failure is tried again",
        "InputState.QUEUED if again else InputState.FAILED",
        "InputState.QUEUED",
    ),
    (
        "what nobody can tell of counts as failed",
        "case ServiceState.UNCERTAIN:\n            return InputState.UNCERTAIN",
        "case ServiceState.UNCERTAIN:\n            return InputState.FAILED",
    ),
    (
        "what nobody can tell of waits again",
        "case ServiceState.UNCERTAIN:\n            return InputState.UNCERTAIN",
        "case ServiceState.UNCERTAIN:\n            return InputState.QUEUED",
    ),
    (
        "cancelled counts as failed",
        "case ServiceState.CANCELLED:\n            return InputState.CANCELLED",
        "case ServiceState.CANCELLED:\n            return InputState.FAILED",
    ),
    *faults_seats.DELIVERY,
    (
        "a reservation does not count as open",
        "frozenset({_V.RESERVED, _V.RUNNING})\nOPEN_SEAT",
        "frozenset({_V.RUNNING})\nOPEN_SEAT",
    ),
    (
        "what a seat accepted does not count as open",
        "_S.ATTEMPTING, _S.TAKEN, _S.ACCEPTED})",
        "_S.ATTEMPTING, _S.TAKEN})",
    ),
    (
        "uncertain counts as final",
        "in INPUT.items() if not after)",
        "in INPUT.items() if not after or state is _I.UNCERTAIN)",
    ),
    (
        "what was cancelled may be tried again",
        "_I.NOT_SENT, _I.ABANDONED})",
        "_I.NOT_SENT, _I.ABANDONED, _I.CANCELLED})",
    ),
    (
        "any move of an input is allowed",
        "if after not in INPUT[before]:",
        "if after not in INPUT:",
    ),
    (
        "the table of seats is read backwards",
        "if after not in SEAT[before]:",
        "if before not in SEAT[after]:",
    ),
    (
        "the service table is not asked",
        "if after not in SERVICE[before]:",
        "if after not in SERVICE:",
    ),
    (
        "a replay believes every move",
        "if states.get(one.record) != one.before:",
        "if one.before is not None and one.record not in states:",
    ),
]

ADMISSION = [
    (
        "the revision is compared before the known id",
        "    if standing.known is not None:\n        return",
        (
            "    if offer.expected_revision not in {None, conversation.revision}:\n"
            "        raise RevisionConflictError(conversation.revision, conversation.cursor)\n"
            "    if standing.known is not None:\n        return"
        ),
    ),
    (
        "a closed conversation hides the known id",
        "    if standing.known is not None:\n        return",
        (
            "    if conversation.closed:\n"
            "        raise ConversationClosedError(conversation.id)\n"
            "    if standing.known is not None:\n        return"
        ),
    ),
    (
        "a full queue hides the known id",
        "    if standing.known is not None:\n        return",
        (
            "    if conversation.waiting >= standing.bound:\n"
            "        raise BackpressureError\n"
            "    if standing.known is not None:\n        return"
        ),
    ),
    (
        "the known id is answered before rights",
        "    conversation = standing.conversation\n",
        (
            "    if standing.known is not None:\n"
            "        return _known(offer, standing.known)\n"
            "    conversation = standing.conversation\n"
        ),
    ),
    (
        "the bound is asked before the revision",
        "    seen = offer.expected_revision\n",
        (
            "    if conversation.waiting >= standing.bound:\n"
            "        raise BackpressureError\n"
            "    seen = offer.expected_revision\n"
        ),
    ),
    (
        "a known id is never the same again",
        "        return _known(offer, standing.known)",
        "        _known(offer, standing.known)",
    ),
    (
        "other content passes under a known id",
        "if known.fingerprint != offer.fingerprint:",
        "if not known.fingerprint:",
    ),
    (
        "other content of an unresolved id is a mere conflict",
        (
            "        if known.state is InputState.UNCERTAIN:\n"
            "            raise UnconfirmedError(offer.delivery_id)\n"
            "        raise Del"
        ),
        "        raise Del",
    ),
    ("a pruned id shows a receipt", "    if known.pruned:\n", "    if known.pruned is None:\n"),
    (
        "a program may repeat what is unresolved",
        "if known.state is InputState.UNCERTAIN and offer.automatic:",
        "if known.state is InputState.ABANDONED and offer.automatic:",
    ),
    (
        "the owner may not look at what is unresolved",
        "if known.state is InputState.UNCERTAIN and offer.automatic:",
        "if known.state is InputState.UNCERTAIN:",
    ),
    (
        "unresolved content does not stop a program",
        "if offer.automatic and standing.unresolved is not None:",
        "if offer.automatic and standing.unresolved == offer.delivery_id:",
    ),
    (
        "unresolved content stops the owner",
        "if offer.automatic and standing.unresolved is not None:",
        "if standing.unresolved is not None:",
    ),
    (
        "the refusal names the wrong blocker",
        "raise UnconfirmedError(standing.unresolved)",
        "raise UnconfirmedError(offer.delivery_id)",
    ),
    ("fingerprint without mode", "(conversation, mode, normalise", "(conversation, normalise"),
    ("fingerprint without conversation", "(conversation, mode, normalise", "(mode, normalise"),
    ("fingerprint of the raw text", "mode, normalise(text))", "mode, text)"),
    ("fingerprint without attachments", "map(_quoted, attachments)", "()"),
    ("fingerprint of case-folded text", "normalise(text))", "normalise(text).lower())"),
    ("fingerprint through ASCII", "encode_basestring", "encode_basestring_ascii"),
    (
        "fingerprint of parts run together",
        "whole.encode(",
        '"".join(str(part) for part in parts).encode(',
    ),
    ("blanks around count", '"\\n").strip()', '"\\n")'),
    ("a lone carriage return counts", '.replace("\\r", "\\n").strip()', ".strip()"),
    ("one more may wait than the bound", ".waiting >= standing.bound", ".waiting > standing.bound"),
    ("a client may be ahead", "seen != conversation.revision", "seen < conversation.revision"),
    ("a client may be behind", "seen != conversation.revision", "seen > conversation.revision"),
    (
        "the owner runs a room",
        "if conversation.read_only and offer.origin is Origin.OWNER:",
        "if conversation.read_only and offer.origin is Origin.ROUND:",
    ),
    (
        "a room cannot run itself",
        "if conversation.read_only and offer.origin is Origin.OWNER:",
        "if conversation.read_only:",
    ),
    ("closed takes input", "    if conversation.closed:\n", "    if not conversation.cursor:\n"),
    (
        "anything can be tried again",
        "if retried not in RETRYABLE:",
        "if retried not in InputState:",
    ),
    (
        "what is not there can be tried again",
        "        raise DeliveryNotFoundError(offer.retry_of)",
        "        return",
    ),
    (
        "Linear speaks as the owner",
        "if self is Origin.OWNER:",
        "if self in {Origin.OWNER, Origin.LINEAR}:",
    ),
    (
        "an owner's input is tried again by itself",
        "return self is Origin.WAKE",
        "return self in {Origin.WAKE, Origin.OWNER}",
    ),
    (
        "a second key passes an unresolved delivery to an occupant",
        "    if offer.reach in ADDRESSED and standing.reserved is not None:",
        "    if offer.automatic and standing.reserved is not None:",
    ),
    (
        "a reservation keeps the whole conversation",
        "    if offer.reach in ADDRESSED and standing.reserved is not None:",
        "    if standing.reserved is not None:",
    ),
    (
        "a parent that is native alone is not reserved",
        "frozenset({Reach.OCCUPANT, Reach.NATIVE_PARENT})",
        "frozenset({Reach.OCCUPANT})",
    ),
]

DRIVER = [
    (
        "any occupant may have what is another's",
        "if seat.occupant != addressed.occupant:",
        "if addressed.occupant is None:",
    ),
    (
        "what is addressed goes to a seat that is gone",
        "if seat is None or seat.presence is Presence.ABSENT:",
        "if seat is None:",
    ),
    (
        "what is addressed falls back to the service lane",
        'return Wait("recipient_absent")',
        "return ToService()",
    ),
    (
        "a held queue is anybody's",
        (
            "case Reach.OCCUPANT | Reach.HELD_QUEUE | Reach.NATIVE_PARENT:\n"
            "            return _bound(addressed, seat)\n"
            "        case Reach.CONVERSATION:"
        ),
        (
            "case Reach.OCCUPANT | Reach.NATIVE_PARENT:\n"
            "            return _bound(addressed, seat)\n"
            "        case Reach.CONVERSATION | Reach.HELD_QUEUE:"
        ),
    ),
    (
        "an address lets a goal reach a seat",
        "    if never_to_seat(addressed.origin):\n        # Neither",
        "    if addressed.occupant == addressed.origin:\n        # Neither",
    ),
    (
        "a goal that nobody may run waits for ever",
        'return Refuse("never_at_a_seat")',
        'return Wait("never_at_a_seat")',
    ),
    (
        "an address lets a room message reach an unproven seat",
        "    if not _takes(addressed, seat):",
        "    if seat.seat == seat.occupant:",
    ),
    ("a goal goes to a seat", "return origin is Origin.GOAL", "return origin is Origin.LINEAR"),
    (
        "Linear runs on the service lane",
        "addressed.origin is Origin.LINEAR or addressed.reach",
        "addressed.reach",
    ),
    (
        "the list of exceptions forgets addresses",
        "addressed.origin is Origin.LINEAR or addressed.reach is not Reach.CONVERSATION",
        "addressed.origin is Origin.LINEAR",
    ),
    (
        "a remote lead falls back to the service lane",
        "if seat is not None and seat.remote:",
        "if seat is not None and seat.remote and seat.presence is not Presence.ABSENT:",
    ),
    (
        "a seat within its hold is passed over",
        "or seat.presence is Presence.ABSENT:\n        return False",
        "or seat.presence is not Presence.LIVE:\n        return False",
    ),
    (
        "a seat that is gone is given input",
        "or seat.presence is Presence.ABSENT:\n        return False",
        "or seat is None:\n        return False",
    ),
    (
        "an unproven seat takes room messages",
        "return seat.proven or addressed.origin is not Origin.ROOM",
        "return True",
    ),
    (
        "an unproven seat takes nothing",
        "return seat.proven or addressed.origin is not Origin.ROOM",
        "return seat.proven",
    ),
    (
        "a live seat is passed over",
        "if seat is not None and _takes(addressed, seat):",
        "if seat is not None and seat.remote and _takes(addressed, seat):",
    ),
    *faults_seats.DRIVER,
]
