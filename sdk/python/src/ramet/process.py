"""What a process cannot share with those that it forks off."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class PerProcess(Generic[T]):
    """What each process has to have of its own: one that was forked off finds it made anew.

    Two processes on one connection would read each other's answers, and a lock may be held by a thread that only the
    other process has. What that goes on with is not closed here, only let go of: to close a connection may say good-bye
    over it.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._own = os.getpid(), make()

    def get(self) -> T:
        """Give what this process has."""
        process, thing = self._own
        if process != os.getpid():
            thing = self._make()
            self._own = os.getpid(), thing
        return thing
