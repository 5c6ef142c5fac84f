"""The command line: one file per subcommand, and the list of subcommands.

The module of a subcommand has a function of the same name with typer annotations. Heavy imports are inside it, so that
``supercloud --help`` stays fast. To add a subcommand: a file, and a line in ``COMMANDS``.
"""

from __future__ import annotations

import gc
import signal
import sys
from importlib import import_module
from types import FrameType

import typer

from .._version import __version__
from ..errors import SupercloudError
from .commands import CommandGroup, JobCommand

__all__ = ["COMMANDS", "app", "main"]

COMMANDS: dict[str, str] = {
    "init": "Declare",
    "plan": "Declare",
    "check": "Declare",
    "render": "Declare",
    "diff": "Declare",
    "verify-cabling": "Declare",
    "report": "Declare",
    "catalog": "Catalog and schemas",
    "schema": "Catalog and schemas",
    "explain": "Catalog and schemas",
    "place": "Jobs",
    "why-not": "Jobs",
    "submit": "Jobs",
    "jobs": "Jobs",
    "logs": "Jobs",
    "wait": "Jobs",
    "cancel": "Jobs",
    "serve": "Jobs",
    "store": "Jobs",
}

_JOB_FILE_COMMANDS = ("place", "why-not", "submit")
app = typer.Typer(
    name="supercloud",
    cls=CommandGroup,
    help="Declare an AI supercomputer once; plan it, render its configuration, run jobs on it.",
    epilog="Start with: supercloud init cluster.yaml · Variables: SUPERCLOUD_STATE, SUPERCLOUD_SECRETS, "
    "SUPERCLOUD_CATALOG, SUPERCLOUD_SLURM_ADDRESS, SUPERCLOUD_PROXY (see docs/how-to/commands.md)",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"supercloud {__version__}")
        raise typer.Exit


@app.callback()
def _accept_options(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def _join_lines(text: str) -> str:
    """Each paragraph as one line, which the terminal's width breaks; typer keeps the line breaks of the source."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


for _verb, _panel in COMMANDS.items():
    _name = _verb.replace("-", "_")
    _module = import_module(f".{_name}", __name__)
    _class = JobCommand if _verb in _JOB_FILE_COMMANDS else None
    _function = getattr(_module, _name)
    app.command(
        name=_verb,
        cls=_class,
        help=_join_lines(_function.__doc__),
        rich_help_panel=_panel,
        epilog=_module.EPILOG,
    )(_function)


def _end_by_signals() -> None:
    """Let SIGTERM and SIGHUP end the program as an exception does, so that its temporary files are removed."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, end)


def main() -> None:
    """Run the command line; errors of this package and of the system become a message and an exit code, never a
    traceback.
    """
    from . import output

    # large specs and plans are millions of objects without cycles, which the garbage collector would traverse
    # repeatedly
    gc.set_threshold(100_000, 50, 50)
    _end_by_signals()
    output.prepare_streams()
    output.prepare_logging()
    output.request_json_errors(False)
    code: str | int | None = 0
    try:
        try:
            app()
        except SupercloudError as error:
            code = output.report_error(error)
        except SystemExit as ended:
            code = ended.code
        sys.stdout.flush()  # here, where a failure can still be reported
    except BrokenPipeError:
        output.discard_output(sys.stdout)
    except (OSError, UnicodeError, OverflowError) as error:
        code = output.report_system_error(error)
    except KeyboardInterrupt:
        code = 130
    output.discard_unwritable_messages()
    sys.exit(code)
