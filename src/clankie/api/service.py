"""The service about itself: health, status, metrics, doctor, backups."""

from __future__ import annotations

from pathlib import Path

from fastapi import Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from clankie.api.bodies import Body
from clankie.api.call import Asked
from clankie.api.metrics import MEDIA_TYPE, exposition
from clankie.api.replies import Json
from clankie.api.routing import router
from clankie.core.conversation import timestamp
from clankie.core.errors import InvalidFieldError
from clankie.host.doctor import Level, examine
from clankie.host.status import status

routes = router("service")


class BackupBody(Body):
    """Where to, on the service's machine: a new file or a directory. Default: beside the state."""

    path: str | None = Field(default=None, min_length=1, max_length=4_096)


@routes.get("/v1/health")
async def read_health() -> Json:
    """It answers. Nothing else is told to whoever has no token."""
    return Json({"ok": True})


@routes.get("/v1/status")
async def read_status(call: Asked) -> Json:
    """One snapshot of what it does."""
    return Json(await status(call.house))


@routes.get("/v1/metrics")
async def read_metrics(call: Asked) -> Response:
    """The same as OpenMetrics."""
    text = exposition(await status(call.house), len(call.door.streams))
    return Response(text, media_type=MEDIA_TYPE)


@routes.get("/v1/doctor")
async def read_findings(call: Asked) -> Json:
    """What is missing, and how to mend it."""
    found = await examine(call.house)
    well = all(one.level is not Level.FAIL for one in found)
    return Json({"ok": well, "findings": [one.to_wire() for one in found]})


@routes.post("/v1/backups", status_code=201)
async def make_backup(call: Asked, body: BackupBody) -> Json:
    """Write a consistent copy of everything but credentials, while the service runs."""
    now = call.house.clock.now()
    name = f"clankie-{timestamp(now).replace(':', '').replace('.', '-')}.db"
    target = await run_in_threadpool(_target, body.path, call.door.config.backups, name)
    await call.house.store.backup(str(target))
    return Json({"path": str(target), "at": timestamp(now)}, 201)


def _target(given: str | None, backups: Path, name: str) -> Path:
    """The file to make: the one named, one in the directory named, or one in our own directory."""
    if given is None:
        backups.mkdir(mode=0o700, exist_ok=True)
        return backups / name
    path = Path(given)
    if not path.is_absolute():
        raise InvalidFieldError("path", "an absolute path")
    return path / name if path.is_dir() else path
