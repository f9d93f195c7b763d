"""Finds libsideband, checks its ABI number and opens it in a scope of its own (two HDF5 may live in one process)."""

from __future__ import annotations

import ctypes
import json
import os
import re
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

from . import _capi
from ._capi import Status
from ._errors import error_of

_NAME = f"libsideband.so.{_capi.ABI_VERSION}"


def _inside() -> str | None:
    """The library that the package brings, by the name that its wheel gave it."""
    path = files(__package__).joinpath(_NAME)
    return str(path) if path.is_file() else None


def _package_of(problem: str) -> str:
    """What to install where a library that ours needs is missing, as the build wrote it down."""
    match = re.match(r"(\S+): cannot open shared object file", problem)
    needs = files(__package__).joinpath("needs.json")
    if match is None or not needs.is_file():
        return ""
    package = json.loads(needs.read_text(encoding="utf-8")).get(match[1])
    return f" {match[1]} is in the package {package} (apt-get install {package})." if package else ""


def _load() -> ctypes.CDLL:
    path = _inside() or os.environ.get("SIDEBAND_LIBRARY") or _NAME
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
    except OSError as problem:
        where = "install sideband anew" if _inside() else "give its path in SIDEBAND_LIBRARY"
        remedy = _package_of(str(problem)) or f" Install what it needs, or {where}."
        raise ImportError(f"The library {path} cannot be opened ({problem}).{remedy}") from None
    try:
        library.sb_abi_version.restype = ctypes.c_int
        number = library.sb_abi_version()
    except AttributeError:
        raise ImportError(f"{path} is no libsideband; correct SIDEBAND_LIBRARY.") from None
    if number != _capi.ABI_VERSION:
        raise ImportError(f"{path} has ABI {number}, this package was made for {_capi.ABI_VERSION}; install both from one "
                          "release.")
    try:
        _capi.declare(library)
    except AttributeError as missing:
        raise ImportError(f"{path} is older than this package ({missing}); install both from one release.") from None
    return library


lib = _load()


def check(status: int) -> None:
    """Raises the exception of a status, with the sentence of this thread."""
    if status != Status.OK:
        raise error_of(status, text(lib.sb_error_message()))


def text(value: bytes | None) -> str:
    """A string of the library."""
    return (value or b"").decode("utf-8", "replace")


def required(value: bytes | None) -> str:
    """A string that is NULL where the call failed."""
    if value is None:
        raise error_of(Status.INTERNAL, text(lib.sb_error_message()))
    return text(value)


@lru_cache(maxsize=1)
def catalog() -> dict[str, Any]:
    """Everything there is: parameter rows of session, data and commands, methods, formats, writers, backends.

    The shape of the object is written in sideband.h at sb_catalog. Do not change it.
    """
    return json.loads(required(lib.sb_catalog()))


_log_function: Any = _capi.LogFunction()


def set_log(function: Callable[[int, str], Any] | None) -> None:
    """Where the library's remarks go: function(level, message), level 0 debug .. 3 warning; None: to stderr as before.

    It is called from the library's threads, one call at a time, and must not wait for a job.
    """
    global _log_function
    new = _capi.LogFunction(lambda level, message, _: function(level, text(message))) if function else _capi.LogFunction()
    lib.sb_log_set(new, None)
    _log_function = new  # the one before is not called any more
