"""Run a Pulumi program in this process and get what it registered, checked against the providers' schemas."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import os
import runpy
import warnings
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pulumi.runtime import mocks, run_in_stack, set_all_config
from pulumi.runtime.proto import engine_pb2
from pulumi.runtime.settings import Settings, configure, set_root_resource

from .graph import Graph
from .monitor import Answers, Monitor, list_disabled_defaults
from .sdks import expect_warnings


class ProgramRefused(Exception):
    """The engine or a provider would refuse this program. ``problems`` has all reasons."""

    def __init__(self, problems: list[str]):
        super().__init__("\n".join(problems))
        self.problems = problems


def record(
    program: Callable[[], Any],
    preview: bool = False,
    config: Mapping[str, Any] | None = None,
    *,
    secret_config: Collection[str] = (),
    invokes: Answers | None = None,
    project: str = "project",
    stack: str = "stack",
) -> Graph:
    """Run a program in a new stack.

    Args:
        program: the content of a ``__main__.py``; may be a coroutine function.
        preview: computed outputs and ids are unknown, as in ``pulumi preview``; otherwise they are invented.
        config: the stack's configuration. Keys without a namespace get the project's; values that are no strings
            become JSON.
        secret_config: those of its keys that are secret.
        invokes: function token -> answer, or a function of the arguments. Other functions of clouds are refused.

    An ``Output`` in an f-string raises.

    Raises:
        ProgramRefused: everything the engine or a provider's schema would refuse.
        Exception: whatever the program itself raises.
    """
    settings = {_qualify_key(key, project): _format_value(value) for key, value in (config or {}).items()}
    monitor = Monitor(project, stack, preview, invokes or {}, list_disabled_defaults(settings))
    with patch.dict(os.environ, PULUMI_ERROR_OUTPUT_STRING="true"), warnings.catch_warnings():
        expect_warnings()
        secrets = {_qualify_key(key, project) for key in secret_config}
        log = contextvars.copy_context().run(_run, program, monitor, settings, secrets)
    if monitor.errors:
        raise ProgramRefused(sorted(monitor.errors))
    return Graph(monitor.entries, monitor.exports, tuple(sorted(monitor.warnings)), tuple(log))


def load_program(folder: Path) -> Callable[[], Any]:
    """The program in a folder (``__main__.py``) or a file, as a function."""
    file = folder / "__main__.py" if folder.is_dir() else folder
    return lambda: runpy.run_path(str(file), run_name="__main__") and None


class Log(mocks.MockEngine):
    """Messages to the user, from information upwards."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def Log(self, request: Any) -> None:
        if request.severity > engine_pb2.DEBUG:
            self.messages.append(f"{engine_pb2.LogSeverity.Name(request.severity).lower()}: {request.message}")


def _qualify_key(key: str, project: str) -> str:
    return key if ":" in key else f"{project}:{key}"


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _run(program: Callable[[], Any], monitor: Monitor, config: dict[str, str], secrets: set[str]) -> list[str]:
    """In a separate context: the SDK keeps its state in context variables, so nothing of a run outlives it."""
    log = Log()
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # the SDK leaves failed tasks unobserved on purpose
    loop = asyncio.new_event_loop()
    executor = ThreadPoolExecutor(8, thread_name_prefix="pulumi-record")
    loop.set_default_executor(executor)
    set_root_resource(None)  # type: ignore[arg-type]
    configure(
        Settings(monitor.project, monitor.stack, monitor, log, dry_run=monitor.preview, organization="organization")
    )
    set_all_config(config, list(secrets))
    try:
        loop.run_until_complete(run_in_stack(program))
    finally:
        # all at once, whatever they end with: one that fails while others are cancelled hid what the program raised
        while pending := asyncio.all_tasks(loop):
            for task in pending:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        executor.shutdown()
        loop.close()
    return log.messages
