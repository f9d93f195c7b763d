"""Results: arrays, values with their uncertainties, provenance."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ._capi import array_of, empty_view
from ._handle import Handle
from ._library import check, lib, required


class Arrays(Mapping[str, np.ndarray]):
    """The arrays of a result by name: read-only views of the library's memory, which stay valid as long as they live."""

    def __init__(self, pointer: ctypes.c_void_p, owner: Handle, names: list[str]) -> None:
        self._pointer, self._owner, self._names = pointer, owner, names

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise KeyError(f"{name!r}; the result has {', '.join(self._names)}")
        view = empty_view()
        check(lib.sb_result_array(ctypes.byref(view), self._pointer, name.encode("utf-8")))
        return array_of(view, self._owner)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<sideband arrays {', '.join(self._names)}>"


class Result:
    """What a command gave. Made by jobs and by open_result; never changes."""

    def __init__(self, pointer: ctypes.c_void_p, owner: Handle) -> None:
        self._pointer, self._owner = pointer, owner

    @cached_property
    def info(self) -> dict[str, Any]:
        """Everything that is no array, as `sideband COMMAND --json` prints it: values, coordinates, calibration,
        acquisition, parameters that reproduce it, seconds, and "arrays" with name, title, unit, shape, step and axis_unit
        of each."""
        return json.loads(required(lib.sb_result_info(self._pointer)))

    @cached_property
    def arrays(self) -> Arrays:
        """name -> ndarray, read-only, C-ordered (row, col), float32 (pictures uint8). Images have the unit, the step and
        its unit that `info["arrays"]` says; "phase" is in rad."""
        return Arrays(self._pointer, self._owner, [array["name"] for array in self.info.get("arrays", [])])

    def array(self, name: str) -> np.ndarray:
        """arrays[name], but ArgumentError with the names there are where it has none."""
        view = empty_view()
        check(lib.sb_result_array(ctypes.byref(view), self._pointer, name.encode("utf-8")))
        return array_of(view, self._owner)

    def _column(self, key: str) -> dict[str, Any]:
        return {name: value.get(key) for name, value in self.info.get("values", {}).items()}

    @property
    def values(self) -> dict[str, float]:
        """Fitted or given values by name, in `units`: C10 in nm (defocus = -C10), phi12 in rad, ..."""
        return self._column("value")

    @property
    def uncertainties(self) -> dict[str, float | None]:
        """The larger of error (from the curvature) and spread (between halves of the data); None where neither is known."""
        found = {}
        for name, value in self.info.get("values", {}).items():
            known = [value[key] for key in ("error", "spread") if value.get(key) is not None]
            found[name] = max(known) if known else None
        return found

    @property
    def units(self) -> dict[str, str]:
        """Units of `values` by name: "nm", "rad", "mrad"."""
        return self._column("unit")

    @property
    def warnings(self) -> list[str]:
        """Sentences about what is doubtful, of the command and of the acquisition."""
        found = list(self.info.get("acquisition", {}).get("warnings", [])) + list(self.info.get("warnings", []))
        return list(dict.fromkeys(found))

    def save(self, path: str | os.PathLike[str], kind: str = "hdf5") -> None:
        """Writes one file, whole or not at all; kind: a name of the catalog's writers (hdf5, tiff, png, json, ...).

        Raises FileError where the file cannot be written, or exists and is not one of ours.
        """
        check(lib.sb_result_save(self._pointer, os.fsencode(path), kind.encode("utf-8")))

    def plot(self, name: str | None = None, axes: Any = None) -> Any:
        """Draws an array with its scale, by default the first image that is no detail; needs matplotlib. Returns the axes."""
        from ._plot import plot

        return plot(self, name, axes)

    def __repr__(self) -> str:
        return f"<sideband.Result of {self.info.get('command', 'a file')}: {', '.join(self.arrays)}>"


def open_result(path: str | os.PathLike[str]) -> Result:
    """A result that was saved as HDF5. Raises FileError or DataError where the file is none."""
    pointer = ctypes.c_void_p()
    check(lib.sb_result_open(ctypes.byref(pointer), os.fsencode(path)))
    return Result(ctypes.c_void_p(pointer.value), Handle(pointer, "sb_result_free"))
