"""This machine as an engine: a durable queue, one detached agent that works it off, a small shell wrapper per task.

``queue`` says what is to be done, ``runs`` what is on the disk, ``agent`` works, ``engine`` is the port.
Nothing is in memory only: the submitter, the agent or both may be killed at any point, and no job is lost or run twice.
"""
