"""What bodies of the framework's routes have in common."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

CONVERSATION: Final[JsonDict] = {"pattern": "^[a-z0-9][a-z0-9-]{0,63}$"}
DELIVERY: Final[JsonDict] = {"pattern": "^([a-z][a-z0-9-]{0,63}/)?[A-Za-z0-9._:-]{1,128}$"}
"""What `core.ids` checks, as the description of the interface says it."""

Revision = Annotated[int, Field(ge=0, lt=2**53, description="the revision the caller saw")]
"""A revision as a client sends it back."""


class Body(BaseModel):
    """Types are taken at their word; members we do not know are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")
