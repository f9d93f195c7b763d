"""An acquisition as an array that napari may slice: frames are read when they are looked at, and never all. No Qt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

_BLOCK = 32 << 20  # bytes read at once where few pixels of many frames are wanted


class Frames:
    """[scan_row, scan_col, det_row, det_col] over `read(first, n) -> array [n, det_row, det_col]`.

    first_frame and row_stride say where scan rows begin in the file: flyback columns lie between them.
    """

    ndim = 4

    def __init__(self, read: Callable[[int, int], np.ndarray], shape: tuple[int, int, int, int], dtype: Any,
                 first_frame: int = 0, row_stride: int | None = None) -> None:
        self.shape = tuple(int(n) for n in shape)
        self.dtype = np.dtype(dtype)
        self._read = read
        self._first = first_frame
        self._stride = row_stride or self.shape[1]
        self._lock = threading.Lock()
        self.frames_read = 0

    @property
    def size(self) -> int:
        """Numbers in all."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes it would take to hold them."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def _take(self, first: int, n: int) -> np.ndarray:
        with self._lock:
            self.frames_read += n
            return self._read(first, n)

    def _runs(self, cols: np.ndarray) -> list[tuple[int, int]]:
        """Neighbouring columns as (first, count), so that each run is one read."""
        if len(cols) == 0:
            return []
        breaks = np.flatnonzero(np.diff(cols) != 1) + 1
        return [(int(run[0]), len(run)) for run in np.split(cols, breaks)]

    def __getitem__(self, key: Any) -> np.ndarray:
        """Integers and slices, as NumPy reads them."""
        key = key if isinstance(key, tuple) else (key,)
        if Ellipsis in key:
            at = key.index(Ellipsis)
            key = key[:at] + (slice(None),) * (self.ndim + 1 - len(key)) + key[at + 1:]
        key = key + (slice(None),) * (self.ndim - len(key))
        if len(key) != self.ndim or any(not isinstance(k, (int, np.integer, slice)) for k in key):
            raise IndexError(f"Frames take at most {self.ndim} integers and slices as index.")
        rows, cols = (np.arange(n)[k] for k, n in zip(key[:2], self.shape[:2]))
        inner = (slice(None), *key[2:])
        out: np.ndarray | None = None
        flat_rows, flat_cols = np.atleast_1d(rows), np.atleast_1d(cols)
        most = max(1, _BLOCK // max(1, self.shape[2] * self.shape[3] * self.dtype.itemsize))
        for i, row in enumerate(flat_rows):
            place = 0
            for first, count in self._runs(flat_cols):
                for start in range(0, count, most):
                    n = min(most, count - start)
                    part = self._take(self._first + int(row) * self._stride + first + start, n)[inner]
                    if out is None:
                        out = np.empty((len(flat_rows), len(flat_cols), *part.shape[1:]), self.dtype)
                    out[i, place:place + n] = part
                    place += n
        if out is None:
            shape = np.empty((1, *self.shape[2:]), np.uint8)[inner].shape[1:]
            out = np.empty((len(flat_rows), len(flat_cols), *shape), self.dtype)
        if np.ndim(cols) == 0:
            out = out[:, 0]
        return out[0] if np.ndim(rows) == 0 else out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        whole = self[:]
        return whole if dtype is None else whole.astype(dtype, copy=False)
