"""What a hand-made fault is: edits of files of the package."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """In this file of the package, `old` (there exactly once) becomes `new`."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A name that says what is wrong now, and the edits that make it so."""

    name: str
    edits: tuple[Edit, ...]


def fault(name: str, *edits: tuple[str, str, str]) -> Fault:
    """A fault; each edit is the file, the old text and the new one."""
    return Fault(name, tuple(Edit(*one) for one in edits))
