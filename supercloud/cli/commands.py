"""Hints for commands and options of other systems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["JobCommand", "CommandGroup"]

_UsageError: Any = typer.BadParameter.__mro__[1]  # of click, which releases of typer bundle in different ways

_FOREIGN_COMMANDS = {
    "submit": ("sbatch", "srun", "run", "launch", "apply", "create", "exec"),
    "jobs": ("squeue", "sacct", "status", "queue", "ls", "list", "ps", "get", "history"),
    "cancel": ("scancel", "kill", "stop", "delete", "rm", "down"),
    "logs": ("log", "tail", "output", "attach"),
    "wait": ("watch",),
    "place JOB --on FLEET --live": ("sinfo", "top", "nodes"),
    "catalog": ("show-gpus", "machines", "accelerators"),
    "check": ("validate", "lint", "verify"),
    "plan": ("show", "describe", "info"),
    "render": ("generate", "build", "template"),
    "init": ("new", "start"),
    "serve": ("broker", "daemon", "server"),
}
"""Subcommands with the commands of other systems that do the same."""


class CommandGroup(TyperGroup):
    """The subcommands; for a command of another system the error names the matching subcommand."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; raises a usage error that names the matching subcommand."""
        verb = next((verb for verb, others in _FOREIGN_COMMANDS.items() if args[0] in others), None)
        with _with_hint(f"use: supercloud {verb}" if verb else ""):
            return super().resolve_command(ctx, args)


class JobCommand(TyperCommand):
    """A subcommand that takes a job file: for an option of another system the error names the field of the file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; raises a usage error that names the matching field."""
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            if name := getattr(error, "option_name", ""):
                error.message += _build_field_hint(name.lstrip("-"))
                error.possibilities = error.possibilities if name.startswith("--") else None
            raise


@contextmanager
def _with_hint(hint: str) -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        if hint:
            error.message = f"{error.message.partition(' Did you mean')[0].rstrip('.')}; {hint}"
        raise


def _build_field_hint(name: str) -> str:
    from ..spec import JobSpec
    from ..spec.hints import find_field_hint

    if name.replace("-", "_") in JobSpec.model_fields:
        return f"; in the job file write {name.replace('-', '_')}: …"
    hint = find_field_hint(name, None, [JobSpec])
    return f"; in the job file {hint}" if hint.startswith("write") else f"; {hint}" if hint else ""
