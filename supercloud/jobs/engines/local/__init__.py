"""This machine as an engine: a durable queue, one detached agent that processes it, a small shell wrapper per task.

``queue`` has the jobs, ``runs`` their files, ``agent`` runs them, ``engine`` is the interface.
No state is in memory only: the submitter, the agent or both may be killed at any point, and no job is lost or run
twice.
"""
