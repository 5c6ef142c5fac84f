"""Plan -> everything that configures cloud machines as a Slurm cluster: a boot script, a scaler, provider functions.

The bucket contains this bundle as ``boot/boot.tar.gz``, the tables of the cluster (the target ``settings``) as
``settings/settings.tar.gz``, the Slurm target's bundle as ``slurm/slurm.tar.gz`` and the accounts of users as
``users/users.tar.gz``, each with a ``SHA256SUMS`` inside; the digest of the first is in the user data. Running machines
apply the other three again when they change (by timers). ``packages/packages.tar.gz`` may contain Slurm packages.

``user-data/<key>.sh`` is the first program of machines of a ``NodeGroup`` or ``CloudHost``. Only these
placeholders in it are replaced when the resources are created:

======================  ===================================================  =====================================
placeholder             replaced by                                          in
======================  ===================================================  =====================================
``@{bucket}``           name of the bucket                                   all
``@{region}``           region                                               all
``@{cluster}``          cluster tag of groups and instances                  all
``@{secret_auth}``      name of the daemons' key in the secret store         controller
``@{role_users}``       the role of users, empty if the cloud has none       compute, login
``@{secret_database}``  name of the database's password                      the host of slurmdbd
``@{database_host}``    address of a managed database                        the host of slurmdbd, if managed
``@{state_device}``     device name of the state disk                        hosts with ``state``
``@{source_<name>}``    device argument of ``mount`` for a storage           compute, controller, login
======================  ===================================================  =====================================

The first controller sets the value of an empty secret when it starts: no value passes through the program that
declares the resources.

A provider is ``templates/boot/clouds/<name>.sh.j2`` with these functions; everything else is the same on all clouds.

=======================================  ==========================================================================
``cloud_ready``                          installs the commands that the other functions use
``cloud_fetch PATH FILE``                downloads an object of the bucket
``cloud_secret NAME``                    prints its value; returns 3 if it has none yet
``cloud_fill NAME``                      sets its value from stdin
``cloud_metadata``                       prints ``id= type= zone= address= network=`` of this instance, the levels of
                                         the network from the outermost to the innermost
``cloud_disk NAME``                      prints the device of an attached disk
``cloud_size GROUP``                     prints the desired number of instances
``cloud_resize GROUP NUMBER``            returns 3 and prints the reason if there is no capacity
``cloud_instances GROUP``                prints ``id address`` of starting and running instances, ``-`` for no address
``cloud_domains GROUP``                  ``id domain`` of each whose scale-up domain is known; called for groups whose
                                         machines are started together
``cloud_refused GROUP SINCE``            prints the reason if the cloud could not start instances since then
``cloud_failed GROUP SINCE``             prints why the last start of an instance since then failed, for any reason
``cloud_terminate GROUP INSTANCE``       terminates it and shrinks the group, unless it has its minimum size
``cloud_credentials TENANT USER``        prints credentials of the role of users (``$USERS``) for an SDK's credential
                                         program
``cloud_users PROGRAM``                  configures the SDKs of users to call that program
=======================================  ==========================================================================

``boot.sh`` and the scaler call them: the package ``scaler`` in this folder is copied into the bundle unchanged, and
reads the groups from ``scale.json``. Slurm starts it through ``resume.sh``, ``suspend.sh`` and ``resume-fail.sh``.

``cloud_instances`` is also called for hosts of the roles database and login (``members.txt``): their machines have the
same tag as those of groups. These and nodes get the daemons' key from the controller when they join: see
``keys.py`` for the conditions and the reasons. ``metadata.sh`` runs first: it blocks the cloud's metadata service for
users.

Servers of a file system run a user's program, once, as root and without arguments: it installs the software that only
its vendor distributes and creates the cluster of servers. If it fails, it runs again at the next start. Its
environment:

==========================  =======================================================================================
``SUPERCLOUD_STORAGE``      name of the storage in the spec
``SUPERCLOUD_FILE_SYSTEM``  name of the file system that clients mount, which the program creates
``SUPERCLOUD_COUNT``        number of servers
``SUPERCLOUD_TAG``          tag by which they find each other, ``key=value``; unique together with the cluster tag
``SUPERCLOUD_CLUSTER``      cluster tag of instances
``SUPERCLOUD_REGION``       region
``SUPERCLOUD_TOKEN``        value of the secret, if any; replaced by ``***`` in the log
==========================  =======================================================================================

Life cycle of nodes, tested with Slurm 22.05 and 26.05 (``tests/real/slurm/test_cloud_join.py``): slurm.conf lists no
nodes. The scaler creates all nodes of the plan in slurmctld (``scontrol create NodeName=… State=CLOUD``): without
nodes, jobs would be rejected at once. Slurm's power saving allocates jobs to powered-down nodes and calls
``resume.sh``; the scaler resizes groups and assigns a node name to each instance; the instance joins as a dynamic node
(``slurmd -Z -N``). Lines with ``State=CLOUD`` in slurm.conf would not work: slurmd of 26.05 fails with "failed to
create dynamic node" if its slurm.conf already has the node. An existing node keeps features and topology when it
registers, so that it reports its location afterwards: ``scontrol update … Topology=`` in 25.05 and later, features in
older releases. Never both: before 26.11 a node whose features alone are changed loses its place when it is powered off,
and a multi-node job is rejected if too few nodes of the pool are in the tree. Slurm resets a powered-down node to the
place with which it was created.
"""

from __future__ import annotations

from .bundle import render, render_boot_bundle, render_settings

__all__ = ["render_boot_bundle", "render", "render_settings"]
