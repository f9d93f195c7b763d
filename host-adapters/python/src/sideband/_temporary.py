"""Files that stand for Python objects where the library reads a file: a mask, a result."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np


class Temporary:
    """A folder of such files, removed when the job ended."""

    def __init__(self) -> None:
        self._remove: weakref.finalize | None = None
        self._folder = ""

    def _path(self, name: str) -> str:
        if self._remove is None:
            self._folder = tempfile.mkdtemp(prefix="sideband-")
            self._remove = weakref.finalize(self, shutil.rmtree, self._folder, True)
        return os.path.join(self._folder, name)

    def replace(self, given: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Arrays and results given for a row of a path become files, and their paths its values."""
        from ._result import Result

        plain = dict(given)
        for name, value in given.items():
            row = rows.get(name) or rows.get(name.rstrip("_"))
            if row is None or row["type"] != "path":
                continue
            if isinstance(value, np.ndarray):
                plain[name] = self._path(row["name"] + ".npy")
                np.save(plain[name], value)
            elif isinstance(value, Result):
                plain[name] = self._path(row["name"] + "_result.h5")
                value.save(plain[name])
        return plain

    def remove(self) -> None:
        """Removes what was written."""
        if self._remove is not None:
            self._remove()
            self._remove = None
