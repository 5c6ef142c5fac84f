"""Clouds without a cloud: the base of tests of Pulumi programs. No provider is known by name.

- ``recorder.record(program)`` runs a program in this process and gives the graph of what it registered, each resource
  checked against the schema of the installed SDK (``checker.check``).
- ``provider`` and ``language_host`` are the plugins that the real Pulumi engine needs, with a JSON file as the cloud
  (``cloud.Cloud``) and planned faults (``faults.Faults``).
"""
