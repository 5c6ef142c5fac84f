"""All files of the cabling bundle."""

from __future__ import annotations

from ....plan.build.cabling.cabled import list_cabled_fabrics
from ....plan.build.cabling.cables import build_cable_table
from ....plan.build.cabling.ends import DeviceLocator
from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle, File
from ....primitives.templates import render_template
from .netbox import render_netbox_files
from .netlist import render_netlist
from .table import build_summary, render_table

__all__ = ["render"]


def render(plan: Plan) -> Bundle:
    """Render the cabling of all switched networks."""
    spots = DeviceLocator(plan)
    tables = [build_cable_table(plan, fabric, spots) for fabric in list_cabled_fabrics(plan)]
    files: dict[str, File | str] = {f"{table.fabric.name}.csv": render_table(plan, table) for table in tables}
    files |= {
        f"{table.fabric.name}.net": render_netlist(table) for table in tables if table.fabric.kind == "infiniband"
    }
    files |= {f"netbox/{path}": text for path, text in render_netbox_files(plan, tables).items()}
    subnets = [item.fabric.name for item in tables if item.fabric.kind == "infiniband"]
    rows = [build_summary(table) for table in tables]
    files["GUIDE.md"] = render_template("cabling/GUIDE.md.j2", name=plan.name, rows=rows, infiniband=subnets)
    return Bundle(files)
