"""/v1/credentials: names and origins of the owner's secrets, never the secrets."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from clankie.api.bodies import Body
from clankie.api.call import Asked
from clankie.api.errors import CredentialNotFoundError
from clankie.api.replies import Json, done
from clankie.api.routing import router
from clankie.host import credentials
from clankie.host.ports import Credential

routes = router("credentials")

Name = Annotated[str, Path(json_schema_extra={"pattern": "^[a-z0-9][a-z0-9._-]{0,63}$"})]


class CredentialBody(Body):
    """A secret, and the only origin it is sent to."""

    origin: str = Field(min_length=1, max_length=500, json_schema_extra={"pattern": "^https?://"})
    secret: str = Field(
        min_length=1,
        max_length=credentials.SECRET_LIMIT,
        json_schema_extra={"pattern": "^[ -~]+$"},
    )


@routes.get("/v1/credentials")
async def list_credentials(call: Asked) -> Json:
    """What is kept, and for which origin."""
    return Json({"credentials": [_wire(one) for one in call.house.credentials.list()]})


@routes.put("/v1/credentials/{name}")
async def put_credential(call: Asked, name: Name, body: CredentialBody) -> Json:
    """Keep or replace one."""
    await run_in_threadpool(call.house.credentials.settle)
    await credentials.put(call.house, name, body.origin, body.secret)
    kept = next(one for one in call.house.credentials.list() if one.name == name)
    return Json(_wire(kept))


@routes.delete("/v1/credentials/{name}", status_code=204)
async def remove_credential(call: Asked, name: Name) -> Response:
    """Forget one."""
    if not call.house.credentials.remove(name):
        raise CredentialNotFoundError(name)
    return done()


def _wire(credential: Credential) -> dict[str, Any]:
    return {"name": credential.name, "origin": credential.origin, "source": credential.source}
