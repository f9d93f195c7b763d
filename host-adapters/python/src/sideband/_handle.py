"""An object of the library and the end of its life."""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Any

from ._library import lib


class Handle:
    """Frees an object of the library once: on close, when nobody refers to it any more, or when Python ends.

    `keeps` is held until then. In a forked child the library frees nothing, and says nothing.
    """

    def __init__(self, pointer: ctypes.c_void_p, free: str, *keeps: Any) -> None:
        self.pointer = pointer
        self._keeps = keeps
        self._finalizer = weakref.finalize(self, _free, pointer.value, getattr(lib, free), os.getpid())

    def close(self) -> None:
        """Frees it now."""
        self._finalizer()
        self.pointer = ctypes.c_void_p()
        self._keeps = ()


def _free(pointer: int, function: Any, owner: int) -> None:
    if os.getpid() == owner:
        function(pointer)
