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
    "submit": ("sbatch", "srun", "run", "launch", "exec"),
    "jobs": ("squeue", "sacct", "status", "queue", "ls", "list", "ps", "get", "history"),
    "cancel": ("scancel", "kill", "stop", "delete", "rm"),
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
_RESOURCE_COMMANDS = {"up": ("apply", "create", "deploy", "provision"), "destroy": ("down", "teardown"), "preview": ()}
"""Commands of Pulumi with those of other systems that do the same."""


class CommandGroup(TyperGroup):
    """The subcommands; for a command of another system the error names the matching subcommand."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; raises a usage error that names the matching subcommand."""
        with _with_hint(_find_command_hint(args[0])):
            return super().resolve_command(ctx, args)


def _find_command_hint(word: str) -> str:
    for verb, others in _FOREIGN_COMMANDS.items():
        if word in others:
            return f"use: supercloud {verb}"
    for verb, others in _RESOURCE_COMMANDS.items():
        if word == verb or word in others:
            resources = f"for cloud resources use: pulumi {verb} (docs/how-to/aws.md)"
            files = ", for files of your own machines: supercloud render" if verb == "up" else ""
            job = ", for a job: supercloud submit" if word in ("apply", "create") else ""
            return resources + files + job
    return ""


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
