"""The neutral plan: all decisions about one cluster, without anything provider-specific.

``resolve(spec, catalog) -> Plan`` joins facts into a declaration and decides; ``checks`` reports its problems;
``publish`` publishes it. Targets and jobs read a plan and never look upstream: a fact that they need is added here.
"""
