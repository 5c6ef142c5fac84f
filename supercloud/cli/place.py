"""``supercloud place``: where a job would go."""

from __future__ import annotations

from dataclasses import asdict

import typer

from .options import Cluster, JobFile, Json, usable_plan_of
from .output import note, result, result_json

EPILOG = "Example: supercloud place job.yaml --on cluster.yaml · next: supercloud submit job.yaml --on cluster.yaml"


def place(job: JobFile, on: Cluster, as_json: Json = False) -> None:
    """Say where a job would go: pool, nodes, what must be near what. Exit code 2 where nothing can have it."""
    from ..jobs import Placement
    from ..jobs import place as decide
    from ..plan.resolve import catalog_for
    from ..spec.loader import load_job

    plan = usable_plan_of(on)
    answer = decide(load_job(job).model, plan, catalog_for(plan.spec, on.parent))
    if isinstance(answer, Placement):
        if as_json:
            result_json(asdict(answer))
        else:
            result(str(answer))
            note(f"next: supercloud submit {job} --on {on}")
        return
    if as_json:
        result_json([asdict(refusal) for refusal in answer])
    else:
        for refusal in answer:
            result(str(refusal))
        note(f"no pool of {plan.name} can have it")
    raise typer.Exit(2)
