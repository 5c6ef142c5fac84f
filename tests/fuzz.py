"""Many generated specs, once: ``python tests/fuzz.py --specs 100000 --from 0``. Prints what is wrong and the figures.

Each spec has 5 s of processor time; the process may grow by 1 GiB of memory. A spec that fails is written beside.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

sys.path[:0] = [str(Path(__file__).parent)]

from outcome import LateRefusal, is_small, outcome  # noqa: E402
from samples import EXAMPLES  # noqa: E402
from spec_generator import Generator, hostile_text  # noqa: E402

from supercloud.catalog import Catalog  # noqa: E402
from supercloud.plan.model import Plan  # noqa: E402

_LIGHT = ("slurm", "storage", "kubernetes", "boot", "hosts")
_SECONDS = 5
_MEMORY = 2**30


class _Late(Exception):
    pass


def _late(*_: Any) -> None:
    raise _Late(f"more than {_SECONDS} s of processor time")


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--specs", type=int, default=1000)
    options.add_argument("--from", type=int, default=0, dest="first")
    options.add_argument("--out", type=Path, default=Path("/tmp/fuzz"))
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    seeds = [yaml.safe_load(path.read_text()) for path in EXAMPLES]
    catalog = Catalog([path.parent / "catalog" for path in EXAMPLES if (path.parent / "catalog").is_dir()])
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (used + _MEMORY, used + _MEMORY))
    signal.signal(signal.SIGPROF, _late)
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    worst = 0.0
    for number in range(given.first, given.first + given.specs):
        chance = random.Random(number)
        data = Generator("cluster", number, seeds, catalog).document()
        as_json = chance.random() < 0.3
        path = given.out / ("spec.json" if as_json else "spec.yaml")
        text = json.dumps(data) if as_json else yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=True)
        if chance.random() < 0.03:
            text = hostile_text(text, chance)
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        heavy, shells = chance.random() < 0.15, chance.random() < 0.05

        def is_chosen(plan: Plan, target: str, heavy: bool = heavy) -> bool:
            return is_small(plan) and (heavy or target in _LIGHT)

        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        try:
            counts[outcome(path, catalog, is_chosen, shells)] += 1
        except Exception as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            kind = "late refusal" if isinstance(error, LateRefusal) else type(error).__name__
            frames = traceback.extract_tb(error.__traceback__)
            where = next(
                (
                    f"{f.filename.split('/input/')[-1]}:{f.lineno}"
                    for f in reversed(frames)
                    if "/supercloud/" in f.filename
                ),
                "",
            )
            counts[kind] += 1
            mark = f"{kind} {where} {str(error)[:60] if kind in ('late refusal', 'AssertionError') else ''}"
            if mark not in seen:
                seen.add(mark)
                kept = given.out / f"{number}{path.suffix}"
                kept.write_text(text, encoding="utf-8", errors="surrogatepass")
                print(f"{number}: {kind} {where}: {str(error)[:300]}  [{kept}]", flush=True)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        took = time.process_time() - began
        if took > max(1.0, worst):
            print(f"{number}: {took:.1f} s", flush=True)
            (given.out / f"slow-{number}{path.suffix}").write_text(text, encoding="utf-8", errors="surrogatepass")
        worst = max(worst, took)
        if (number - given.first) % 1000 == 999:
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"-- {number + 1}: {dict(counts)}, slowest {worst:.1f} s, {grown} MiB", flush=True)
    print(f"{given.specs} specs: {dict(counts)}, slowest {worst:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
