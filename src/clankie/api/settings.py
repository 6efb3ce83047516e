"""/v1/settings: one revisioned tree."""

from __future__ import annotations

from pydantic import ConfigDict

from clankie.api.bodies import Body, Revision
from clankie.api.call import Asked
from clankie.api.replies import Json
from clankie.api.routing import router
from clankie.core.settings import to_wire
from clankie.host import settings

routes = router("settings")


class SettingsBody(Body):
    """A JSON merge patch of the tree; ``null`` brings a default back.

    The members beside `expected_revision` are the patch.
    """

    model_config = ConfigDict(strict=True, extra="allow")
    expected_revision: Revision


@routes.get("/v1/settings")
async def read_settings(call: Asked) -> Json:
    """The whole tree with its revision."""
    house = call.house
    return Json({"revision": house.settings_revision, "settings": to_wire(house.settings)})


@routes.patch("/v1/settings")
async def change_settings(call: Asked, body: SettingsBody) -> Json:
    """Apply a patch to the revision the caller saw."""
    revision, after = await settings.patch(
        call.house, body.model_extra or {}, body.expected_revision
    )
    return Json({"revision": revision, "settings": to_wire(after)})
