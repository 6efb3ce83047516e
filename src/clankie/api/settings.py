"""/v1/settings: one revisioned tree."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from clankie.api.bodies import Body, Revision
from clankie.api.call import Asked
from clankie.api.replies import Json
from clankie.api.routing import router
from clankie.api.schemas import COMPONENTS, PATCH
from clankie.core.settings import to_wire
from clankie.host import settings
from clankie.host.house import House

routes = router("settings")


class SettingsBody(Body):
    """A JSON merge patch of the tree; ``null`` brings a default back.

    The members beside `expected_revision` are the patch.
    """

    model_config = ConfigDict(
        strict=True, extra="allow", json_schema_extra=lambda schema: schema.update(PATCH)
    )
    expected_revision: Revision


@routes.get("/v1/settings")
async def read_settings(call: Asked) -> Json:
    """The stored tree with its revision, and what is in effect where this run overrides it."""
    return Json(_wire(call.house))


@routes.get("/v1/settings/schema")
async def read_settings_schema(call: Asked) -> Json:
    """The tree as a JSON Schema: every setting with its bounds, its default and a sentence."""
    del call  # asking for it is what the table of rights looks at
    return Json(COMPONENTS["SettingsTree"])


@routes.patch("/v1/settings")
async def change_settings(call: Asked, body: SettingsBody) -> Json:
    """Apply a patch to the revision the caller saw."""
    await settings.patch(call.house, body.model_extra or {}, body.expected_revision)
    return Json(_wire(call.house))


def _wire(house: House) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "revision": house.settings_revision,
        "settings": to_wire(house.saved),
    }
    if house.settings != house.saved:
        wire["in_effect"] = to_wire(house.settings)
    return wire
