"""Faults made by hand: each is one mistake somebody could make in core, and must be seen.

`scripts/faults` puts each into a copy of the package and runs the tests of that module. A fault
that stays alive is a promise without a test. `old` stands in its module exactly once.
"""

from dataclasses import dataclass

from core import (
    faults_fence,
    faults_mail,
    faults_pictures,
    faults_rest,
    faults_seats,
    faults_spending,
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake: `old` becomes `new` in `module` of `clankie.core`."""

    name: str
    module: str
    old: str
    new: str


FAULTS = [
    Fault(name, module, old, new)
    for module, faults in {
        "delivery": faults_fence.DELIVERY,
        "admission": faults_fence.ADMISSION,
        "driver": faults_fence.DRIVER,
        "projection": faults_rest.PROJECTION,
        "watchdog": faults_rest.WATCHDOG,
        "wake": faults_rest.WAKE,
        "settings": faults_rest.SETTINGS,
        "ids": faults_rest.IDS,
        "conversation": faults_rest.CONVERSATION,
        "receipt": faults_rest.RECEIPT,
        "errors": faults_rest.ERRORS,
        "goal": faults_spending.GOAL,
        "budget": faults_spending.BUDGET,
        "mcp": faults_spending.MCP,
        "pictures": faults_pictures.PICTURES,
        "binding": faults_seats.BINDING,
        "mailbox": faults_mail.MAILBOX,
        "handoff": faults_mail.HANDOFF,
        "session": faults_seats.SESSION,
        "seat": faults_seats.SEAT,
        "seat_errors": faults_seats.SEAT_ERRORS,
    }.items()
    for name, old, new in faults
]
