"""The baseline level of the Pod Security Standards, field by field, as rules of an admission policy.

Fields and allowed values: kubernetes.io/docs/concepts/security/pod-security-standards (v1.36), in the order of its
table; volumes, ports and the host network are in the modules that use them.
"""

from __future__ import annotations

from collections.abc import Iterable

from .manifest import Object

__all__ = ["POLICY_VARIABLES", "build_container_rule", "format_cel_list", "build_rules"]

POLICY_VARIABLES: list[Object] = [
    {"name": "pod", "expression": "object.spec"},
    {"name": "containers", "expression": "object.spec.containers + object.spec.?initContainers.orValue([])"},
    {"name": "debuggers", "expression": "object.spec.?ephemeralContainers.orValue([])"},
    {"name": "notes", "expression": "object.metadata.?annotations.orValue({})"},
]
"""Variables of the rules."""

_ALLOWED_CAPABILITIES = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
]
_HANDLER_FIELDS = ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle.?postStart", "lifecycle.?preStop"]
_ALLOWED_PROFILES = ["RuntimeDefault", "Localhost"]
_APPARMOR_ANNOTATION_PREFIX = "container.apparmor.security.beta.kubernetes.io/"
_ALLOWED_SELINUX_TYPES = ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"]
_ALLOWED_SYSCTLS = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
]


def build_rules(extra_capabilities: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Return each rule with the message of its violation. ``extra_capabilities``: further capabilities that may be
    added.
    """
    added = [*_ALLOWED_CAPABILITIES, *extra_capabilities]
    hosts = [
        f"c.?{handler}.?{way}.?host.orValue('') == ''"
        for handler in _HANDLER_FIELDS
        for way in ("httpGet", "tcpSocket")
    ]
    return [
        (
            _build_security_context_rule("windowsOptions.?hostProcess.orValue(false) == false"),
            "HostProcess is not allowed",
        ),
        (
            "!variables.pod.?hostPID.orValue(false) && !variables.pod.?hostIPC.orValue(false)",
            "hostPID and hostIPC are not allowed",
        ),
        (
            build_container_rule("!c.?securityContext.?privileged.orValue(false)"),
            "privileged containers are not allowed",
        ),
        (
            build_container_rule(
                f"c.?securityContext.?capabilities.?add.orValue([]).all(k, k in {format_cel_list(added)})"
            ),
            f"capabilities that may be added: {', '.join(added)}",
        ),
        (
            build_container_rule(" && ".join(hosts)),
            "host of a probe or a lifecycle hook is not allowed: they must query the pod itself",
        ),
        (
            _build_security_context_rule(
                f"appArmorProfile.?type.orValue('RuntimeDefault') in {format_cel_list(_ALLOWED_PROFILES)}"
            ),
            f"types of appArmorProfile: {', '.join(_ALLOWED_PROFILES)}",
        ),
        (
            f"variables.notes.all(k, !k.startsWith('{_APPARMOR_ANNOTATION_PREFIX}') || "
            "variables.notes[k] in ['', 'runtime/default'] || variables.notes[k].startsWith('localhost/'))",
            "AppArmor profiles of annotations: runtime/default, localhost/…",
        ),
        (
            _build_security_context_rule(
                f"seLinuxOptions.?type.orValue('') in {format_cel_list(_ALLOWED_SELINUX_TYPES)}"
            ),
            f"types of seLinuxOptions: {', '.join(_ALLOWED_SELINUX_TYPES[1:])}",
        ),
        (
            _build_security_context_rule("seLinuxOptions.?user.orValue('') == ''"),
            "user of seLinuxOptions is not allowed",
        ),
        (
            _build_security_context_rule("seLinuxOptions.?role.orValue('') == ''"),
            "role of seLinuxOptions is not allowed",
        ),
        (
            build_container_rule("c.?securityContext.?procMount.orValue('Default') == 'Default'"),
            "procMount must be Default",
        ),
        (
            _build_security_context_rule(
                f"seccompProfile.?type.orValue('RuntimeDefault') in {format_cel_list(_ALLOWED_PROFILES)}"
            ),
            f"types of seccompProfile: {', '.join(_ALLOWED_PROFILES)}",
        ),
        (
            "variables.pod.?securityContext.?sysctls.orValue([]).all(s, s.name in "
            f"{format_cel_list(_ALLOWED_SYSCTLS)})",
            f"sysctls that may be set: {', '.join(_ALLOWED_SYSCTLS)}",
        ),
    ]


def build_container_rule(rule: str) -> str:
    """A rule on a container ``c``, for all of a pod's containers."""
    return f"variables.containers.all(c, {rule}) && variables.debuggers.all(c, {rule})"


def format_cel_list(items: Iterable[str]) -> str:
    """A list of texts in CEL."""
    return "[" + ", ".join(f"'{item}'" for item in items) + "]"


def _build_security_context_rule(rule: str) -> str:
    """A rule on the security context of the pod and on that of each container."""
    return f"variables.pod.?securityContext.?{rule} && ({build_container_rule(f'c.?securityContext.?{rule}')})"
