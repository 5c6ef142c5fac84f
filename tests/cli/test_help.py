"""Commands printed in help and README are accepted by the command line."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from importlib import import_module

import pytest
import typer
from samples import ROOT

from supercloud.catalog.reader import OVERLAY_VARIABLE
from supercloud.cli import COMMANDS, app, main
from supercloud.cli.commands import _FOREIGN_COMMANDS, _RESOURCE_COMMANDS
from supercloud.jobs.engines import secrets
from supercloud.jobs.engines.slurm import tokens
from supercloud.jobs.transport import http as web


@pytest.mark.parametrize(
    "words, message",
    [
        ("submit job.yaml --on c.yaml --gres gpu:8", "in the job file write accelerators:"),
        ("submit job.yaml --on c.yaml --partition=batch", "in the job file write place:"),
        ("place job.yaml --on c.yaml --nodes 2", "in the job file write nodes:"),
        (
            "submit examples/01-minimal/job.yaml --on examples/08-kubernetes/cluster.yaml --via prod",
            "a connection to Kubernetes; use context:prod",
        ),
        ("submit examples/01-minimal/job.yaml --on examples/01-minimal/cluster.yaml --via login", "write ssh:login"),
        ("catalog gpus", "use: supercloud catalog accelerators"),
        ("squeue", "use: supercloud jobs"),
        ("launch job.yaml", "use: supercloud submit"),
        ("up cluster.yaml", "for cloud resources use: pulumi up (docs/how-to/aws.md), for files of your own machines:"),
        (
            "apply cluster.yaml",
            "use: pulumi up (docs/how-to/aws.md), for files of your own machines: supercloud render",
        ),
        ("apply job.yaml", "supercloud render, for a job: supercloud submit"),
        ("destroy", "for cloud resources use: pulumi destroy (docs/how-to/aws.md)"),
        ("down", "for cloud resources use: pulumi destroy (docs/how-to/aws.md)"),
    ],
)
def test_commands_and_options_of_other_systems_have_a_hint(
    words: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["supercloud", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2 and message in " ".join(re.sub("[│\\n]", " ", capsys.readouterr().err).split())


def test_no_foreign_command_hides_a_command() -> None:
    others = [word for words in (*_FOREIGN_COMMANDS.values(), *_RESOURCE_COMMANDS.values()) for word in words]
    others += _RESOURCE_COMMANDS
    assert not set(others) & set(COMMANDS) and len(set(others)) == len(others)
    assert {verb.split()[0] for verb in _FOREIGN_COMMANDS} <= set(COMMANDS)


def iter_commands() -> Iterator[tuple[str, str]]:
    """Every complete command in help or on a page, with its location."""
    for verb in COMMANDS:
        epilog = import_module(f"supercloud.cli.{verb.replace('-', '_')}").EPILOG
        yield from ((verb, found) for found in re.findall(r"supercloud [^\u00b7&]+", epilog))
    pages = [page for page in ROOT.glob("docs/**/*.md") if page.parent.name != "reference"]
    for page in (ROOT / "README.md", *sorted(pages), *sorted(ROOT.glob("examples/*/README.md"))):
        text = page.read_text()
        shown = re.findall(r"`(supercloud [^`]*\.[^`]*)`", text) + re.findall(r"(?m)^(?:\$ )?(supercloud .*)$", text)
        for line in shown:
            yield from (
                (str(page), part.strip())
                for part in re.split(r"&&|\|| \u00b7 ", line)
                if part.strip().startswith("supercloud ")
            )


def test_each_printed_command_is_accepted() -> None:
    group = typer.main.get_command(app)
    count = 0
    for where, command in iter_commands():
        _, verb, *words = shlex.split(re.split(r" 2?> ?| +# ", command)[0].replace(" \u2026", ""))
        if words:  # else the verb alone is meant
            group.commands[verb].make_context(verb, words)  # type: ignore[attr-defined]
            count += 1
        assert verb in COMMANDS or verb == "--version", where
    assert count > 40


def test_each_variable_that_users_set_is_documented_and_in_help() -> None:
    pages = (ROOT / "docs/how-to/commands.md").read_text(), str(app.info.epilog)
    for name in (
        "SUPERCLOUD_STATE",
        secrets.FOLDER_VARIABLE,
        OVERLAY_VARIABLE,
        tokens.ADDRESS_VARIABLE,
        web.PROXY_VARIABLE,
    ):
        assert all(name in page for page in pages)
