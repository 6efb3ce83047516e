"""/v1/tokens: who else may ask; a secret is shown once."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from pydantic import Field

from clankie.api.bodies import Body
from clankie.api.call import Asked
from clankie.api.replies import Json, done
from clankie.api.routing import router
from clankie.core.conversation import timestamp
from clankie.host import tokens
from clankie.host.bearer import Token

routes = router("tokens")


class TokenBody(Body):
    """Whom the token is for."""

    principal: str = Field(max_length=32, json_schema_extra={"enum": [*sorted(tokens.ISSUED)]})
    label: str = Field(min_length=1, max_length=80)


@routes.get("/v1/tokens")
async def list_tokens(call: Asked) -> Json:
    """All that were made, revoked ones too; never a secret."""
    return Json({"tokens": [_wire(one) for one in await tokens.listed(call.house)]})


@routes.post("/v1/tokens", status_code=201)
async def make_token(call: Asked, body: TokenBody) -> Json:
    """Make one. The secret is in this answer and nowhere else."""
    principal = tokens.issuable(body.principal)
    token, secret = await tokens.issue(call.house, principal, body.label)
    return Json({"token": _wire(token), "secret": secret}, 201)


@routes.delete("/v1/tokens/{token}", status_code=204)
async def revoke_token(call: Asked, token: str) -> Response:
    """It opens nothing any more, and its streams end."""
    await tokens.revoke(call.house, token)
    call.door.streams.revoked(token)
    return done()


def _wire(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "principal": token.principal.to_wire(),
        "label": token.label,
        "created_at": timestamp(token.created_at),
        "revoked": token.revoked,
    }
