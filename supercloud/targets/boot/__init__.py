"""Plan -> everything by which machines of a cloud become a Slurm cluster: one boot script, a scaler, a provider part.

The bucket has this bundle as ``boot/boot.tar.gz`` and the Slurm target's as ``slurm/slurm.tar.gz``, each with a
``SHA256SUMS`` inside; the digest of the first is in the user-data. ``packages/packages.tar.gz`` may hold packages of
Slurm, likewise.

``user-data/<key>.sh`` is the first program of machines of a ``NodeGroup`` or ``CloudHost``. These texts in it are put
in where the resources are made, and nothing else is:

======================  ===================================================  =====================================
placeholder             is put in                                            in
======================  ===================================================  =====================================
``@{bucket}``           name of the bucket                                   all
``@{region}``           region                                               all
``@{cluster}``          what groups and instances are tagged with            all
``@{secret_auth}``      name in the secret store of the key of all daemons   controller
``@{role_users}``       the role of users, empty where the cloud has none    compute, login
``@{secret_database}``  name of the database's password                      the host of slurmdbd
``@{database_host}``    where a database of the cloud answers                the host of slurmdbd, then only
``@{state_device}``     what the protected disk is attached as               hosts with ``state``
``@{source_<name>}``    what ``mount`` is told to mount for a storage        compute, controller, login
======================  ===================================================  =====================================

A secret without a value is filled by the first controller when it starts: no value passes through the program that
declares the resources.

A provider is ``templates/boot/clouds/<name>.sh.j2``: these functions, and no other difference between clouds.

=======================================  ==========================================================================
``cloud_ready``                          makes sure that what the others call is there
``cloud_fetch PATH FILE``                an object of the bucket
``cloud_secret NAME``                    its value; code 3 where it has none yet
``cloud_fill NAME``                      gives it the value that comes in on stdin
``cloud_metadata``                       lines ``id= type= zone= address= network=`` of this instance, the levels of
                                         the network from the outermost to the innermost
``cloud_disk NAME``                      the device of an attached disk
``cloud_size GROUP``                     how many instances it is to have
``cloud_resize GROUP NUMBER``            code 3 and the reason where there is no capacity
``cloud_instances GROUP``                ``id address`` of each that starts or runs, ``-`` while it has no address
``cloud_domains GROUP``                  ``id domain`` of each whose scale-up domain is known; asked for groups whose
                                         machines come together
``cloud_refused GROUP SINCE``            the reason, if the cloud could not start instances after that second
``cloud_terminate GROUP INSTANCE``       ends it, and makes the group smaller by it unless it has its least
``cloud_credentials TENANT USER``        credentials of the role of users (``$USERS``), as the SDK takes them from a
                                         program
``cloud_users PROGRAM``                  makes the SDKs of users ask that program
=======================================  ==========================================================================

``boot.sh`` and the scaler call them: the package ``scaler`` in this folder goes into the bundle as it stands, and is
told of the groups in ``scale.json``. Slurm starts it through ``resume.sh``, ``suspend.sh`` and ``resume-fail.sh``.

``cloud_instances`` is also asked for hosts of the roles database and login (``members.txt``): their machines carry the
same tag as those of groups. These and nodes get the key of all daemons from the controller when they join: ``keys.py``
says who gets it and why that is safe. ``metadata.sh`` is the first thing that runs: it closes the metadata service of
the cloud to users.

Servers of a file system run a program of the user's, once, as root and without arguments: it installs the software that
only its maker gives and makes the cluster of the servers. Where it fails it is run again at the next start. Its
environment:

==========================  =======================================================================================
``SUPERCLOUD_STORAGE``      name of the storage in the spec
``SUPERCLOUD_FILE_SYSTEM``  name of the file system that clients mount: the program makes it
``SUPERCLOUD_COUNT``        how many servers there are
``SUPERCLOUD_TAG``          tag by which they find each other, ``key=value``; not unique without that of the cluster
``SUPERCLOUD_CLUSTER``      what instances are tagged with
``SUPERCLOUD_REGION``       region
``SUPERCLOUD_TOKEN``        value of the secret, if there is one; the log shows ``***`` for it
==========================  =======================================================================================

How nodes come and go, as proved on Slurm 22.05 and 26.05 (``tests/real/slurm/test_cloud_join.py``): slurm.conf lists
no node. The scaler tells slurmctld of every name the plan has (``scontrol create NodeName=… State=CLOUD``): without
nodes a job would be refused at once. Slurm's own power saving allocates jobs to nodes that are off and calls
``resume.sh``; the scaler resizes groups and gives each instance a name; the instance joins as a dynamic node under it
(``slurmd -Z -N``). Lines with ``State=CLOUD`` in slurm.conf would not do: slurmd of 26.05 ends with "failed to create
dynamic node" where its own slurm.conf has the node already. A node that exists keeps features and topology when it
registers, so the node says its place afterwards: ``scontrol update … Topology=`` in 25.05 and later, features in older
releases. Never both: before 26.11 a node whose features are changed alone loses its place when it is switched off, and
a job of several nodes is refused once too few of the pool's are in the tree. Slurm itself gives a node that goes off
the place it was created with.
"""

from __future__ import annotations

from .bundle import render, render_boot_bundle

__all__ = ["render_boot_bundle", "render"]
