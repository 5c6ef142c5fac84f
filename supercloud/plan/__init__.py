"""The hub: everything decided, nothing provider-specific.

``resolve(spec, catalog) -> Plan`` joins facts into a declaration and decides; ``checks`` says what is wrong with it;
``document`` publishes it. Targets and jobs read a plan and never look upstream: what they lack is added here.
"""
