"""Names and addresses of a site: hosts file, DHCP and DNS, an Ansible inventory, the table of subnets."""

from .bundle import render

__all__ = ["render"]
