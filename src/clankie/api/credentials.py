"""/v1/credentials: names and origins of the owner's secrets, never the secrets."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from pydantic import Field

from clankie.api.bodies import Body
from clankie.api.call import Asked
from clankie.api.errors import CredentialNotFoundError
from clankie.api.replies import Json, done
from clankie.api.routing import router
from clankie.host import credentials
from clankie.host.ports import Credential

routes = router("credentials")


class CredentialBody(Body):
    """A secret, and the only origin it is sent to."""

    origin: str = Field(min_length=1, max_length=500)
    secret: str = Field(min_length=1, max_length=credentials.SECRET_LIMIT)


@routes.get("/v1/credentials")
async def list_credentials(call: Asked) -> Json:
    """What is kept, and for which origin."""
    return Json({"credentials": [_wire(one) for one in call.house.credentials.list()]})


@routes.put("/v1/credentials/{name}")
async def put_credential(call: Asked, name: str, body: CredentialBody) -> Json:
    """Keep or replace one."""
    await credentials.put(call.house, name, body.origin, body.secret)
    kept = next(one for one in call.house.credentials.list() if one.name == name)
    return Json(_wire(kept))


@routes.delete("/v1/credentials/{name}", status_code=204)
async def remove_credential(call: Asked, name: str) -> Response:
    """Forget one."""
    if not call.house.credentials.remove(name):
        raise CredentialNotFoundError(name)
    return done()


def _wire(credential: Credential) -> dict[str, Any]:
    return {"name": credential.name, "origin": credential.origin, "source": credential.source}
