"""The output of a job's pods, collected in a file of the state folder: append-only, and kept after the pods are gone.

Logs of pods of an earlier attempt, or of a preempted job, are deleted with the pods; output read before is kept. The
result of a function is transferred in marked lines, and goes to a separate file.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ...runtime.remote_call import RESULT_MARK
from ...store import private_files as private
from .api import ApiClient, ApiStatusError
from .container import MAIN_CONTAINER

__all__ = ["LogSpool"]

Json = dict[str, Any]

_CHUNK_SIZE = 1 << 20  # bytes returned at once
_MAX_PARALLEL_REQUESTS = 8
_RESULT_PATTERN = re.compile(rb"(\d{1,18}) (\d{1,18}) (\d{1,18}) ([A-Za-z0-9+/]+=*)\n")


class LogSpool:
    """The log of one job."""

    def __init__(self, folder: Path):
        self._file, self._marks, self._results = folder / "log", folder / "marks.json", folder / "results"
        self._mark = f"{RESULT_MARK} {folder.name} ".encode()  # of this job: its folder is named by its key

    @property
    def result_path(self) -> Path:
        """The file with the result lines of the job."""
        return self._results

    def gather(self, api: ApiClient, pods: Iterable[Json]) -> None:
        """Add the new output of pods; pods that have not started have none."""
        begun = [pod for pod in pods if pod.get("status", {}).get("phase") in ("Running", "Succeeded", "Failed")]
        if not begun:
            return
        private.create_private_folder(self._file.parent)
        for path in (self._file, self._results):
            private.create_private_file(path)
        with (
            open(self._file, "ab") as file,
            open(self._results, "ab") as results,
            ThreadPoolExecutor(_MAX_PARALLEL_REQUESTS) as threads,
        ):
            fcntl.flock(file, fcntl.LOCK_EX)  # concurrent readers write once
            marks = json.loads(self._marks.read_text()) if self._marks.exists() else {}
            order = sorted(begun, key=lambda pod: str(pod["metadata"]["name"]))
            for pod, lines in zip(order, threads.map(lambda pod: _read_new_lines(api, pod, marks), order), strict=True):
                for stamp, text in lines:
                    output, mark, result = text.partition(self._mark)
                    results.write(b"\n" * bool(mark) + result)  # a previous writer may have been killed within a line
                    file.write(output + b"\n" * bool(output and mark))  # an unterminated line precedes it
                    marks[pod["metadata"]["uid"]] = stamp
            file.flush()
            results.flush()
            new = self._marks.with_suffix(".new")
            private.write(new, json.dumps(marks))
            new.replace(self._marks)

    def read(self, offset: int) -> bytes:
        """A chunk from a byte offset."""
        return private.read_own_file(self._file, offset, _CHUNK_SIZE)

    def read_result(self) -> bytes:
        """The result of its last attempt; empty until it is complete."""
        pieces: dict[int, dict[int, bytes]] = {}
        counts: dict[int, int] = {}
        with contextlib.suppress(FileNotFoundError), open(self._results, "rb") as file:
            for match in filter(None, map(_RESULT_PATTERN.fullmatch, file)):
                epoch, number, count = map(int, match.groups()[:3])
                pieces.setdefault(epoch, {})[number] = match[4]
                counts[epoch] = count
        last = max(counts, default=0)
        if len(found := pieces.get(last, {})) < counts.get(last, 1):
            return b""
        return b"".join(base64.b64decode(found[number]) for number in sorted(found))


def _read_new_lines(api: ApiClient, pod: Json, positions: dict[str, str]) -> list[tuple[str, bytes]]:
    """Lines of a pod after the last one read, each with its timestamp by the kubelet."""
    meta = pod["metadata"]
    last = positions.get(meta["uid"], "")
    query: dict[str, str | int] = {"container": MAIN_CONTAINER, "timestamps": "true"}
    if last:
        query["sinceTime"] = f"{last[:19]}Z"  # the server supports whole seconds only
    try:
        data = api.get_raw(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/log", **query)
    except ApiStatusError as refusal:
        if refusal.code in (400, 404):  # not started, or deleted meanwhile
            return []
        raise
    found = []
    for line in data.split(b"\n")[:-1]:  # an incomplete line is read next time
        stamp, _, text = line.partition(b" ")
        if stamp.decode() > last:
            found.append((stamp.decode(), text + b"\n"))
    return found
