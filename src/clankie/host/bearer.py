"""Who holds a bearer token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from clankie.core.conversation import Author


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A bearer's record; the secret itself is stored only as its SHA-256."""

    id: str
    principal: Author
    label: str
    created_at: datetime
    revoked: bool = False
