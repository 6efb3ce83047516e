"""Where the service lives and listens: read from the environment and checked before the start."""

from __future__ import annotations

import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clankie.core.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_PORT: Final = 4310
_PORTS: Final = 65_536


class ConfigError(RefusedError):
    """The service cannot be started like this; the sentence says what to change."""

    code = "bad_configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """One service's place in the world.

    `home` holds all state. `port` 0 picks a free one. `names` are further host names that requests
    may use. `keyring`: secrets may be kept in the system's. `override` is laid over the stored
    settings for this run only. `log_to_file`: the log goes into the state, not to standard error.
    """

    home: Path
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    database: Path
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False
    names: tuple[str, ...] = ()
    override: Mapping[str, object]
    keyring: bool = False
    log_to_file: bool = False

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return _is_loopback(self.host)


def from_environment(environ: Mapping[str, str] | None = None) -> Config:
    """Read ``CLANKIE_*``.

    Raises:
        ConfigError: a value that cannot be, or an open address without protection.
    """
    given = os.environ if environ is None else environ
    home = Path(given.get("CLANKIE_HOME") or Path.home() / ".clankie").absolute()
    certificate, key = given.get("CLANKIE_TLS_CERT"), given.get("CLANKIE_TLS_KEY")
    config = Config(
        home=home,
        host=given.get("CLANKIE_HOST") or "127.0.0.1",
        port=_port(given.get("CLANKIE_PORT") or str(DEFAULT_PORT)),
        database=Path(given.get("CLANKIE_DATABASE") or home / "clankie.db").absolute(),
        certificate=Path(certificate) if certificate else None,
        key=Path(key) if key else None,
        behind_proxy=given.get("CLANKIE_TRUSTED_PROXY") == "1",
        names=_names(given.get("CLANKIE_NAMES", "")),
        override=_override(given),
        log_to_file=given.get("CLANKIE_LOG") == "file",
        keyring=given.get("CLANKIE_CREDENTIALS") != "file",
    )
    _check(config)
    return config


def _names(given: str) -> tuple[str, ...]:
    return tuple(name.strip().lower() for name in given.split(",") if name.strip())


def _port(given: str) -> int:
    if not given.isascii() or not given.isdigit() or int(given) >= _PORTS:
        raise ConfigError(f"CLANKIE_PORT is {given!r}; it must be a number from 0 to 65535.")
    return int(given)


def _override(given: Mapping[str, str]) -> Mapping[str, object]:
    models = {
        name: given[variable]
        for name, variable in (
            ("model", "CLANKIE_MODEL"),
            ("base_url", "CLANKIE_MODEL_BASE_URL"),
        )
        if given.get(variable)
    }
    return {"models": models} if models else {}


def _check(config: Config) -> None:
    if (config.certificate is None) != (config.key is None):
        raise ConfigError("Set both CLANKIE_TLS_CERT and CLANKIE_TLS_KEY, or neither.")
    protected = config.certificate is not None or config.behind_proxy
    if not config.loopback and not protected:
        raise ConfigError(
            f"CLANKIE_HOST is {config.host!r}, which others can reach without encryption. Use "
            "127.0.0.1, set CLANKIE_TLS_CERT and CLANKIE_TLS_KEY, or set CLANKIE_TRUSTED_PROXY=1 "
            "if a proxy of yours ends TLS in front of it."
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
