"""Plan -> machine images with the software of a Slurm cluster: for each published image in use the programs that build
a custom image from it.

=======================  ==============================================================================================
file                     what it is
=======================  ==============================================================================================
``<key>/install.sh``     installs driver, fabric, clients of file systems, Slurm and monitoring; parts that the
                         published image contains are kept
``<key>/image.pkr.hcl``  a template of Packer that runs it
``<key>/component.yaml`` a component of the provider's image service that runs it
``<tool>/<pool>.sh``     a job of Slurm that runs a test on the accelerators of a pool (``nccl-tests``)
``build-slurm.sh``       builds packages of the cluster's Slurm release from its source; only for releases whose source
                         has a description of packages
=======================  ==============================================================================================

What no fact of the catalog gives (addresses, digests and packages of drivers) is an input: a variable of the
environment, which ``install.sh`` requires if the published image lacks the part (``inputs.py``).

A provider is three templates in ``templates/images/clouds``: ``<name>.sh.j2`` with ``has_fabric``, ``need_fabric`` and
``install_fabric``, ``<name>-image.pkr.hcl.j2`` and ``<name>-component.yaml.j2``.
"""

from __future__ import annotations

from .bundle import has_images, render

__all__ = ["has_images", "render"]
