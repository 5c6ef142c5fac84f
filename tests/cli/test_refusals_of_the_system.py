"""What the system refuses, and numbers that nothing can hold, become a sentence and an exit code, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from samples import ROOT

MINIMAL = str(ROOT / "examples/01-minimal/cluster.yaml")
JOB = "name: hello\naccelerators: {count: 0}\ncommand: [echo, hello]\n"
UTF8 = {"PYTHONIOENCODING": "utf-8"}


def run(folder: Path, words: list[str], shell: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a separate process, with a redirection of the shell."""
    given = {"PATH": os.environ["PATH"], "SUPERCLOUD_STATE": str(folder / "state"), **environment}
    command = ["sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, "-m", "supercloud", *words]
    done = subprocess.run(
        command,
        cwd=folder,
        env={name: value for name, value in given.items() if value},
        stdout=-1,
        stderr=-1,
        encoding="utf-8",
        errors="replace",
        timeout=120,
    )
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize(
    "words",
    [
        ["wait", "9223372036854775808"],
        ["logs", "9223372036854775808"],
        ["cancel", "9" * 30],
        ["jobs", "--history", "9223372036854775808"],
        ["jobs", "--limit", "99999999999999999999"],
        ["wait", "9223372036854775807"],
        ["store", "prune", "--older", "1e400 d"],
        ["store", "prune", "--older", "-5 d"],
        ["serve", MINIMAL, "--engine", "local", "--every", "inf"],
        ["wait", "1", "--timeout", "nan"],
    ],
)
def test_numbers_out_of_range_are_refused_by_option(
    tmp_path: Path, words: list[str], cli: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUPERCLOUD_STATE", str(tmp_path / "state"))
    code, _, message = cli(*words)
    assert (
        code == 2
        and "Traceback" not in message
        and ("ID" in message or "--" in message or "no job" in message or words[-1] in message)
    ), message


@pytest.mark.slow
@pytest.mark.parametrize("name", ["²", "9" * 26, "9" * 4000, "٣"])
def test_a_dependency_that_is_not_a_number_is_an_unknown_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "job.yaml").write_text(JOB + f'after: ["{name}"]\n')
    done = run(tmp_path, ["submit", "job.yaml", "--on", MINIMAL, "--engine", "local"], **UTF8)
    assert done.returncode == 2 and "no job has the ID" in done.stderr, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_unwritable_output_is_an_error_and_the_job_id_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    submit = ["submit", "job.yaml", "--on", MINIMAL, "--hold"]
    for number, extra in enumerate(([], ["--json"]), start=1):
        done = run(tmp_path, [*submit, *extra], "> /dev/full")
        assert done.returncode == 1 and f"job {number} (hello" in done.stderr, done.stderr
        assert "could not be written to standard output: No space left on device" in done.stderr
    done = run(tmp_path, ["schema"], "> /dev/full")
    assert done.returncode == 1 and "No space left on device" in done.stderr, done.stderr
    assert run(tmp_path, ["jobs"], "> /dev/full 2> /dev/full").returncode == 1
    done = run(tmp_path, ["plan", MINIMAL], "> /dev/full", PYTHONUNBUFFERED="1")
    assert done.returncode == 1 and "standard output: the result could not be written: No space" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_temporary_files(tmp_path: Path, number: int) -> None:
    """Python ends at once at these signals: a CI job that was stopped left a hidden file beside the report."""
    program = (
        "import os, signal, supercloud.cli as cli\n"
        f"signal.signal({int(number)}, signal.SIG_DFL)\n"  # nohup ignores SIGHUP
        f"os.fsync = lambda handle: os.kill(os.getpid(), {int(number)})\ncli.main()\n"
    )
    command = [sys.executable, "-c", program, "report", str(MINIMAL), "-o", "report.html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 128 + number and not done.stderr.count("Traceback"), done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_closed_streams_do_not_change_the_exit_code(tmp_path: Path) -> None:
    assert run(tmp_path, ["plan", MINIMAL], ">&- 2>&- <&-").returncode == 0
    assert run(tmp_path, ["plan", "nothing.yaml"], ">&- 2>&-").returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "latin-1"}, {"PYTHONUTF8": "0", "LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0"}],
)
def test_every_terminal_encoding_gets_the_whole_output(tmp_path: Path, environment: dict[str, str]) -> None:
    done = run(tmp_path, ["plan", MINIMAL], **environment)
    assert done.returncode == 0 and "next:" in done.stderr, done.stderr
    (tmp_path / "wrong.yaml").write_text("name: größe→\n")
    done = run(tmp_path, ["check", "wrong.yaml"], **environment)
    assert done.returncode == 2 and "\\u2192" in done.stdout + done.stderr


@pytest.mark.slow
def test_json_is_unchanged_in_an_encoding_without_its_characters(tmp_path: Path) -> None:
    escaped, plain = (run(tmp_path, ["schema"], PYTHONIOENCODING=name).stdout for name in ("ascii", "utf-8"))
    assert escaped.isascii() and not plain.isascii() and json.loads(escaped) == json.loads(plain)


@pytest.mark.slow
def test_a_user_without_a_home_folder_gets_an_error_with_the_variable_to_set(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    tmp_path.chmod(0o755)
    for words in (["jobs"], ["submit", str(tmp_path / "job.yaml"), "--on", MINIMAL, "--hold"]):
        program = f"""
import os, pwd, sys
def nobody(*of): raise KeyError(of)
pwd.getpwuid, sys.argv[1:] = nobody, {words!r}
from supercloud.cli import main
main()
"""
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=60,
            env={"PATH": os.environ["PATH"]},
        )
        assert done.returncode == 1 and "set SUPERCLOUD_STATE" in done.stderr and "Traceback" not in done.stderr


def test_a_broker_without_a_lock_fails_and_one_with_a_full_disk_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno
    import fcntl

    from supercloud.errors import OperationError
    from supercloud.jobs.broker.lock import acquire_broker_lock

    def refuse_lock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", refuse_lock)
        with (
            pytest.raises(OperationError, match="No locks available.*set SUPERCLOUD_STATE"),
            acquire_broker_lock(tmp_path / "a"),
        ):
            pass
    (tmp_path / "b").mkdir(0o700)
    (tmp_path / "b/broker.lock").mkdir()
    with pytest.raises(OperationError, match="cannot be created"), acquire_broker_lock(tmp_path / "b"):
        pass
    shutil.rmtree(tmp_path / "b")
    with monkeypatch.context() as patched:
        patched.setattr(os, "ftruncate", refuse_lock)
        with (
            acquire_broker_lock(tmp_path / "c"),
            pytest.raises(OperationError, match="already serves"),
            acquire_broker_lock(tmp_path / "c"),
        ):
            pass
