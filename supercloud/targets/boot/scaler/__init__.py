"""The scaler: a program of the controller that makes the groups of the cloud what Slurm wants them to be.

``python3 scaler resume|suspend|fail NODES``, ``python3 scaler pass`` and ``python3 scaler loop``.

Nothing is remembered but which instance has which node's name (a file for each node on the protected disk): every pass
compares the states of Slurm's nodes with the instances that exist, and does what is missing. So a pass can be cut
short, run twice, or run after a restart of slurmctld or of the machine. Slurm calls the program when nodes are to come
or go; the loop runs a pass every few seconds as well, because instances start, fail and end at times of their own. The
log is ``/var/log/slurm/scale.log``.

This folder is part of the boot bundle as it stands here: no value is put into it. The values are in ``scale.json``
next to it (:mod:`.settings`), the calls of the cloud are the functions of the provider's shell file (:mod:`.cloud`).
It runs on the Python of the controller's image, so it imports the standard library only and keeps to what Python 3.9
has, the version of Amazon Linux 2023 and of Red Hat Enterprise Linux 9.
"""
