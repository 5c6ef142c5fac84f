"""Storage of a job's script, log and result: in the state folder on shared storage, or on the login node.

Both implementations guarantee: if the submitter is killed, a lookup of its job reports as long as the submission may
still be in progress.
"""

from __future__ import annotations

import contextlib
import fcntl
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ....errors import EngineError
from ....primitives.foreign_text import split_lines
from ...runtime import checkpoint_helper as helper
from ...store import private_files as private
from ..submission import Submission
from .runner import CommandResult, Runner, SshRunner

__all__ = ["BROKE_OFF", "RemoteSpool", "SharedSpool", "Spool"]

_CHUNK_SIZE = 2**20
BROKE_OFF = "timed out: "
"""Prefix of the error of a submission over ssh that was interrupted, now or earlier (in ``_SUBMIT_SCRIPT``)."""


class Spool(Protocol):
    """The files of jobs."""

    home: str
    """The folder, in the form for the batch script; may start with ``$HOME``."""

    def get_log_path(self, key: str) -> str:
        """The log file of all tasks, in the form for the submitting command."""

    def submit(self, submission: Submission) -> CommandResult:
        """Run the submitting command with the script on its standard input.

        Raises :class:`EngineError` if it was not run, and :class:`SubmissionUnknownError` if that is unknown.
        """

    def find_pending_keys(self, keys: Sequence[str]) -> set[str]:
        """Keys whose submission is in progress."""

    def read_answers(self, keys: Sequence[str]) -> Mapping[str, tuple[str, float]]:
        """Keys whose answer of the submitting command is recorded, with the answer and the time of the job's record
        (seconds since 1970; 0 if not recorded).
        """

    def discard(self, keys: Sequence[str]) -> None:
        """Discard submissions that were interrupted and certainly failed: they may be repeated."""

    def record_refusal(self, key: str) -> None:
        """Record that the system refused the last submission of a key: it may be repeated."""

    def read_file(self, key: str, name: str, offset: int) -> bytes:
        """A chunk of a job's ``log`` or ``result``; empty at the end."""

    def describe_file(self, key: str, name: str) -> str:
        """The path of that file, for messages."""


