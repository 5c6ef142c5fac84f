"""Facts of switch operating systems and of the lossless profile hang together."""

from __future__ import annotations

from supercloud.catalog import Catalog, NetworkOs, RoceProfile, Switch
from supercloud.targets.site.dialects import DIALECTS


def test_every_dialect_has_a_system_and_every_system_a_dialect() -> None:
    systems = list(Catalog.load_default().iter_entries(NetworkOs))
    assert {item.dialect for item in systems} == set(DIALECTS)
    assert sum("*" in item.vendors for item in systems) == 1
    named = [vendor for item in systems for vendor in item.vendors]
    assert len(named) == len(set(named))


def test_port_names_are_different_on_every_switch() -> None:
    catalog = Catalog.load_default()
    for system in catalog.iter_entries(NetworkOs):
        for name in catalog.list_names("switches"):
            switch = catalog.get(Switch, name)
            for mode in switch.modes if switch.kind == "ethernet" else ():
                names = [system.format_port_name(switch, mode.ports, index) for index in range(mode.ports)]
                assert len(set(names)) == mode.ports, (system.name, name)


def test_the_roce_profile_is_consistent() -> None:
    profile = Catalog.load_default().get(RoceProfile, "roce")
    assert profile.dscp != profile.cnp_dscp and profile.priority != profile.cnp_priority
    assert profile.ecn.min < profile.ecn.max and profile.ecn_oversubscribed.min < profile.ecn.min
    assert profile.host_mtu < profile.mtu and profile.asn_first < profile.asn_last
