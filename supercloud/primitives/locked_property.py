"""A property that is computed once for each object, also if several threads read it at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["LockedProperty"]

Value = TypeVar("Value")


class LockedProperty(Generic[Value]):
    """As :class:`functools.cached_property`, with a lock for each object.

    That one has no lock since Python 3.12, and before one for all objects of a class: an object whose value takes long
    would delay all others. After an error the next read computes it again.
    """

    def __init__(self, compute: Callable[[Any], Value]):
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._lock_name = name, f"_lock_of_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object, owner: type) -> Self | Value:
        """The value; it is then an attribute of the object, and this is not called again."""
        if instance is None:
            return self
        values = vars(instance)
        with values.setdefault(self._lock_name, threading.RLock()):
            if self._name not in values:
                values[self._name] = self._compute(instance)
            value: Value = values[self._name]
            return value