class SharedSpool:
    """The state folder, on storage shared with the nodes."""

    def __init__(self, folder: Path, runner: Runner):
        self.folder, self.runner, self.home = folder, runner, str(folder)

    def get_log_path(self, key: str) -> str:
        """In the job's folder."""
        return str(self.folder / key / "log")

    def submit(self, submission: Submission) -> CommandResult:
        """The script is a file that is locked while the command has it open: the lock outlives this process.

        Raises :class:`EngineError` if the script cannot be written.
        """
        path = self.folder / submission.key / "script"
        try:
            private.create_private_folder(self.folder)
            private.create_private_folder(path.parent)
            helper.install(self.folder / helper.FILE_NAME)
            private.write(path, submission.stdin)
            with open(path, "rb") as stdin:
                fcntl.flock(stdin, fcntl.LOCK_EX)
                return self.runner.run(submission.argv, stdin)
        except OSError as error:
            raise EngineError(f"{path}: {error.strerror}") from None

    def find_pending_keys(self, keys: Sequence[str]) -> set[str]:
        """The keys whose script is locked."""
        return {key for key in keys if self._is_locked(key)}

    def _is_locked(self, key: str) -> bool:
        try:
            with open(self.folder / key / "script", "rb") as script:
                fcntl.flock(script, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return False
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True

    def read_answers(self, keys: Sequence[str]) -> Mapping[str, tuple[str, float]]:
        """Nothing is recorded here: the queue is queried."""
        return {}

    def discard(self, keys: Sequence[str]) -> None:
        """Nothing is recorded here."""

    def record_refusal(self, key: str) -> None:
        """Nothing is recorded here."""

    def read_file(self, key: str, name: str, offset: int) -> bytes:
        """From the file."""
        return private.read_own_file(self.folder / key / name, offset, _CHUNK_SIZE)

    def describe_file(self, key: str, name: str) -> str:
        """Its path."""
        return str(self.folder / key / name)


# One submission per key, whatever is interrupted: the lock is also held by the submitting command, its answer is kept,
# and a script that was not received completely is not submitted. After a failed command no submission is started again
# before the caller has read the error: the system may have the job although its answer was lost. An answer for another
# job that had the key before (deleted from its store, or of another store) is not the answer for this one. Only this
# text is parsed by a shell, with the folder of the batch system in the place of @FOLDER@; data of jobs is in "$@" and
# files.
_SUBMIT_SCRIPT = """\
dir=.supercloud/@FOLDER@/$1 size=$2 helper=$3 digest=$4
shift 4
mask=$(umask) # a job has that of the command
umask 077
mkdir -p "$dir" && exec 9>>"$dir/lock" && flock 9 || exit 74
if [ -s "$dir/ref" ]; then
    [ "$(cat "$dir/digest" 2>/dev/null)" = "$digest" ] && exec cat "$dir/ref"
    tail -n 1 "$dir/ref" && exit 76
fi
if [ -e "$dir/begun" ]; then echo 'timed out: an earlier submission broke off' >&2; exit 75; fi
cat >"$dir/sent" && [ "$(wc -c <"$dir/sent")" -eq "$size" ] ||
    { echo 'timed out: the script did not arrive whole' >&2; exit 75; }
head -c "$helper" "$dir/sent" >"$dir/helper" && chmod 755 "$dir/helper" &&
    mv -f "$dir/helper" .supercloud/@FOLDER@/.checkpoint || exit 74
tail -c "+$((helper + 1))" "$dir/sent" >"$dir/script" && rm "$dir/sent" &&
    printf '%s\\n' "$digest" >"$dir/digest" && : >"$dir/begun" || exit 74
(umask "$mask"; exec "$@") <"$dir/script" >"$dir/answer"
code=$?
if [ "$code" -eq 0 ]; then mv "$dir/answer" "$dir/ref" && cat "$dir/ref"; fi
exit "$code"
"""
_KEY_CONFLICT_EXIT_CODE = 76  # exit code for this conflict; submitting commands use only 0 and 1
_LIST_SCRIPT = """\
for key; do
    dir=.supercloud/@FOLDER@/$key
    if [ ! -e "$dir/lock" ]; then echo "$key none"
    elif ! flock -n "$dir/lock" true; then echo "$key busy"
    elif [ -s "$dir/ref" ]; then echo "$key ref $(cut -d ' ' -f 2 "$dir/digest" 2>/dev/null) $(tail -n 1 "$dir/ref")"
    else echo "$key none"; fi
done
"""
_DISCARD_SCRIPT = """\
for key; do flock -n ".supercloud/@FOLDER@/$key/lock" rm -f ".supercloud/@FOLDER@/$key/begun"; done 2>/dev/null
:
"""
# A file is read only if it belongs to the user. The mark separates the file from what start-up files of the
# user's shell print.
_FILE_MARK = "supercloud: the file follows"
_READ_SCRIPT = """\
cd "$HOME" || exit 74
printf '%s\\n' "$4"
file=.supercloud/@FOLDER@/$1
[ -e "$file" ] || exit 0
[ -n "$(find "$file" -prune -type f -user "$(id -u)" 2>/dev/null)" ] || exit 77
tail -c "+$2" "$file" 2>/dev/null | head -c "$3"
"""


class RemoteSpool:
    """A folder in the user's home directory on a login node; home directories are shared with the nodes."""

    def __init__(self, runner: SshRunner):
        self.runner, self._folder = runner, f".supercloud/{runner.system.folder}"
        self.home = f"$HOME/{self._folder}"

    def get_log_path(self, key: str) -> str:
        """Relative to the home directory, in which the command runs."""
        return f"{self._folder}/{key}/log"

    def submit(self, submission: Submission) -> CommandResult:
        """The script is sent on standard input, after the helper that it may need.

        Raises :class:`EngineError` if another job has the key there.
        """
        lead, script = helper.read_script().encode(), submission.stdin.encode()
        sizes = (str(len(lead) + len(script)), str(len(lead)))
        digest = f"{submission.digest} {submission.recorded!r}"
        with tempfile.TemporaryFile() as stdin:
            stdin.write(lead + script)
            stdin.seek(0)
            answer = self.runner.run(
                self._build_command(_SUBMIT_SCRIPT, submission.key, *sizes, digest, *submission.argv), stdin
            )
        if answer.exit_code == _KEY_CONFLICT_EXIT_CODE:
            raise EngineError(
                f"key {submission.key!r} is already used by {self.runner.system.name} job "
                f"{answer.stdout.strip()[-40:]} on {self.runner.host}, which was submitted for another job or with "
                "another script; use another key, or, once that job has ended, remove the folder "
                f"~/{self._folder}/{submission.key} there and submit again"
            )
        return answer

    def find_pending_keys(self, keys: Sequence[str]) -> set[str]:
        """The keys whose lock is held there.

        Raises :class:`EngineError` if the host does not respond.
        """
        return {key for key, word, _ in self._list_submissions(keys) if word == "busy"}

    def read_answers(self, keys: Sequence[str]) -> Mapping[str, tuple[str, float]]:
        """The answers of the command that are recorded there.

        Raises :class:`EngineError` if the host does not respond.
        """
        found = {}
        for key, word, content in self._list_submissions(keys):
            recorded, _, answer = content.partition(" ")
            if word == "ref":
                found[key] = (answer, float(recorded) if re.fullmatch(r"[0-9]{1,12}(\.[0-9]+)?", recorded) else 0.0)
        return found

    def _list_submissions(self, keys: Sequence[str]) -> list[tuple[str, str, str]]:
        answer = self.runner.run(self._build_command(_LIST_SCRIPT, *keys))
        if answer.exit_code:
            raise EngineError(f"{self.runner.host} does not respond: {answer.stderr.strip()[-200:]}")
        rows = [line.split(" ", 2) for line in split_lines(answer.stdout)]
        return [(row[0], row[1], row[2] if len(row) > 2 else "") for row in rows if len(row) > 1]

    def discard(self, keys: Sequence[str]) -> None:
        """So that they can be submitted again."""
        if keys:
            self.runner.run(self._build_command(_DISCARD_SCRIPT, *keys))

    def record_refusal(self, key: str) -> None:
        """Record it there; if that fails, the next lookup of the job does it."""
        with contextlib.suppress(EngineError):
            self.discard([key])

    def read_file(self, key: str, name: str, offset: int) -> bytes:
        """From the file there.

        Raises :class:`EngineError` if it belongs to another user, or the host prints something else.
        """
        done = self.runner.run_raw(
            self._build_command(_READ_SCRIPT, f"{key}/{name}", str(offset + 1), str(_CHUNK_SIZE), _FILE_MARK)
        )
        if done.returncode == 77:
            raise EngineError(
                f"{self.runner.host}: ~/{self._folder}/{key}/{name} was not read: it does not belong "
                "to the user that submitted the job"
            )
        printed, mark, content = done.stdout.partition(f"{_FILE_MARK}\n".encode())
        if printed and not mark:
            raise EngineError(
                f"{self.runner.host}: the file of job {key} was not read; instead of it the host printed "
                f"{printed[-200:].decode(errors='replace')!r}"
            )
        return content

    def describe_file(self, key: str, name: str) -> str:
        """The host and the path on it."""
        return f"{self.runner.host}: ~/{self._folder}/{key}/{name}"

    def _build_command(self, script: str, *arguments: str) -> tuple[str, ...]:
        return ("sh", "-c", script.replace("@FOLDER@", self.runner.system.folder), "sh", *arguments)
