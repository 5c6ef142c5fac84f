from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from supercloud.cli import main


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process: exit code, stdout, stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["supercloud", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else 1 if exit.code else 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
