"""Plan -> the complete configuration of a Kubernetes cluster for batch jobs on accelerators, as one tree.

One module per concern: ``labels`` (on-prem nodes), ``tenants``, ``pod_security`` and ``admission`` (isolation),
``queues`` and ``provisioning`` (Kueue), ``volcano``, ``accelerators``, ``fabrics``, ``storage``, ``monitoring`` with
``rules`` and ``dashboards``, ``problem_detector``, ``charts`` (values and the lock), ``control_plane`` (kubeadm),
``gitops``, ``multikueue`` (several clusters). ``bundle`` combines them; ``manifest`` writes all YAML.

Objects are dictionaries. Versions differ by data (``catalog/data/kubernetes``, ``kueue``, ``volcano``, ``charts``),
not by code. To add an operator: a file under ``charts``, and its values in ``charts.py`` if it needs any.
"""

from __future__ import annotations

from .bundle import render
from .multikueue import render_fleet

__all__ = ["render", "render_fleet"]
