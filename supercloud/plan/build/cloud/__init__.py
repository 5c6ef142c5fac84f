"""A cloud site as decided: zones, subnets, groups of instances, hosts, storage as it is sold, cost."""
