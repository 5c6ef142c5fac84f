"""YAML text that no serializer writes."""

from __future__ import annotations

import random


def make_hostile_text(text: str, chance: random.Random) -> str:
    """YAML text with what no serializer writes: bombs of aliases, deep nesting, odd tags, torn lines, many keys."""
    match chance.choice(("bomb", "deep", "tag", "torn", "keys", "twice", "merge", "control", "self")):
        case "bomb":
            names = "abcdefghij"
            lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
            lines += [
                f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in zip(names, names[1:], strict=False)
            ]
            return "\n".join(lines) + "\n" + text
        case "deep":
            depth = chance.choice((60, 70, 1000, 30_000))
            return f"{text}\nx: {'[' * depth}{']' * depth}\n"
        case "tag":
            return text.replace(
                ": ",
                f": {chance.choice(('!!python/object:os.system', '!!binary', '!x', '!!set', '&a', '*a', '<<'))} ",
                1,
            )
        case "torn":
            at = chance.randrange(len(text) + 1)
            return (
                text[:at]
                + chance.choice(("", "\t", "{", "]", ": :", "\x00", "\ufeff", "---\n", "...\n", "%YAML 9\n"))
                + text[at + 3 :]
            )
        case "keys":
            return text + "".join(f"k{number}: {number}\n" for number in range(chance.choice((10, 3000))))
        case "twice":
            lines = text.splitlines(keepends=True)
            at = chance.randrange(len(lines) or 1)
            return "".join([*lines[: at + 1], *lines[at : at + 1], *lines[at + 1 :]])
        case "merge":
            return f"x: &x {{name: y}}\n<<: {chance.choice(('*x', '[*x, *x]', '3', '[[*x]]'))}\n{text}"
        case "control":
            return text.replace("\n", chance.choice(("\r", "\r\n", "\x85", "\u2028", "\x0c\n")))
    return f"a: &a [*a]\n{text}" if chance.random() < 0.5 else f"a: &a {{<<: *a}}\n{text}"
