"""All files of the cabling bundle."""

from __future__ import annotations

from ....plan.build.cabling.cabled import fabrics_cabled
from ....plan.build.cabling.cables import cables_of
from ....plan.build.cabling.ends import Spots
from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle, File
from ....primitives.templates import fill
from .netbox import netbox_files
from .netlist import netlist
from .table import summary, table_text

__all__ = ["render"]


def render(plan: Plan) -> Bundle:
    """The cabling of all switched networks."""
    spots = Spots(plan)
    tables = [cables_of(plan, fabric, spots) for fabric in fabrics_cabled(plan)]
    files: dict[str, File | str] = {f"{table.fabric.name}.csv": table_text(plan, table) for table in tables}
    files |= {
        f"{table.fabric.name}.net": netlist(table) for table in tables if table.fabric.kind == "infiniband"
    }  # fmt: skip
    files |= {f"netbox/{path}": text for path, text in netbox_files(plan, tables).items()}
    subnets = [item.fabric.name for item in tables if item.fabric.kind == "infiniband"]
    rows = [summary(table) for table in tables]
    files["GUIDE.md"] = fill("cabling/GUIDE.md.j2", name=plan.name, rows=rows, infiniband=subnets)
    return Bundle(files)
