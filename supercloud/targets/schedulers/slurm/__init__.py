"""Plan -> the complete configuration of a Slurm cluster: one flat folder, copied to /etc/slurm on every host.

One module per file or family of files: ``settings`` (slurm.conf), ``nodes``, ``partitions``, ``gres``, ``topology``
(selection), ``topology_conf`` and ``topology_yaml`` (format), ``accounting``, ``programs``,
``install``. All lines pass through ``conf``, which rejects keys that the release does not support.

Versions differ by data (``catalog/data/slurm``), not by code: to support a new one, write its file of keys and
abilities. To add a setting, add it to the mapping of its subject; if only some releases support the key, check
``lines.has_key``.
"""

from __future__ import annotations

from .bundle import render

__all__ = ["render"]
