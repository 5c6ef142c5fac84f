"""The lowest layer: values and mechanisms that are independent of clusters.

One file per concept: ``measure`` and ``quantity`` (numbers with units), ``nodes`` (host sets), ``addresses`` (address
assignment), ``templates`` (the only importer of jinja2), ``bundle`` (rendered files and how they are written).
"""
