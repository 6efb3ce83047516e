"""Which principal may use which route. What is not in the table does not exist.

A row says who may use the verb at all (else 403). What a principal may not see of what the verb
would show is 404, and decided where the thing is looked up (`Call.sees`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.core.conversation import Principal

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPERATOR: Final = frozenset({Principal.OPERATOR})
_OWNERS: Final = frozenset({Principal.OPERATOR, Principal.DEVICE})
_READERS: Final = frozenset({Principal.OPERATOR, Principal.DEVICE, Principal.SEAT})
_METRICS: Final = frozenset({Principal.OPERATOR, Principal.METRICS})
_SEATS: Final = frozenset({Principal.SEAT})
"""What only the seat itself may say: that it took, refused, answered. Not even its operator."""
_SEATED: Final = frozenset({Principal.OPERATOR, Principal.SEAT})
_HOLDERS: Final = frozenset(
    {
        Principal.OPERATOR,
        Principal.DEVICE,
        Principal.SEAT,
        Principal.WORKER,
        Principal.FLEET,
        Principal.METRICS,
    }
)
NOBODY: Final[frozenset[Principal]] = frozenset()
"""A route that asks for no token."""

_HERE: Final = "/v1/conversations/{conversation}"
_DELIVERY: Final = "/v1/deliveries/{delivery:delivery}"
_SEAT: Final = "/v1/seats/{seat}"
_SEAT_EVENT: Final = f"{_SEAT}/events/{{event:delivery}}"

RIGHTS: Final[Mapping[tuple[str, str], frozenset[Principal]]] = {
    ("GET", "/"): NOBODY,
    ("GET", "/login"): NOBODY,
    ("GET", "/console/{file}"): NOBODY,
    ("GET", "/v1/health"): NOBODY,
    ("POST", "/v1/login"): NOBODY,
    ("GET", "/openapi.json"): _HOLDERS,
    ("GET", "/v1/conversations"): _OWNERS,
    ("POST", "/v1/conversations"): _OPERATOR,
    ("GET", _HERE): _READERS,
    ("PATCH", _HERE): _OPERATOR,
    ("DELETE", _HERE): _OPERATOR,
    ("POST", f"{_HERE}/reset"): _OPERATOR,
    ("POST", f"{_HERE}/inputs"): _OWNERS,
    ("POST", f"{_HERE}/cancel"): _OWNERS,
    ("GET", f"{_HERE}/events"): _READERS,
    ("GET", f"{_HERE}/html"): _READERS,
    ("GET", f"{_HERE}/search"): _READERS,
    ("GET", f"{_HERE}/export"): _OWNERS,
    ("POST", f"{_HERE}/purge"): _OPERATOR,
    ("GET", f"{_HERE}/goal"): _OWNERS,
    ("PUT", f"{_HERE}/goal"): _OPERATOR,
    ("DELETE", f"{_HERE}/goal"): _OPERATOR,
    ("GET", f"{_HERE}/projection"): _READERS,
    ("GET", f"{_HERE}/prompt"): _READERS,
    ("POST", "/v1/attachments"): _OWNERS,
    ("GET", "/v1/attachments/{digest}"): _OWNERS,
    ("GET", "/v1/feed"): _OWNERS,
    ("GET", "/v1/deliveries"): _OWNERS,
    ("GET", _DELIVERY): _OWNERS,
    ("POST", f"{_DELIVERY}/settle"): _OPERATOR,
    ("GET", "/v1/wakes"): _OPERATOR,
    ("DELETE", "/v1/wakes/{wake}"): _OPERATOR,
    ("POST", "/v1/wakes/release"): _OPERATOR,
    ("POST", "/v1/wakes/{wake}/release"): _OPERATOR,
    ("GET", "/v1/settings"): _OPERATOR,
    ("GET", "/v1/settings/schema"): _OPERATOR,
    ("PATCH", "/v1/settings"): _OPERATOR,
    ("GET", "/v1/tokens"): _OPERATOR,
    ("POST", "/v1/tokens"): _OPERATOR,
    ("DELETE", "/v1/tokens/{token}"): _OPERATOR,
    ("POST", "/v1/login-codes"): _OPERATOR,
    ("POST", "/v1/logout"): _HOLDERS,
    ("GET", "/v1/models"): _OPERATOR,
    ("GET", "/v1/usage"): _OPERATOR,
    ("GET", "/v1/mcp-servers"): _OPERATOR,
    ("POST", "/v1/mcp-servers/{name}/agree"): _OPERATOR,
    ("GET", "/v1/credentials"): _OPERATOR,
    ("PUT", "/v1/credentials/{name}"): _OPERATOR,
    ("DELETE", "/v1/credentials/{name}"): _OPERATOR,
    ("POST", "/v1/backups"): _OPERATOR,
    ("GET", "/v1/doctor"): _OPERATOR,
    ("GET", "/v1/status"): _OPERATOR,
    ("GET", "/v1/metrics"): _METRICS,
    ("POST", "/v1/seats/grants"): _OPERATOR,
    ("POST", "/v1/seats"): NOBODY,
    ("GET", "/v1/seats"): _OPERATOR,
    ("DELETE", _SEAT): _OPERATOR,
    ("PUT", f"{_SEAT}/attachment"): _SEATED,
    ("DELETE", f"{_SEAT}/attachment"): _SEATED,
    ("POST", f"{_SEAT}/session-start"): _SEATS,
    ("GET", f"{_SEAT}/events"): _SEATS,
    ("POST", f"{_SEAT_EVENT}/ack"): _SEATS,
    ("POST", f"{_SEAT_EVENT}/refuse"): _SEATS,
    ("POST", f"{_SEAT_EVENT}/reply"): _SEATS,
    ("POST", f"{_SEAT}/transcript"): _SEATED,
    ("POST", f"{_SEAT}/approvals"): _SEATS,
    ("DELETE", f"{_SEAT}/approvals/{{approval}}"): _SEATS,
    ("GET", "/v1/approvals"): _OPERATOR,
    ("POST", "/v1/approvals/{approval}"): _OPERATOR,
    ("POST", "/v1/mcp"): _SEATS,
    ("DELETE", "/v1/mcp"): _SEATS,
}

PUBLIC: Final = frozenset(route for route, who in RIGHTS.items() if who is NOBODY)

_CONSOLE: Final = "/console/"


def public(method: str, path: str) -> bool:
    """Whether this request asks for no token. The console's files hold no data."""
    return (method, path) in PUBLIC or (method == "GET" and path.startswith(_CONSOLE))
