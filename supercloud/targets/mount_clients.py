"""The table of software that machines need to mount file systems, as ``install_client`` of the boot script reads it."""

from __future__ import annotations

from collections.abc import Iterator

from ..plan.model.plan import Plan

__all__ = ["render_client_lines"]


def render_client_lines(plan: Plan) -> Iterator[str]:
    """Yield one row per distribution and kind of file system that clients mount: software that the boot installs."""
    assert plan.cloud is not None
    yield "# types, program, module, distribution, version, packages, repository (URL suite component) and key"
    for client in plan.cloud.mount_clients:
        for item in client.distributions:
            source = item.repository
            row = (
                ",".join(client.types),
                client.program or "-",
                client.module or "-",
                item.distribution,
                item.version or "-",
                ",".join(item.packages),
                *((source.url, source.suite, source.component, source.key) if source else "----"),
            )
            yield " ".join(row)
