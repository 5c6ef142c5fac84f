"""A network file taken apart, changed, and printed the way ibnetdiscover does."""

from __future__ import annotations

import re

End = tuple[str, int]


class Net:
    def __init__(self, text: str):
        self.devices: dict[str, str] = {}
        self.links: dict[End, End] = {}
        owner = ""
        for line in text.splitlines():
            head, port = (
                re.fullmatch(r'(Switch|Hca) (\d+) "(.*)"', line),
                re.fullmatch(r'\[(\d+)\]\t"(.*)"\[(\d+)\]', line),
            )
            if head:
                owner = head[3]
                self.devices[owner] = f"{head[1]} {head[2]}"
            elif port:
                self.links[owner, int(port[1])] = (port[2], int(port[3]))

    def cut(self, end: End) -> End:
        other = self.links.pop(end)
        del self.links[other]
        return other

    def join(self, one: End, other: End) -> None:
        assert one not in self.links and other not in self.links
        self.links[one], self.links[other] = other, one

    def move(self, end: End, to: End) -> None:
        self.cut(end)
        self.join(end, to)

    def swap(self, one: End, other: End) -> None:
        first, second = self.cut(one), self.cut(other)
        self.join(one, second)
        self.join(other, first)

    def format_output(self) -> str:
        ids = {}
        for number, (name, kind) in enumerate(self.devices.items()):
            ids[name] = f"{'S' if kind.startswith('Switch') else 'H'}-{0x200000 + 2 * number:016x}"
        rows: dict[str, list[str]] = {name: [] for name in self.devices}
        for (name, port), (other, other_port) in sorted(self.links.items()):
            mine = "" if ids[name][0] == "S" else f"({int(ids[name][2:], 16) + 1:x})"
            theirs = "" if ids[other][0] == "S" else f"({int(ids[other][2:], 16) + 1:x})"
            rows[name].append(f'[{port}]{mine}\t"{ids[other]}"[{other_port}]{theirs}\t\t# "{other}" lid 1 4xNDR')
        lines = ["#", "# Topology file: generated on Fri Nov 20 22:46:08 2026", "#", ""]
        for name, kind in self.devices.items():
            what, ports = kind.split()
            guid = "switchguid" if what == "Switch" else "caguid"
            head = f'{"Ca" if what == "Hca" else what}\t{ports} "{ids[name]}"\t\t# "{name}"'
            lines += ["vendid=0x0", "devid=0x0", f"{guid}=0x{ids[name][2:].lstrip('0')}", head, *rows[name], ""]
        return "\n".join(lines) + "\n"
