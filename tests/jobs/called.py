"""Functions that tests send away."""

from __future__ import annotations

import os


class OnlyHere(Exception):
    """An exception that does not survive pickling."""

    def __init__(self, one: int, two: int):
        super().__init__("only here")


def add(one: int, two: int = 2) -> int:
    print(f"adding on rank {os.environ['RANK']}")
    return one + two


def fail(text: str) -> None:
    raise KeyError(text)


def fail_oddly() -> None:
    raise OnlyHere(1, 2)


def end() -> None:
    os._exit(7)


def echo(text: str) -> str:
    return text


def zeros(count: int) -> bytes:
    return bytes(count)
