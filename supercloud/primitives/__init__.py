"""Ground floor: values and mechanisms that know nothing of clusters.

One file an idea: ``measure`` and ``quantity`` (numbers with units), ``nodes`` (host sets), ``addresses`` (who gets
which IP), ``templates`` (the only importer of jinja2), ``bundle`` (rendered files and how they are written).
"""
