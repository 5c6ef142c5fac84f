"""Many generated specs, once: ``python tests/fuzz.py --specs 100000 --from 0``. Prints what is wrong and the figures.

Each spec has 5 s of processor time; the process may grow by 1 GiB of memory. Specs that fail are kept in a folder.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent)]

from outcome import LateRefusal  # noqa: E402
from spec_trial import try_spec  # noqa: E402

_SECONDS = 5
_MEMORY = 2**30


class _Late(Exception):
    pass


def _raise_late(*_: Any) -> None:
    raise _Late(f"more than {_SECONDS} s of processor time")


def _keep(folder: Path, name: str) -> str:
    """The spec that was tried last under another name; empty where the generator itself failed."""
    for path in folder.glob("spec.*"):
        return str(shutil.copy(path, folder / f"{name}{path.suffix}"))
    return ""


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--specs", type=int, default=1000)
    options.add_argument("--from", type=int, default=0, dest="first")
    options.add_argument("--out", type=Path, default=Path("/tmp/fuzz"))
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (used + _MEMORY, used + _MEMORY))
    signal.signal(signal.SIGPROF, _raise_late)
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    worst = 0.0
    for number in range(given.first, given.first + given.specs):
        for left in given.out.glob("spec.*"):
            left.unlink()
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        try:
            counts[try_spec(number, given.out)] += 1
        except Exception as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            kind = "late refusal" if isinstance(error, LateRefusal) else type(error).__name__
            frames = traceback.extract_tb(error.__traceback__)
            where = next(
                (
                    f"{f.filename.split('/supercloud/')[-1]}:{f.lineno}"
                    for f in reversed(frames)
                    if "/supercloud/" in f.filename
                ),
                "",
            )
            counts[kind] += 1
            mark = f"{kind} {where} {str(error)[:60] if kind in ('late refusal', 'AssertionError') else ''}"
            if mark not in seen:
                seen.add(mark)
                kept = _keep(given.out, str(number))
                print(f"{number}: {kind} {where}: {str(error)[:300]}  [{kept}]", flush=True)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        took = time.process_time() - began
        if took > max(1.0, worst):
            print(f"{number}: {took:.1f} s", flush=True)
            _keep(given.out, f"slow-{number}")
        worst = max(worst, took)
        if (number - given.first) % 1000 == 999:
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"-- {number + 1}: {dict(counts)}, slowest {worst:.1f} s, {grown} MiB", flush=True)
    print(f"{given.specs} specs: {dict(counts)}, slowest {worst:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
