"""Plan -> everything a Slurm cluster is configured by: one flat folder, copied to /etc/slurm on every host.

One module a file or a family of files: ``settings`` (slurm.conf), ``nodes``, ``partitions``, ``gres``, ``topology``
(which ones), ``topology_conf`` and ``topology_yaml`` (how they are written), ``accounting``, ``programs``,
``install``. All lines pass through ``conf``, which lets no key through that the release does not know.

Versions differ by data (``catalog/data/slurm``), not by code: to support a new one, write its file of keys and
abilities. To add a setting, add it to the mapping of its subject; where only some releases know the key, ask
``lines.has_key``.
"""

from __future__ import annotations

from .bundle import render

__all__ = ["render"]
