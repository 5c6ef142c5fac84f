"""The part of NVUE's object model that rendered switches use, closed: a key or a word that is not in it is an error.

Written from NVIDIA's NVUE command reference (docs.nvidia.com/networking-ethernet-software/nvue-reference: set commands
of QoS, interface, BGP, BFD, router policy, system), whose paths are those of its OpenAPI document, in the words of
release 5.15 and later: nvue_words.py has those that it renamed.
"""

from __future__ import annotations

from typing import Any


def build_object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """A mapping with these keys (``_`` stands for ``-``) and no others."""
    named = {name.strip("_").replace("_", "-"): value for name, value in properties.items()}
    return {"type": "object", "properties": named, "required": list(required), "additionalProperties": False}


def build_pattern_object(pattern: str, value: dict[str, Any]) -> dict[str, Any]:
    """A mapping whose keys follow a pattern."""
    return {"type": "object", "patternProperties": {pattern: value}, "additionalProperties": False, "minProperties": 1}


def build_integer(low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high}


SWITCHED = {"enum": ["enabled", "disabled"]}
ENABLED = {"enum": ["enable", "disable"]}
PROFILE = r"^[A-Za-z_][A-Za-z0-9_-]{0,31}$"
PREFIX = r"^\d{1,3}(\.\d{1,3}){3}/\d{1,2}$"
PORT = r"^swp\d+(s\d+)?$"
CLASS = r"^[0-7]$"
ADDRESSES = build_pattern_object(PREFIX, build_object())
PROFILED = build_object(("profile",), profile={"type": "string", "pattern": PROFILE})

LINK = build_object(
    mtu=build_integer(552, 9216),
    breakout=build_pattern_object(r"^[1248]x$", build_object()),
    speed={"type": "string", "pattern": r"^(1|10|25|40|50|100|200|400|800)G$"},
)
INTERFACE = build_object(
    type={"enum": ["swp", "eth", "loopback"]},
    description={"type": "string", "maxLength": 80},
    vrf={"type": "string"},
    ipv4=build_object(
        address=ADDRESSES,
        gateway=build_pattern_object(r"^\d{1,3}(\.\d{1,3}){3}$", build_object()),
        dhcp_client=build_object(("state",), state=SWITCHED),
    ),
    link=LINK,
    qos=build_object(
        mapping=PROFILED,
        egress_scheduler=PROFILED,
        pfc=PROFILED,
        congestion_control=PROFILED,
        pfc_watchdog=build_object(("state",), state=ENABLED),
    ),
)
QOS = build_object(
    mapping=build_pattern_object(
        PROFILE,
        build_object(
            ("trust", "dscp"),
            trust={"enum": ["l2", "l3", "both", "port"]},
            dscp=build_pattern_object(
                r"^([0-9]|[1-5]\d|6[0-3])$", build_object(("switch-priority",), switch_priority=build_integer(0, 7))
            ),
        ),
    ),
    egress_queue_mapping=build_pattern_object(
        PROFILE,
        build_object(switch_priority=build_pattern_object(CLASS, build_object(traffic_class=build_integer(0, 7)))),
    ),
    egress_scheduler=build_pattern_object(
        PROFILE,
        build_object(
            traffic_class=build_pattern_object(
                CLASS, build_object(("mode",), mode={"enum": ["dwrr", "strict"]}, bw_percent=build_integer(0, 100))
            )
        ),
    ),
    pfc=build_pattern_object(
        PROFILE,
        build_object(
            ("switch-priority", "tx", "rx"),
            switch_priority=build_pattern_object(CLASS, build_object()),
            tx=ENABLED,
            rx=ENABLED,
            cable_length=build_integer(1, 100_000),
        ),
    ),
    congestion_control=build_pattern_object(
        PROFILE,
        build_object(
            traffic_class=build_pattern_object(
                CLASS,
                build_object(
                    ("ecn", "min-threshold", "max-threshold"),
                    ecn=ENABLED,
                    red=ENABLED,
                    min_threshold=build_integer(1, 2**32 - 1),
                    max_threshold=build_integer(1, 2**32 - 1),
                    probability=build_integer(0, 100),
                ),
            )
        ),
    ),
    pfc_watchdog=build_object(polling_interval=build_integer(100, 5000), robustness=build_integer(1, 1000)),
)
PREFIX_RULE = build_object(
    ("action", "match"),
    action={"enum": ["permit", "deny"]},
    match=build_pattern_object(
        PREFIX, build_object(min_prefix_len=build_integer(0, 32), max_prefix_len=build_integer(0, 32))
    ),
)
MAP_RULE = build_object(
    ("action", "match"),
    action=build_object(permit=build_object(), deny=build_object()),
    match=build_object(("type",), type={"enum": ["ipv4", "ipv6"]}, ip_prefix_list={"type": "string"}),
)
SEQUENCE = r"^\d{1,5}$"
ROUTER = build_object(
    bfd=build_object(("state", "profile"), state=SWITCHED, profile=build_pattern_object(r"^[A-Z]+$", build_object())),
    bgp=build_object(
        ("state", "autonomous-system", "router-id"),
        state=SWITCHED,
        autonomous_system=build_integer(1, 4_294_967_294),
        router_id={"type": "string", "pattern": r"^\d+(\.\d+){3}$"},
    ),
    policy=build_object(
        prefix_list=build_pattern_object(
            r"^[A-Z]+$",
            build_object(
                ("type", "rule"), type={"enum": ["ipv4", "ipv6"]}, rule=build_pattern_object(SEQUENCE, PREFIX_RULE)
            ),
        ),
        route_map=build_pattern_object(r"^[A-Z]+$", build_object(rule=build_pattern_object(SEQUENCE, MAP_RULE))),
    ),
)
NAMED_MAP = build_object(("route-map",), route_map={"type": "string"})
FAMILY = build_object(
    ("state",),
    state=SWITCHED,
    multipaths=build_object(ebgp=build_integer(1, 128)),
    network=ADDRESSES,
    redistribute=build_object(connected=build_object(("state",), state=SWITCHED, route_map={"type": "string"})),
    aggregate_route=build_pattern_object(PREFIX, build_object(summary_only=SWITCHED)),
    policy=build_object(inbound=NAMED_MAP, outbound=NAMED_MAP),
)
BGP = build_object(
    ("state",),
    state=SWITCHED,
    path_selection=build_object(multipath=build_object(aspath_ignore=SWITCHED)),
    timers=build_object(keepalive=build_integer(1, 65535), hold=build_integer(3, 65535)),
    address_family=build_object(ipv4_unicast=FAMILY),
    peer_group=build_pattern_object(
        r"^[A-Z]+$",
        build_object(
            bfd=build_object(("profile",), profile={"type": "string"}), address_family=build_object(ipv4_unicast=FAMILY)
        ),
    ),
    neighbor=build_pattern_object(
        PORT,
        build_object(
            ("type", "remote-as"),
            type={"const": "unnumbered"},
            peer_group={"type": "string"},
            remote_as=build_integer(1, 4_294_967_294),
        ),
    ),
)
NVUE = {
    "type": "array",
    "minItems": 1,
    "maxItems": 1,
    "items": build_object(
        ("set",),
        set=build_object(
            system=build_object(hostname={"type": "string", "pattern": r"^[a-z0-9-]{1,64}$"}),
            interface=build_pattern_object(r"^(lo|eth0|swp\d+(s\d+)?)$", INTERFACE),
            qos=QOS,
            router=ROUTER,
            vrf=build_object(default=build_object(router=build_object(bgp=BGP))),
        ),
    ),
}

