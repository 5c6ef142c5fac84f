"""The distance between nodes for schedulers: a tree of switches, blocks, a torus."""

from __future__ import annotations

from ...primitives.nodes import HostSet
from ...spec import ClusterSpec
from ...topology import Fabric as Wiring
from ..model.plan import FabricPlan, Group, Level, Locality, PoolPlan

__all__ = ["build_localities"]

# Level names, and the prefixes of their numbered groups: su1, pod2 …
_SHORT_NAMES = {"leaf-set": "leaf", "su": "su", "rack": "rack", "pod": "pod", "leaf": "leaf", "unit": "su"}


def build_localities(
    spec: ClusterSpec, pools: tuple[PoolPlan, ...], fabrics: tuple[FabricPlan, ...]
) -> tuple[Locality, ...]:
    """All views of locality; the first is the requested one, else blocks if all accelerators have them."""
    if not pools:
        return ()
    tree = _build_tree(pools, fabrics)
    blocks = _build_blocks(pools)
    tori = tuple(_build_torus(fabric, pools) for fabric in fabrics if fabric.shape == "torus" and fabric.wiring)
    found = [locality for locality in (tree, blocks, *tori) if locality]
    flat = Locality("flat", "flat", (Level("cluster", (Group("all", _merge_hosts(pools)),)),))
    found.append(flat)
    wanted = getattr(spec.scheduler, "topology", None)
    if wanted is None and blocks and all(pool.machine.domain_nodes > 1 for pool in pools if pool.accelerators_per_node):
        wanted = "block"
    return tuple(sorted(found, key=lambda locality: locality.kind != wanted))


def _merge_hosts(pools: tuple[PoolPlan, ...]) -> HostSet:
    return HostSet(tuple(pool.hosts for pool in pools))


def _build_tree(pools: tuple[PoolPlan, ...], fabrics: tuple[FabricPlan, ...]) -> Locality | None:
    """One tree over all nodes: each pool under its first switched fabric, other pools under a separate group."""
    home = _find_homes(pools, fabrics)
    used = [fabric for fabric in fabrics if fabric.name in home.values()]
    if not used:
        return None
    depth = max(len(fabric.require_wiring().levels) for fabric in used)
    levels: list[list[Group]] = [[] for _ in range(depth)]
    names = [""] * depth
    for fabric in used:
        members = tuple(pool for pool in pools if fabric.name in pool.fabrics)
        prefix = "" if len(used) == 1 else f"{fabric.name}-"
        _add_fabric(fabric, members, home, prefix, levels, names)
    for pool in pools:
        if home[pool.name] is None:
            _add_separate_pool(pool, levels)
    if len(levels[-1]) > 1:  # several top groups are joined by one root
        top = [Group(group.name, group.hosts, 0) for group in levels[-1]]
        levels = [*levels[:-1], top, [Group("root", _merge_hosts(pools))]]
        names.append("cluster")
    return Locality(
        "fabric", "tree", tuple(Level(name, tuple(groups)) for name, groups in zip(names, levels, strict=True))
    )


def _find_homes(pools: tuple[PoolPlan, ...], fabrics: tuple[FabricPlan, ...]) -> dict[str, str | None]:
    """Pool -> its first switched fabric, or None."""
    switched = {fabric.name for fabric in fabrics if isinstance(fabric.wiring, Wiring) and fabric.tiers}
    return {pool.name: next((name for name in pool.fabrics if name in switched), None) for pool in pools}


def _add_separate_pool(pool: PoolPlan, levels: list[list[Group]]) -> None:
    """One group of a pool without a switched fabric at every level."""
    parents = [*(len(level) for level in levels[1:]), None]
    for index, (level, parent) in enumerate(zip(levels, parents, strict=True)):
        name = f"net-{pool.name}" if index == 0 else f"net-{pool.name}-{index}"
        level.append(Group(name, HostSet((pool.hosts,)), parent))


def _add_fabric(
    fabric: FabricPlan,
    members: tuple[PoolPlan, ...],
    home: dict[str, str | None],
    prefix: str,
    levels: list[list[Group]],
    names: list[str],
) -> None:
    """Groups of one fabric at every level; a fabric with fewer levels than the deepest repeats its top."""
    assert isinstance(fabric.wiring, Wiring)
    hosts = _merge_hosts(members)
    away = {pool.name for pool in members if home[pool.name] != fabric.name}
    starts = [len(level) for level in levels]
    own = list(fabric.wiring.levels)
    padded = own + [own[-1]] * (len(levels) - len(own))
    for index, level in enumerate(padded):
        repeated = index >= len(own)
        short = _SHORT_NAMES.get(level.name, level.name)
        names[index] = names[index] or (level.name if index < len(levels) - 1 else "fabric")
        above = padded[index + 1] if index + 1 < len(padded) else None
        for number, nodes in enumerate(level):
            group_hosts = _exclude_pools(hosts.slice(nodes.start, nodes.stop), members, away)
            single = level is own[-1]
            name = f"{prefix}{fabric.name if single else f'{short}{number + 1}'}" + (f"-{index}" if repeated else "")
            parent = starts[index + 1] + above.find_domain(nodes.start) if above else None
            levels[index].append(Group(name, group_hosts, parent))


def _exclude_pools(hosts: HostSet, members: tuple[PoolPlan, ...], excluded: set[str]) -> HostSet:
    if not excluded:
        return hosts
    prefixes = {pool.hosts.prefix for pool in members if pool.name in excluded}
    return HostSet(tuple(part for part in hosts.ranges if part.prefix not in prefixes))


def _build_blocks(pools: tuple[PoolPlan, ...]) -> Locality | None:
    """Scale-up domains of several nodes; all of one size, that of the first pool with such domains."""
    sizes = [pool.machine.domain_nodes for pool in pools if pool.machine.domain_nodes > 1]
    if not sizes:
        return None
    groups = []
    for pool in pools:
        if pool.machine.domain_nodes != sizes[0]:
            continue
        for number, start in enumerate(range(0, pool.nodes, sizes[0]), start=1):
            stop = min(start + sizes[0], pool.nodes)
            groups.append(Group(f"{pool.name}-d{number}", HostSet((pool.hosts.slice(start, stop),))))
    return Locality("scale-up", "block", (Level("scale-up", tuple(groups)),), block_nodes=sizes[0])


def _build_torus(fabric: FabricPlan, pools: tuple[PoolPlan, ...]) -> Locality:
    members = tuple(pool for pool in pools if fabric.name in pool.fabrics)
    grid = fabric.wiring.grid if isinstance(fabric.wiring, Wiring) else None
    dims = tuple(grid.dims) if grid else ()
    return Locality(fabric.name, "torus3d", (Level("torus", (Group(fabric.name, _merge_hosts(members)),)),), dims=dims)
