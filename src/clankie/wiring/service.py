"""The service as a process: ready line, signals, an orderly end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import ssl
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvloop

from clankie import console
from clankie.api.serve import Server
from clankie.core.errors import ClankieError
from clankie.host import journal
from clankie.host.seats.desk import look_everywhere
from clankie.store.errors import StateHeldError, StateTakenError
from clankie.store.lock import Lock
from clankie.wiring import home
from clankie.wiring.config import ConfigError
from clankie.wiring.home import SOCKET_FILE
from clankie.wiring.house import Ports, open_house
from clankie.wiring.logs import to_file, to_standard_error

if TYPE_CHECKING:
    from clankie.host.house import House
    from clankie.wiring.config import Config

CONSOLE: Final = Path(console.__file__).parent
LOG_FILE: Final = "service.log"
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def serve(config: Config, ports: Ports | None = None) -> int:
    """Run until SIGTERM or SIGINT. Returns the exit status: 0, or 1 with a sentence on stderr."""
    try:
        home.prepare(config.home)
        with Lock.acquire(config.home), asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
            return loop.run(_serve(config, ports))
    except StateHeldError as error:
        return _refused(f"{error.detail}")
    except ClankieError as error:
        return _refused(error.detail)


def _refused(sentence: str) -> int:
    sys.stderr.write(f"clankie: {sentence}\n")
    return 1


async def _serve(config: Config, ports: Ports | None) -> int:
    stop = _on_signals()
    async with open_house(config, ports) as house:
        _log(config, house)
        server = Server(house, config_names=config.names, console=CONSOLE)
        url = await _listening(server, config)
        taken = False
        try:
            ready = home.write_run(config.home, url)
            sys.stdout.write(json.dumps(ready) + "\n")
            sys.stdout.flush()
            journal.note("ready", url=url)
            taken = await _taken(stop, house)
            journal.note("stopping")
            house.stopping = True
            house.feed.close()
            # Still listening: whoever comes meanwhile is told so, and when to come back.
            if taken:
                # Whatever runs here can write nothing any more, so no turn is waited for.
                look_everywhere(house.desk)
            else:
                await house.captain.stop()
            await server.drain()
        finally:
            await server.close()
            if not taken:
                home.remove_run(config.home, url)
    if taken:
        raise StateTakenError(config.home)
    journal.note("stopped")
    return 0


async def _taken(stop: asyncio.Event, house: House) -> bool:
    """Wait for the signal, or until another service has the state: True."""
    async with asyncio.TaskGroup() as tasks:
        signalled = tasks.create_task(stop.wait())
        outlived = tasks.create_task(house.store.outlived())
        await asyncio.wait({signalled, outlived}, return_when=asyncio.FIRST_COMPLETED)
        signalled.cancel()
        outlived.cancel()
    return not stop.is_set()


def _log(config: Config, house: House) -> None:
    if not config.log_to_file:
        to_standard_error(house.credentials.known_secrets)
        return
    try:
        to_file(config.home / LOG_FILE, house.credentials.known_secrets)
    except OSError as error:
        raise ConfigError(
            f"The log {config.home / LOG_FILE} cannot be written: {error}."
        ) from error


async def _listening(server: Server, config: Config) -> str:
    socket = config.home / SOCKET_FILE
    _check_certificate(config)
    try:
        return await server.start(
            host=config.host,
            port=config.port,
            socket=socket,
            certificate=config.certificate,
            key=config.key,
        )
    except OSError as error:
        raise ConfigError(
            f"Clankie cannot listen at {config.host} port {config.port} and {socket} ({error}). "
            "Name a free port with CLANKIE_PORT, or a shorter path with CLANKIE_HOME."
        ) from error


def _check_certificate(config: Config) -> None:
    """Raises ConfigError: the certificate and its key cannot be used; said before we listen."""
    if config.certificate is None or config.key is None:
        return
    try:
        _load(config.certificate, config.key)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"The certificate {config.certificate} with the key {config.key} cannot be used "
            f"({error}). CLANKIE_TLS_CERT and CLANKIE_TLS_KEY name two PEM files: the certificate "
            "with its chain, and its key without a passphrase."
        ) from error


def _load(certificate: Path, key: Path) -> None:
    for file in (certificate, key):
        if file.is_fifo():
            # The library would wait for a writer, for ever and deaf to signals.
            message = f"{file} is a pipe"
            raise ValueError(message)
    ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
        certificate, key, password=_no_passphrase
    )


def _no_passphrase() -> str:
    # Without this the library would ask at a terminal, where a service has nobody.
    raise ValueError("it has a passphrase")


def _on_signals() -> asyncio.Event:
    """Set at the first signal; the second ends the process at once."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def signalled() -> None:
        if stop.is_set():
            os._exit(1)
        stop.set()

    for number in SIGNALS:
        loop.add_signal_handler(number, signalled)
    return stop
