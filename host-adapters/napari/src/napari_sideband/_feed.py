"""Frames that are still arriving: a layer that grows, or a file. No Qt."""

from __future__ import annotations

import os
from typing import Any, Protocol

import numpy as np

from ._layers import about


class Feed(Protocol):
    """Where a stream takes its frames from."""

    detector_shape: tuple[int, int]
    dtype: np.dtype

    def arrived(self) -> int:
        """How many frames, from the first on, are there now."""

    def read(self, first: int, n: int) -> np.ndarray:
        """Frames [first, first + n) as [n, rows, cols]."""


class LayerFeed:
    """A layer of four axes, or a stack whose first axis grows. A script that fills an array in place says how far it is
    in metadata["napari-sideband"]["arrived"], a number or a function that gives one."""

    def __init__(self, layer: Any) -> None:
        shape = layer.data.shape
        if len(shape) not in (3, 4):
            raise ValueError(f'"{layer.name}" has {len(shape)} axes; give a stack of three axes, or a scan of four.')
        self._layer = layer
        self._data = layer.data
        self.detector_shape = (int(shape[-2]), int(shape[-1]))
        self.dtype = np.dtype(layer.data.dtype)
        self.scan_shape = (int(shape[0]), int(shape[1])) if len(shape) == 4 else None

    def arrived(self) -> int:
        # the array is taken anew: a layer grows by getting another one
        self._data = self._layer.data
        count = int(np.prod(self._data.shape[:-2]))
        said = about(self._layer).get("arrived")
        return count if said is None else min(count, int(said() if callable(said) else said))

    def read(self, first: int, n: int) -> np.ndarray:
        data = self._data
        if data.ndim == 3:
            return np.asarray(data[first:first + n])
        cols = data.shape[1]
        rows = np.asarray(data[first // cols:(first + n - 1) // cols + 1])
        start = first % cols
        return rows.reshape(-1, *self.detector_shape)[start:start + n]


class FileFeed:
    """A raw file, or a .npy file whose header already says the whole shape, that another program is writing."""

    def __init__(self, path: str, opening: dict[str, Any]) -> None:
        self.path = path
        self.scan_shape: tuple[int, int] | None = None
        name = os.path.basename(path)
        if path.lower().endswith(".npy"):
            self._take_npy(name)
            return
        shape, dtype = pair(opening.get("detector_shape")), opening.get("dtype")
        if shape is None or not dtype:
            raise ValueError(f"Give detector shape and number type of {name}: a raw file does not say them.")
        self.detector_shape, self.dtype = shape, np.dtype(str(dtype))
        self._header = int(opening.get("header_bytes") or 0)

    def _take_npy(self, name: str) -> None:
        with open(self.path, "rb") as file:
            try:
                version = np.lib.format.read_magic(file)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, fortran, dtype = read(file)
            except ValueError as problem:
                raise ValueError(f"{name} is no NumPy file ({problem}).") from problem
            self._header = file.tell()
        if len(shape) not in (3, 4) or fortran:
            raise ValueError(f"{name} holds no C-ordered frames [scan rows, scan columns, rows, columns].")
        self.detector_shape, self.dtype = (int(shape[-2]), int(shape[-1])), dtype
        self.scan_shape = (int(shape[0]), int(shape[1])) if len(shape) == 4 else None

    @property
    def _frame_bytes(self) -> int:
        return self.detector_shape[0] * self.detector_shape[1] * self.dtype.itemsize

    def arrived(self) -> int:
        return max(0, os.path.getsize(self.path) - self._header) // self._frame_bytes

    def read(self, first: int, n: int) -> np.ndarray:
        with open(self.path, "rb") as file:
            file.seek(self._header + first * self._frame_bytes)
            raw = file.read(n * self._frame_bytes)
        frames = np.frombuffer(raw, self.dtype).reshape(-1, *self.detector_shape)
        return frames if self.dtype.isnative else frames.astype(self.dtype.newbyteorder("="))


def pair(value: Any) -> tuple[int, int] | None:
    """ "50,60", [50, 60] or 50 as two numbers; None where nothing is given."""
    if value is None or value == "":
        return None
    parts = value if isinstance(value, (list, tuple)) else str(value).replace("x", ",").split(",")
    try:
        numbers = [int(part) for part in parts]
    except ValueError as problem:
        raise ValueError(f'"{value}" is no pair of numbers; write rows,cols.') from problem
    return numbers[0], numbers[-1]
