"""How fast the project is on real parts: the Pulumi engine, a Kubernetes API server, Chromium. ``make bench-real``.

It installs and builds what is missing, as the real tests do. ``--write`` puts the table into this
folder's RESULTS.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from browser import Browser
from engine import Engine
from kube_world import SPEC, World
from samples import ROOT
from subjects import CLUSTER, EXAMPLE, edit

import supercloud as sc
from supercloud.catalog import Catalog
from supercloud.jobs.api import submit
from supercloud.jobs.engines.base import open_engine
from supercloud.jobs.store.store import Store
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection
from supercloud.targets.report import render_report

REAL = ROOT / "tests" / "real"
RUNS = 3
JOBS, THREADS, RATE = 200, 8, 50  # of one client; the budget in jobs a second
SIZES, PREVIEW, MOST = (127, 12_500), 15, 500  # nodes; the budgets in seconds and resources
READY = 2  # seconds until the report's search answers
HEAD = """\
What `make bench-real` printed on two cores of a shared machine that also ran the servers. A ratio is to the budget, or
to the smaller case of the same run."""

Row = tuple[str, str, str, str]


def measure_kubernetes(folder: Path) -> Iterator[Row]:
    """Jobs submitted by one client to a real API server, with Kueue and JobSet running."""
    job = JobSpec.model_validate(
        {
            "name": "quick",
            "command": ["true"],
            "image": "registry.example.com/q:1",
            "tenant": "llm",
            "accelerators": {"type": "h100", "count": 8},
        }
    )
    with World(SPEC, folder) as world, Store(folder / "store") as store, ThreadPoolExecutor(THREADS) as threads:
        os.environ["KUBECONFIG"] = str(world.lab.kubeconfig)
        connection = Connection(engine="kubernetes")
        engine = open_engine(connection, store.folder)

        def submit_one(_: int) -> str:
            return submit(job, world.plan, engine=connection, store=store).record.ref or ""

        submit_one(0)  # the client's own start is not counted
        began, worked = time.monotonic(), time.process_time()
        refs = list(threads.map(submit_one, range(JOBS)))
        rate, own = JOBS / (time.monotonic() - began), JOBS / (time.process_time() - worked)
        began = time.monotonic()
        assert len(engine.poll(refs)) == JOBS
        asked = time.monotonic() - began
    yield (
        f"submit {JOBS} jobs to a real API server",
        f"{rate:.0f} jobs/s ({own:.0f} by the client's own work)",
        f"{rate / RATE:.2f} × {RATE} jobs/s",
        "more is better",
    )
    yield f"ask after all {JOBS}", f"{asked:.3f} s", "", f"{asked * rate / JOBS:.2f} × submitting them"


def measure_pulumi(folder: Path) -> Iterator[Row]:
    """A preview of the repository's own project by the real engine."""
    program = Path(subprocess.check_output([REAL / "pulumi" / "build.sh"], text=True).splitlines()[-1])
    first = None
    for nodes in SIZES:
        place = folder / str(nodes)
        place.mkdir(parents=True)
        with Engine(program, place, CLUSTER.install(place), CLUSTER.packages) as engine:
            engine.init(CLUSTER.config, CLUSTER.secrets)
            edit(EXAMPLE, "nodes: 127\n", f"nodes: {nodes}\n")(engine)
            runs = [engine.run("preview", "--json") for _ in range(RUNS)]
        best = min(runs, key=lambda run: run.seconds)
        created = json.loads(best.out)["changeSummary"]["create"]
        first = first or best.seconds
        yield (
            f"preview by the real engine, {nodes:,} nodes",
            f"{best.seconds:.1f} s ({created} resources)",
            f"{best.seconds / PREVIEW:.2f} × {PREVIEW} s, {created / MOST:.2f} × {MOST} resources",
            f"{best.seconds / first:.1f} × smallest",
        )


def measure_page(folder: Path) -> Iterator[Row]:
    """The report of 16,384 accelerators until its search answers."""
    subprocess.run([REAL / "report" / "install.sh"], check=True, stdout=sys.stderr)
    file = folder / "report.html"
    file.write_text(
        render_report(sc.resolve(sc.load(REAL / "report" / "site.yaml"), Catalog([REAL / "report" / "catalog"])))
    )
    with open_browser(folder / "profile") as browser:
        seconds = min(browser.open(file) for _ in range(RUNS))
    size = file.stat().st_size / 1e6
    yield (
        "open the report of 16,384 accelerators in Chromium",
        f"{seconds:.2f} s ({size:.1f} MB)",
        f"{seconds / READY:.2f} × {READY} s",
        "",
    )


@contextmanager
def open_browser(profile: Path) -> Iterator[Browser]:
    """A browser that is closed again."""
    profile.mkdir()
    browser = Browser(profile)
    try:
        yield browser
    finally:
        browser.close()


def main() -> None:
    rows: list[Row] = []
    for room in (measure_kubernetes, measure_pulumi, measure_page):
        with tempfile.TemporaryDirectory() as folder:
            rows += room(Path(folder))
    head = ("figure", "measured", "of the budget", "ratio")
    table = "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * 4, *rows))
    print(table)
    if "--write" in sys.argv:
        Path(__file__).with_name("RESULTS.md").write_text(f"# Speed on real parts\n\n{HEAD}\n\n{table}\n")


main()
