"""The builders, one module per shape: numbers in, a `Fabric` (or the domains of a `ScaleUp`) out.

To add a shape, write a module with a function that returns a Fabric and add it to `supercloud/topology/__init__.py`.
"""
