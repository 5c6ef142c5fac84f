"""The builders, one file a shape: numbers in, a `Fabric` (or the domains of a `ScaleUp`) out.

To add a shape, write a file with a function that returns a Fabric and name it in `supercloud/topology/__init__.py`.
"""
