"""The part of NVUE's object model that rendered switches use, closed: a key or a word that is not in it is an error.

Written from NVIDIA's NVUE command reference (docs.nvidia.com/networking-ethernet-software/nvue-reference: set commands
of QoS, interface, BGP, BFD, router policy, system), whose paths are those of its OpenAPI document, in the words of
release 5.15 and later: nvue_words.py has those that it renamed.
"""

from __future__ import annotations

from typing import Any


def closed(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """A mapping with these keys (``_`` stands for ``-``) and no others."""
    named = {name.strip("_").replace("_", "-"): value for name, value in properties.items()}
    return {"type": "object", "properties": named, "required": list(required), "additionalProperties": False}


def keyed(pattern: str, value: dict[str, Any]) -> dict[str, Any]:
    """A mapping whose keys follow a pattern."""
    return {"type": "object", "patternProperties": {pattern: value}, "additionalProperties": False, "minProperties": 1}


def number(low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high}


SWITCHED = {"enum": ["enabled", "disabled"]}
ENABLED = {"enum": ["enable", "disable"]}
PROFILE = r"^[A-Za-z_][A-Za-z0-9_-]{0,31}$"
PREFIX = r"^\d{1,3}(\.\d{1,3}){3}/\d{1,2}$"
PORT = r"^swp\d+(s\d+)?$"
CLASS = r"^[0-7]$"
ADDRESSES = keyed(PREFIX, closed())
PROFILED = closed(("profile",), profile={"type": "string", "pattern": PROFILE})

LINK = closed(
    mtu=number(552, 9216),
    breakout=keyed(r"^[1248]x$", closed()),
    speed={"type": "string", "pattern": r"^(1|10|25|40|50|100|200|400|800)G$"},
)
INTERFACE = closed(
    type={"enum": ["swp", "eth", "loopback"]},
    description={"type": "string", "maxLength": 80},
    vrf={"type": "string"},
    ipv4=closed(
        address=ADDRESSES,
        gateway=keyed(r"^\d{1,3}(\.\d{1,3}){3}$", closed()),
        dhcp_client=closed(("state",), state=SWITCHED),
    ),
    link=LINK,
    qos=closed(
        mapping=PROFILED,
        egress_scheduler=PROFILED,
        pfc=PROFILED,
        congestion_control=PROFILED,
        pfc_watchdog=closed(("state",), state=ENABLED),
    ),
)
QOS = closed(
    mapping=keyed(
        PROFILE,
        closed(
            ("trust", "dscp"),
            trust={"enum": ["l2", "l3", "both", "port"]},
            dscp=keyed(r"^([0-9]|[1-5]\d|6[0-3])$", closed(("switch-priority",), switch_priority=number(0, 7))),
        ),
    ),
    egress_queue_mapping=keyed(PROFILE, closed(switch_priority=keyed(CLASS, closed(traffic_class=number(0, 7))))),
    egress_scheduler=keyed(
        PROFILE,
        closed(
            traffic_class=keyed(CLASS, closed(("mode",), mode={"enum": ["dwrr", "strict"]}, bw_percent=number(0, 100)))
        ),
    ),
    pfc=keyed(
        PROFILE,
        closed(
            ("switch-priority", "tx", "rx"),
            switch_priority=keyed(CLASS, closed()),
            tx=ENABLED,
            rx=ENABLED,
            cable_length=number(1, 100_000),
        ),
    ),
    congestion_control=keyed(
        PROFILE,
        closed(
            traffic_class=keyed(
                CLASS,
                closed(
                    ("ecn", "min-threshold", "max-threshold"),
                    ecn=ENABLED,
                    red=ENABLED,
                    min_threshold=number(1, 2**32 - 1),
                    max_threshold=number(1, 2**32 - 1),
                    probability=number(0, 100),
                ),
            )
        ),
    ),
    pfc_watchdog=closed(polling_interval=number(100, 5000), robustness=number(1, 1000)),
)
PREFIX_RULE = closed(
    ("action", "match"),
    action={"enum": ["permit", "deny"]},
    match=keyed(PREFIX, closed(min_prefix_len=number(0, 32), max_prefix_len=number(0, 32))),
)
MAP_RULE = closed(
    ("action", "match"),
    action=closed(permit=closed(), deny=closed()),
    match=closed(("type",), type={"enum": ["ipv4", "ipv6"]}, ip_prefix_list={"type": "string"}),
)
SEQUENCE = r"^\d{1,5}$"
ROUTER = closed(
    bfd=closed(("state", "profile"), state=SWITCHED, profile=keyed(r"^[A-Z]+$", closed())),
    bgp=closed(
        ("state", "autonomous-system", "router-id"),
        state=SWITCHED,
        autonomous_system=number(1, 4_294_967_294),
        router_id={"type": "string", "pattern": r"^\d+(\.\d+){3}$"},
    ),
    policy=closed(
        prefix_list=keyed(
            r"^[A-Z]+$", closed(("type", "rule"), type={"enum": ["ipv4", "ipv6"]}, rule=keyed(SEQUENCE, PREFIX_RULE))
        ),
        route_map=keyed(r"^[A-Z]+$", closed(rule=keyed(SEQUENCE, MAP_RULE))),
    ),
)
NAMED_MAP = closed(("route-map",), route_map={"type": "string"})
FAMILY = closed(
    ("state",),
    state=SWITCHED,
    multipaths=closed(ebgp=number(1, 128)),
    network=ADDRESSES,
    redistribute=closed(connected=closed(("state",), state=SWITCHED, route_map={"type": "string"})),
    aggregate_route=keyed(PREFIX, closed(summary_only=SWITCHED)),
    policy=closed(inbound=NAMED_MAP, outbound=NAMED_MAP),
)
BGP = closed(
    ("state",),
    state=SWITCHED,
    path_selection=closed(multipath=closed(aspath_ignore=SWITCHED)),
    timers=closed(keepalive=number(1, 65535), hold=number(3, 65535)),
    address_family=closed(ipv4_unicast=FAMILY),
    peer_group=keyed(
        r"^[A-Z]+$",
        closed(bfd=closed(("profile",), profile={"type": "string"}), address_family=closed(ipv4_unicast=FAMILY)),
    ),
    neighbor=keyed(
        PORT,
        closed(
            ("type", "remote-as"),
            type={"const": "unnumbered"},
            peer_group={"type": "string"},
            remote_as=number(1, 4_294_967_294),
        ),
    ),
)
NVUE = {
    "type": "array",
    "minItems": 1,
    "maxItems": 1,
    "items": closed(
        ("set",),
        set=closed(
            system=closed(hostname={"type": "string", "pattern": r"^[a-z0-9-]{1,64}$"}),
            interface=keyed(r"^(lo|eth0|swp\d+(s\d+)?)$", INTERFACE),
            qos=QOS,
            router=ROUTER,
            vrf=closed(default=closed(router=closed(bgp=BGP))),
        ),
    ),
}

VLAN = r"^([1-9]\d{0,2}|[1-3]\d{3}|40[0-8]\d|409[0-3])$"
BRIDGED_PORT = closed(
    domain=keyed(
        "^br_default$",
        closed(
            access=number(1, 4093), vlan=keyed(VLAN, closed()), stp=closed(admin_edge=SWITCHED, bpdu_guard=SWITCHED)
        ),
    )
)
ADDRESS = r"^\d{1,3}(\.\d{1,3}){3}$"
BRIDGED_INTERFACE = closed(
    link=LINK,
    type={"enum": ["swp", "eth", "bond", "peerlink", "sub", "svi"]},
    description={"type": "string", "maxLength": 80},
    vrf={"type": "string"},
    ipv4=closed(address=ADDRESSES, gateway=keyed(ADDRESS, closed()), dhcp_client=closed(("state",), state=SWITCHED)),
    bond=closed(
        ("member",),
        member=keyed(PORT, closed()),
        lacp_bypass=SWITCHED,
        mlag=closed(("state", "id"), state=SWITCHED, id=number(1, 65535)),
    ),
    bridge=BRIDGED_PORT,
    vlan=number(1, 4094),
    base_interface={"const": "peerlink"},
)
NVUE_BRIDGED = {
    "type": "array",
    "minItems": 1,
    "maxItems": 1,
    "items": closed(
        ("set",),
        set=closed(
            ("system", "bridge", "interface"),
            system=closed(hostname={"type": "string", "pattern": r"^[a-z0-9-]{1,64}$"}),
            bridge=closed(
                domain=keyed(
                    "^br_default$",
                    closed(
                        vlan=keyed(VLAN, closed()),
                        stp=closed(priority={"type": "integer", "multipleOf": 4096, "minimum": 0, "maximum": 61440}),
                    ),
                )
            ),
            mlag=closed(
                ("state", "mac-address", "peer-ip", "backup"),
                state=SWITCHED,
                peer_ip={"const": "linklocal"},
                mac_address={"type": "string", "pattern": "^44:38:39:ff:[0-9a-f]{2}:[0-9a-f]{2}$"},
                backup=keyed(ADDRESS, closed(vrf={"const": "mgmt"})),
            ),
            interface=keyed(r"^(eth0|swp\d+(s\d+)?|bond\d{1,5}|peerlink(\.4094)?|vlan\d+)$", BRIDGED_INTERFACE),
            vrf=closed(
                default=closed(
                    router=closed(
                        static=keyed(
                            PREFIX,
                            closed(
                                ("address-family", "via"),
                                address_family={"const": "ipv4-unicast"},
                                via=keyed(ADDRESS, closed(type={"const": "ipv4-address"})),
                            ),
                        )
                    )
                )
            ),
        ),
    ),
}
