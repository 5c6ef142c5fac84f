"""Proofs of rows of programs: kinds of facts, engines, schedulers, commands, examples."""

from __future__ import annotations

import shutil

from samples import ROOT

from extensions.catalog_rows import DATA, read_example
from extensions.package_copy import PackageCopy

JOB = "name: job\ncommand: [train]\nnodes: 2\naccelerators: {count: 16}\ntime_limit: 1 h\n"
ENGINE = (ROOT / "docs/extend/engine.md").read_text().split("{code-block} python\n", 1)[1].split("```", 1)[0]
"""The engine of the page «Write an engine»."""
USERS_FILE = "users-file: A file of users that cannot be read, or has errors."


def use_engine(copy: PackageCopy, *options: str) -> None:
    """Plan a submission, submit a job and wait for it."""
    copy.write("job.yaml", JOB)
    shown = copy.run("submit", "job.yaml", "--on", "cluster.yaml", *options, "--dry-run")
    assert "my-submit --hosts=2 train train" in shown
    copy.run("submit", "job.yaml", "--on", "cluster.yaml", *options)
    copy.run("wait", "1")
    assert "COMPLETED" in copy.run("jobs")


def add_engine(copy: PackageCopy) -> None:
    """Once in the package, once in another distribution."""
    copy.write("cluster.yaml", read_example("01"))
    (copy.work / "theirs-1.0.dist-info").mkdir()
    copy.write("theirs-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    copy.write("theirs-1.0.dist-info/entry_points.txt", "[supercloud.engines]\ntheirs = theirs:MyEngine\n")
    copy.write("theirs.py", ENGINE)
    use_engine(copy, "--engine", "theirs")
    shutil.rmtree(copy.work / ".state")
    copy.add("supercloud/jobs/engines/own.py", ENGINE)
    copy.line(
        "supercloud/jobs/engines/base.py",
        '    "local": "supercloud.jobs.engines.local.engine:LocalEngine",',
        '    "own": "supercloud.jobs.engines.own:MyEngine",',
    )
    use_engine(copy, "--engine", "own")


def add_scheduler(copy: PackageCopy) -> None:
    model = '''class OwnScheduler(Model):
    """A batch system."""

    title: ClassVar[str] = "Own batch system"
    kind: Literal["own"]
    """Always ``own``."""
    version: ReleaseText
    """Its release."""
    controllers: tuple[Host, ...] = (Host(name="head1"),)
    """Hosts of its daemons."""
    machine: Text | None = None
    """Machine of the controllers."""
    fair: Flag = False
    """Whether shares are observed."""

'''
    spec = "supercloud/spec/scheduler.py"
    copy.function(spec, "Scheduler = Annotated[", model)
    union = "Scheduler = Annotated[SlurmScheduler | KubernetesScheduler"
    copy.change(spec, f"{union},", f"{union} | OwnScheduler,")
    copy.add(
        "supercloud/targets/schedulers/own/__init__.py",
        '''"""The configuration of the batch system."""

from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle
from ....primitives.templates import render_template


def render(plan: Plan) -> Bundle:
    """Render the hosts of each pool."""
    return Bundle({"own.conf": render_template("own/own.conf.j2", plan=plan)})
''',
    )
    copy.add(
        "templates/own/own.conf.j2",
        "{% for host in plan.scheduler.controllers %}\nhead {{ host.name }} {{ host.address }}\n{% endfor %}\n"
        "{% for pool in plan.pools %}\npool {{ pool.name }} {{ pool.hosts }}\n{% endfor %}\n",
    )
    copy.line(
        "supercloud/targets/__init__.py",
        '    "kubernetes": "supercloud.targets.schedulers.kubernetes:render",',
        '    "own": "supercloud.targets.schedulers.own:render",',
    )
    copy.add("supercloud/jobs/engines/own.py", ENGINE)
    copy.line(
        "supercloud/jobs/engines/base.py",
        '    "local": "supercloud.jobs.engines.local.engine:LocalEngine",',
        '    "own": "supercloud.jobs.engines.own:MyEngine",',
    )
    scheduler = ('scheduler:\n  kind: kubernetes\n  version: "1.36"\n  gitops: flux\n', "SCHEDULER\n")
    own = 'scheduler: {kind: own, version: "3.1", fair: true, controllers: [{name: head1}, {name: head2}]}\n'
    copy.write("cluster.yaml", read_example("08", scheduler, ("SCHEDULER\n", own)))
    assert "Own batch system 3.1" in copy.run("plan", "cluster.yaml")
    copy.run("check", "cluster.yaml")
    copy.run("render", "cluster.yaml", "--out", "out")
    assert (copy.work / "out/own/own.conf").read_text().splitlines()[0].startswith("head head1 10.")
    assert not (copy.work / "out/slurm").exists() and not (copy.work / "out/kubernetes").exists()
    assert "pool train train-[0001-0063]" in (copy.work / "out/own/own.conf").read_text()
    copy.run("report", "cluster.yaml")
    assert "Own batch system" in (copy.work / "k8s.html").read_text()
    use_engine(copy)
    copy.write("cluster.yaml", read_example("01"))
    copy.run("render", "cluster.yaml", "--out", "other")
    assert not (copy.work / "other/own").exists()


def add_kind_of_fact(copy: PackageCopy) -> None:
    copy.add(
        "supercloud/catalog/ladders.py",
        '''"""Ladders for tall racks."""

from __future__ import annotations

from ..spec.base import Count
from .fact import CatalogEntry


class Ladder(CatalogEntry):
    """A ladder."""

    steps: Count
''',
    )
    reader = "supercloud/catalog/reader.py"
    copy.line(reader, "from .fact import CatalogEntry", "from .ladders import Ladder")
    copy.line(reader, '    "kueue": KueueRelease,', '    "ladders": Ladder,')
    copy.add(f"{DATA}/ladders/tall.yaml", "name: tall\ntitle: Tall ladder\nsource: [its label]\nsteps: 7\n")
    assert "steps" in copy.run("catalog", "ladders", "tall")


def add_field_of_fact(copy: PackageCopy) -> None:
    copy.line(
        "supercloud/catalog/rack.py",
        "    country: Text | None = None",
        '    grid: Text | None = None\n    """Operator."""',
    )
    copy.line(f"{DATA}/locations/stockholm.yaml", "name: stockholm", "grid: Own grid operator")
    assert "Own grid operator" in copy.run("catalog", "locations", "stockholm")
    copy.write("cluster.yaml", read_example("01"))
    copy.run("check", "cluster.yaml")
    code = "from supercloud.catalog import Catalog, Location\n"
    code += "print(Catalog.load_default().get(Location, 'stockholm').grid)"
    assert copy.python(code) == "Own grid operator\n"


def add_finding(copy: PackageCopy) -> None:
    """Resolution reports it; it cannot be suppressed."""
    (copy.root / "docs").mkdir()
    shutil.copy(ROOT / "docs/findings.yaml", copy.root / "docs/findings.yaml")
    copy.line(
        "supercloud/plan/build/users.py",
        "    declared = inputs.spec.users",
        '    if not declared:\n        inputs.problems.add_error("users-none", "users", "no user", "declare one")',
    )
    copy.line("supercloud/plan/model/problems.py", '        "users-file",', '        "users-none",')
    copy.line("docs/findings.yaml", USERS_FILE, "users-none: A cluster without users.")
    code = f"import yaml\nfrom supercloud.plan.model.problems import OTHER_NAMES\npath = {str(copy.root)!r}\n"
    code += "assert set(yaml.safe_load(open(path + '/docs/findings.yaml'))) == OTHER_NAMES"
    copy.python(code)
    copy.write("cluster.yaml", read_example("01") + "suppress: [{check: users-none, reason: none yet}]\n")
    shown = copy.run("check", "cluster.yaml", status=2)
    assert "no user [users-none]" in shown and "[suppress-unknown]" in shown


def add_placement_step(copy: PackageCopy) -> None:
    copy.add(
        "supercloud/jobs/placement/steps/owner.py",
        '''"""Jobs of an owner."""

from ..context import PlacementContext
from ..refusal import StepRefusal

__all__ = ["check_owner"]


def check_owner(context: PlacementContext) -> StepRefusal | None:
    """Check that a job with more than one node has a tenant."""
    if context.job.nodes and context.job.nodes > 1 and not context.job.tenant:
        return StepRefusal("nobody owns the job", "set tenant", {"nodes": 1, "accelerators.count": 8})
    return None
''',
    )
    candidate = "supercloud/jobs/placement/candidate.py"
    copy.line(
        candidate,
        "from .steps.node_tenant import check_node_tenant",
        "from .steps.owner import check_owner",
    )
    copy.line(candidate, "        or check_licenses(context)", "        or check_owner(context)")
    copy.write("cluster.yaml", read_example("01"))
    copy.write("job.yaml", JOB)
    assert "nobody owns the job" in copy.run("place", "job.yaml", "--on", "cluster.yaml", status=2)
    assert "nobody owns the job" in copy.run("why-not", "job.yaml", "--on", "cluster.yaml")
    copy.write("job.yaml", JOB.replace("nodes: 2", "nodes: 1").replace("count: 16", "count: 8"))
    copy.run("place", "job.yaml", "--on", "cluster.yaml")


def add_owned_key(copy: PackageCopy) -> None:
    options = '    OwnedOption("NodeSet", _POOLS, "set pools"),'
    copy.line(
        "supercloud/plan/build/slurm_options.py",
        options,
        '    OwnedOption("PluginDir", "INSTALL.md has the same folder", "omit it"),',
    )
    copy.write("cluster.yaml", read_example("01", ('"24.11"}', '"24.11", options: {PluginDir: /opt}}')))
    assert "INSTALL.md has the same folder" in copy.run("check", "cluster.yaml", status=2)
    folder = "tests/targets/slurm"
    shutil.copytree(ROOT / folder, copy.root / folder)
    evidence = '    "NodeSet": ("onprem", "slurm/slurm.conf", "NodeName=train-"),'
    copy.line(
        f"{folder}/test_slurm_options.py",
        evidence,
        '    "PluginDir": ("onprem", "slurm/INSTALL.md", "slurm"),',
    )
    code = f"import sys; sys.path.insert(0, {str(copy.root / folder)!r})\nimport test_slurm_options as test\n"
    code += "test.test_every_owned_key_has_evidence()\ntest.test_another_file_depends_on_an_owned_key('PluginDir')"
    copy.python(code)


def add_command(copy: PackageCopy) -> None:
    copy.add(
        "supercloud/cli/count.py",
        '''"""``supercloud count``: the number of nodes."""

from pathlib import Path

import typer

EPILOG = "Example: supercloud count cluster.yaml · next: supercloud plan"


def count(spec: Path) -> None:
    """Print the number of nodes."""
    import supercloud as sc

    typer.echo(sum(pool.nodes for pool in sc.resolve(sc.load(spec)).pools))
''',
    )
    copy.line("supercloud/cli/__init__.py", '    "render": "Declare",', '    "count": "Declare",')
    copy.write("cluster.yaml", read_example("01"))
    assert copy.run("count", "cluster.yaml") == "16\n"
    assert "Print the number of nodes." in copy.run("--help")


def add_example(copy: PackageCopy) -> None:
    """The golden files of an example are written by the program that ``make golden`` runs."""
    for name in ("tests", "examples"):
        shutil.copytree(ROOT / name, copy.root / name, ignore=shutil.ignore_patterns("real", "golden", "0[2-9]*", "1*"))
    copy.add("examples/99-own/cluster.yaml", read_example("01", ("name: minimal", "name: own")))
    copy.add("examples/99-own/README.md", "# Own\n")
    code = f"import sys; sys.path.insert(0, {str(copy.root / 'tests')!r})\n"
    code += "from golden_files import main\nmain(['full', 'out'])"
    copy.python(code)
    assert (copy.work / "out/99-own/slurm/slurm.conf").is_file()


PROOFS = {
    "kind of fact": add_kind_of_fact,
    "field of the catalog": add_field_of_fact,
    "finding that no check reports": add_finding,
    "step of placement": add_placement_step,
    "key of slurm.conf that another rendered file repeats": add_owned_key,
    "scheduler, on-prem": add_scheduler,
    "job engine": add_engine,
    "command": add_command,
    "example": add_example,
}
