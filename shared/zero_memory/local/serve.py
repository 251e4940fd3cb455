"""`zm serve`: the whole service on this machine, from the template to the socket."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

import uvicorn
from msgspec import ValidationError
from msgspec.structs import replace
from uvicorn.protocols.http.h11_impl import H11Protocol

from zero_memory.adapters.files import FileArtifacts
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.sqlite import DamagedFile, NewerSchema, SqliteTable
from zero_memory.local.app import Application, application
from zero_memory.local.deployment import deployment_folder, read_deployment
from zero_memory.local.expiry import Expiry
from zero_memory.local.failures import FailureParking, FailureQueue
from zero_memory.local.functions import invoker
from zero_memory.local.home import (
    FAILURES_FILE,
    CannotServe,
    Ready,
    announced,
    first_start,
    hold,
)
from zero_memory.local.schedule import Schedules
from zero_memory.local.search_files import catch_up
from zero_memory.local.stream import Pump
from zero_memory.ports.search_index import IndexUnavailable
from zero_memory.ports.table import TableUnavailable
from zero_memory.runtime import bootstrap
from zero_memory.runtime.bootstrap import Composition
from zero_memory.runtime.settings import Settings, read_settings

HOST = "127.0.0.1"
HANDLER_THREADS = 16


def serve(
    home: Path, port: int, announce: Callable[[Ready], None], *, log_calls: bool = True
) -> None:
    """Run until SIGTERM or SIGINT. `announce` is called once, when the first request can come.

    `home` is made when it is not there; port 0 is any free one. Without `log_calls` only what goes
    wrong is logged. Raises CannotServe.
    """
    home = home.absolute()
    with ExitStack() as stack:
        stack.enter_context(hold(home))
        listener = stack.enter_context(listen(port))
        settings = _settings(home)
        if not log_calls:
            settings = replace(settings, log_level="WARNING")
        deployment = read_deployment(deployment_folder())
        failures = FailureQueue(home / FAILURES_FILE)
        consumers = [source.function.name for source in deployment.streams]
        services = bootstrap.use(settings, FailureParking(failures, consumers))
        table = _local_table(services, home)
        stack.callback(table.close)
        try:
            token_file = first_start(home, table, services.clock)
        except (DamagedFile, TableUnavailable) as away:
            raise CannotServe(f"{home} can't be used: {away}.") from away

        invoke = invoker(deployment.functions)
        services.embedder.embed_query("ready")  # loads the model now, not in the first recall

        try:
            index = services.derived_index
        except IndexUnavailable as away:
            raise CannotServe(f"{home} can't be used: {away}") from away
        pump = Pump(table, deployment.streams, invoke, failures)
        if isinstance(index, LocalIndex):
            stack.callback(index.close)
            catch_up(table, index)
            pump.delivered = index.mark_applied
        table.committed = pump.wake
        pump.start()
        stack.callback(pump.stop)
        schedules = Schedules(deployment.schedules, invoke)
        schedules.start()
        stack.callback(schedules.stop)
        expiry = Expiry(table, _local_artifacts(services), services.clock)
        expiry.start()
        stack.callback(expiry.stop)
        executor = ThreadPoolExecutor(HANDLER_THREADS, thread_name_prefix="handler")
        stack.callback(executor.shutdown)

        base = f"http://{HOST}:{listener.getsockname()[1]}"
        ready = Ready(f"{base}/mcp", base, str(token_file), os.getpid())
        stack.enter_context(announced(home, ready))
        app = application(deployment.routes, invoke, executor)
        _serve_http(app, listener, lambda: announce(ready))


def _settings(home: Path) -> Settings:
    try:
        return read_settings(home="local", data_dir=home)
    except ValidationError as wrong:
        raise CannotServe(
            f"A setting in the environment makes no sense: {wrong}, which is the variable ZM_ and "
            "that name in capitals."
        ) from wrong


def _local_table(services: Composition, home: Path) -> SqliteTable:
    try:
        table = services.table
    except (NewerSchema, DamagedFile, TableUnavailable) as refused:
        raise CannotServe(f"{home} can't be used: {refused}.") from refused
    if not isinstance(table, SqliteTable):
        raise TypeError("only the local home has an outbox to deliver from")
    return table


def _local_artifacts(services: Composition) -> FileArtifacts:
    artifacts = services.artifacts
    if not isinstance(artifacts, FileArtifacts):
        raise TypeError("only the local home keeps artifacts as files")
    return artifacts


def listen(port: int) -> socket.socket:
    """A listening socket on the loopback interface; port 0: any free one. Raises CannotServe."""
    # Named, since asyncio lets only sockets that say TCP answer without delay: an answer's head and
    # body are two writes, and the second would wait 40 ms for the client to acknowledge the first.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # A service that was just stopped leaves connections behind that would hold the port.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(os.name == "posix"))
    try:
        listener.bind((HOST, port))
    except OSError as taken:
        listener.close()
        raise CannotServe(
            f"Port {port} of {HOST} is taken. Choose another with --port (0: any free one)."
        ) from taken
    return listener


class _Http(H11Protocol):
    """Answers a client too that closed its half of the connection behind its request."""

    def eof_received(self) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride] - asyncio's
        cycle = self.cycle
        if not cycle or cycle.more_body or cycle.response_complete:
            return False
        cycle.keep_alive = False
        return True


class _Server(uvicorn.Server):
    """Says when it accepts connections."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started()


def _serve_http(app: Application, listener: socket.socket, started: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; requests in hand are answered first."""
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=_Http,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=30,
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _already_stopped)
    asyncio.run(_Server(config, started).serve(sockets=[listener]))


def _already_stopped(number: int, frame: FrameType | None) -> None:
    """The server raises what stopped it once more when it is done: nothing is left to do then."""
    del number, frame
