"""The scaler: a program on the controller that resizes the groups of the cloud to what Slurm requests.

``python3 scaler resume|suspend|fail NODES``, ``python3 scaler pass`` and ``python3 scaler loop``.

Its only state is the instance of each node name (a file for each node on the protected disk): every pass compares the
states of Slurm's nodes with the instances that exist, and does what is missing. A pass can therefore be interrupted,
run twice, or run after a restart of slurmctld or of the machine. Slurm calls the program to resume and suspend nodes;
the loop also runs a pass every few seconds, because instances start, fail and end at any time. The log is
``/var/log/slurm/scale.log``.

This folder is copied to the boot bundle unchanged. Its values are in ``settings/scale.json`` (:mod:`.settings`), and
the cloud is called by functions of the provider's shell file (:mod:`.cloud`). It runs on the Python of the controller's
image: it imports the standard library only and runs on Python 3.9, the version of Amazon Linux 2023 and Red Hat
Enterprise Linux 9.
"""
