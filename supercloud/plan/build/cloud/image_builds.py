"""Custom images that the provider builds together with the cluster: which, with what, and on which machines."""

from __future__ import annotations

from ....spec.site import CloudSite
from ...model.cloud import CloudHost, ImageBuild, NodeGroup
from .inputs import CloudInputs

__all__ = ["build_image_builds"]


def build_image_builds(
    inputs: CloudInputs, groups: tuple[NodeGroup, ...], hosts: tuple[CloudHost, ...]
) -> tuple[ImageBuild, ...]:
    """Decide about the images in use that are built; none unless the spec declares it.

    Args:
        inputs: The spec with the facts of its cloud.
        groups: Groups of nodes.
        hosts: Hosts outside of the pools.
    """
    site = inputs.spec.site
    if not isinstance(site, CloudSite) or not site.builds_images:
        return ()
    pools = {pool.name: pool.machine for pool in inputs.pools}
    users = [*((host.image, host.machine) for host in hosts), *((group.image, pools[group.pool]) for group in groups)]
    known = {image.key: image for image in inputs.provider.images}
    found = {}
    for key, own in users:
        if key not in known or key in found:
            continue
        # an accelerator is not needed: hosts, which come first, are the cheapest machines of the architecture
        usable = (one for _, one in users if one.instance and one.instance.arch == known[key].arch)
        machine = next(usable, own)
        values = {str(variable): value for variable, value in site.image_inputs.items()}
        found[key] = ImageBuild(key, machine.name, known[key].root, inputs.provider.defaults.disk, values)
    return tuple(found[key] for key in sorted(found))
