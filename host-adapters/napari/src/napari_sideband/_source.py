"""What a layer is to the library: a file it reads itself, or an array whose frames are handed over. No Qt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._catalog import commands
from ._layers import about, base_name
from ._units import factor, measures

_DTYPES = ("uint8", "uint16", "uint32", "int16", "int32", "float32", "float64")


class LayerError(ValueError):
    """The layer cannot be an acquisition; the sentence says why and what to do."""


@dataclass
class Source:
    """Where frames come from. `known` are values of rows that the library cannot see: the layer's own."""

    name: str
    path: str | None = None
    opening: dict[str, Any] = field(default_factory=dict)
    known: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)  # what the file says of itself
    array: Any = None
    origin: str | None = None  # the file that napari read the array from

    def key(self, opening: dict[str, Any]) -> tuple[Any, ...]:
        """Equal for what need not be opened again."""
        given = tuple(sorted((name, str(value)) for name, value in {**self.opening, **opening}.items()))
        return (self.path, id(self.array) if self.path is None else 0, given)

    def parameters(self, command: str, given: dict[str, Any]) -> dict[str, Any]:
        """What is given, and what only the layer knows."""
        target = commands()[command]
        known = {name: value for name, value in self.known.items() if target.row(name) is not None}
        return {**known, **given}


def _axis_value(layer: Any, axes: tuple[int, int], unit: str) -> list[float] | None:
    """Scale of two axes in `unit`; None where their units do not measure that."""
    if not all(measures(layer.units[axis], unit) for axis in axes):
        return None
    return [abs(float(layer.scale[axis])) * (factor(layer.units[axis], unit) or 1.0) for axis in axes]


def known_of_array(layer: Any) -> dict[str, Any]:
    """Optics that an array's layer carries: metadata["napari-sideband"]["known"], and its scale where it has units."""
    known = {name: value for name, value in (about(layer).get("known") or {}).items() if value is not None}
    if layer.ndim != 4:
        return known
    units = {row.name: row.unit for row in commands()["calibrate"].rows()}
    step = _axis_value(layer, (0, 1), "angstrom") if "step" in units else None
    if step is not None:
        known.setdefault("step", ",".join(repr(float(f"{s:.12g}")) for s in step))
    sampling = _axis_value(layer, (2, 3), "mrad") if "sampling" in units else None
    if sampling is not None and sampling[0] == sampling[1] and "semiangle" not in known:
        known.setdefault("sampling", float(f"{sampling[0]:.12g}"))
    return known


def _check_array(layer: Any, scan_shape: Any) -> None:
    kind = type(layer).__name__.lower()
    if kind != "image":
        raise LayerError(f'"{layer.name}" is a layer of {kind}; choose the image layer of an acquisition.')
    if getattr(layer, "rgb", False):
        raise LayerError(f'"{layer.name}" is a colour picture; choose the image layer of an acquisition.')
    if getattr(layer, "multiscale", False):
        raise LayerError(f'"{layer.name}" is a multiscale image; choose a layer that holds frames of a detector.')
    if layer.ndim not in (3, 4):
        raise LayerError(f'"{layer.name}" has {layer.ndim} axes; an acquisition has scan rows and columns, detector '
                         "rows and columns, or is a stack of frames.")
    if layer.ndim == 3 and scan_shape is None:
        raise LayerError(f'"{layer.name}" is a stack of {layer.data.shape[0]} frames; give the scan shape (rows,cols).')
    dtype = np.dtype(layer.data.dtype).newbyteorder("=").name
    if dtype not in _DTYPES:
        raise LayerError(f'"{layer.name}" holds numbers of type {dtype}; convert them to one of {", ".join(_DTYPES)}.')


def source_of(layer: Any, opening: dict[str, Any] | None = None) -> Source:
    """The source behind a layer. Raises LayerError with one sentence where it cannot be one."""
    if layer is None:
        raise LayerError("No layer is chosen; open an acquisition and choose its layer.")
    ours = about(layer)
    if "array" in ours:
        raise LayerError(f'"{layer.name}" is a result of Sideband; choose the layer of an acquisition.')
    name = base_name(layer.name)
    if ours.get("path"):
        return Source(name, ours["path"], dict(ours.get("opening") or {}), dict(ours.get("known") or {}),
                      dict(ours.get("acquisition") or {}))
    _check_array(layer, (opening or {}).get("scan_shape"))
    origin = getattr(getattr(layer, "source", None), "path", None)
    return Source(name, known=known_of_array(layer), array=layer.data, origin=origin)