VLAN = r"^([1-9]\d{0,2}|[1-3]\d{3}|40[0-8]\d|409[0-3])$"
BRIDGED_PORT = build_object(
    domain=build_pattern_object(
        "^br_default$",
        build_object(
            access=build_integer(1, 4093),
            vlan=build_pattern_object(VLAN, build_object()),
            stp=build_object(admin_edge=SWITCHED, bpdu_guard=SWITCHED),
        ),
    )
)
ADDRESS = r"^\d{1,3}(\.\d{1,3}){3}$"
BRIDGED_INTERFACE = build_object(
    link=LINK,
    type={"enum": ["swp", "eth", "bond", "peerlink", "sub", "svi"]},
    description={"type": "string", "maxLength": 80},
    vrf={"type": "string"},
    ipv4=build_object(
        address=ADDRESSES,
        gateway=build_pattern_object(ADDRESS, build_object()),
        dhcp_client=build_object(("state",), state=SWITCHED),
    ),
    bond=build_object(
        ("member",),
        member=build_pattern_object(PORT, build_object()),
        lacp_bypass=SWITCHED,
        mlag=build_object(("state", "id"), state=SWITCHED, id=build_integer(1, 65535)),
    ),
    bridge=BRIDGED_PORT,
    vlan=build_integer(1, 4094),
    base_interface={"const": "peerlink"},
)
NVUE_BRIDGED = {
    "type": "array",
    "minItems": 1,
    "maxItems": 1,
    "items": build_object(
        ("set",),
        set=build_object(
            ("system", "bridge", "interface"),
            system=build_object(hostname={"type": "string", "pattern": r"^[a-z0-9-]{1,64}$"}),
            bridge=build_object(
                domain=build_pattern_object(
                    "^br_default$",
                    build_object(
                        vlan=build_pattern_object(VLAN, build_object()),
                        stp=build_object(
                            priority={"type": "integer", "multipleOf": 4096, "minimum": 0, "maximum": 61440}
                        ),
                    ),
                )
            ),
            mlag=build_object(
                ("state", "mac-address", "peer-ip", "backup"),
                state=SWITCHED,
                peer_ip={"const": "linklocal"},
                mac_address={"type": "string", "pattern": "^44:38:39:ff:[0-9a-f]{2}:[0-9a-f]{2}$"},
                backup=build_pattern_object(ADDRESS, build_object(vrf={"const": "mgmt"})),
            ),
            interface=build_pattern_object(
                r"^(eth0|swp\d+(s\d+)?|bond\d{1,5}|peerlink(\.4094)?|vlan\d+)$", BRIDGED_INTERFACE
            ),
            vrf=build_object(
                default=build_object(
                    router=build_object(
                        static=build_pattern_object(
                            PREFIX,
                            build_object(
                                ("address-family", "via"),
                                address_family={"const": "ipv4-unicast"},
                                via=build_pattern_object(ADDRESS, build_object(type={"const": "ipv4-address"})),
                            ),
                        )
                    )
                )
            ),
        ),
    ),
}
