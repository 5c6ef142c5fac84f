"""What a job's pods print, gathered in a file of the state folder: it only grows, and outlives the pods.

Pods of an earlier start, or of a job that was preempted, are gone with their logs; what was read before stays. What a
function returned comes along, in lines that begin with a mark, and goes to a file of its own.
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

_CHUNK_SIZE = 1 << 20  # bytes handed out at once
_MAX_PARALLEL_REQUESTS = 8
_RESULT_PATTERN = re.compile(rb"(\d+) (\d+) (\d+) ([A-Za-z0-9+/]+=*)\n")


class LogSpool:
    """The log of one job."""

    def __init__(self, folder: Path):
        self._file, self._marks, self._results = folder / "log", folder / "marks.json", folder / "results"
        self._mark = f"{RESULT_MARK} {folder.name} ".encode()  # of this job: its folder is called like its key

    @property
    def result_path(self) -> Path:
        """The file of what jobs left, as lines."""
        return self._results

    def gather(self, api: ApiClient, pods: Iterable[Json]) -> None:
        """Add what pods have printed since the last time; those that have not begun have nothing to say."""
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
            fcntl.flock(file, fcntl.LOCK_EX)  # two who read at once write once
            marks = json.loads(self._marks.read_text()) if self._marks.exists() else {}
            order = sorted(begun, key=lambda pod: str(pod["metadata"]["name"]))
            for pod, lines in zip(order, threads.map(lambda pod: _read_new_lines(api, pod, marks), order), strict=True):
                for stamp, text in lines:
                    said, mark, result = text.partition(self._mark)
                    results.write(b"\n" * bool(mark) + result)  # whoever wrote before may have been killed in a line
                    file.write(said + b"\n" * bool(said and mark))  # a line that was not ended stands before it
                    marks[pod["metadata"]["uid"]] = stamp
            file.flush()
            results.flush()
            new = self._marks.with_suffix(".new")
            private.write(new, json.dumps(marks))
            new.replace(self._marks)

    def read(self, offset: int) -> bytes:
        """A piece of it from a byte on."""
        try:
            with open(self._file, "rb") as file:
                file.seek(offset)
                return file.read(_CHUNK_SIZE)
        except FileNotFoundError:
            return b""

    def read_result(self) -> bytes:
        """What the job left in its last start; empty until all of it is here."""
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
    """Lines of a pod after the one that was read last, each with the time the kubelet gave it."""
    meta = pod["metadata"]
    last = positions.get(meta["uid"], "")
    query: dict[str, str | int] = {"container": MAIN_CONTAINER, "timestamps": "true"}
    if last:
        query["sinceTime"] = f"{last[:19]}Z"  # the server knows only whole seconds
    try:
        data = api.get_raw(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/log", **query)
    except ApiStatusError as refusal:
        if refusal.code in (400, 404):  # not started, or gone meanwhile
            return []
        raise
    found = []
    for line in data.split(b"\n")[:-1]:  # what has no end yet comes next time
        stamp, _, text = line.partition(b" ")
        if stamp.decode() > last:
            found.append((stamp.decode(), text + b"\n"))
    return found
