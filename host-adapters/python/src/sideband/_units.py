"""Units of axes as other programs write them, in ours: Å of the scan, mrad of the detector."""

from __future__ import annotations

import math
from typing import Any

from ._errors import ArgumentError

_LENGTH = {"A": 1.0, "Å": 1.0, "Å": 1.0, "angstrom": 1.0, "nm": 10.0, "um": 1e4, "µm": 1e4, "μm": 1e4, "pm": 0.01, "mm": 1e7,
           "m": 1e10}
_ANGLE = {"mrad": 1.0, "rad": 1e3, "urad": 1e-3, "µrad": 1e-3, "μrad": 1e-3, "deg": 1e3 * math.pi / 180}
_PLAIN = {"", "pixel", "pixels", "px", "pix", "None", "<undefined>", "unknown", "a.u."}


def _known(units: Any) -> tuple[str, float]:
    """("length" | "angle" | "reciprocal" | "", factor to Å, mrad or 1/Å); "" where the axis is not calibrated."""
    text = "".join(letter for letter in str(units or "") if letter not in " []()${}\t").removeprefix("k_")  # pyxem's k_A^-1
    if text in _PLAIN:
        return "", 0.0
    lengths = {**_LENGTH, **{name.lower(): factor for name, factor in _LENGTH.items() if len(name) > 2}}
    if text in lengths or text.lower() in lengths:
        return "length", lengths.get(text) or lengths[text.lower()]
    if text in _ANGLE:
        return "angle", _ANGLE[text]
    base = next((text[len(head):] for head in ("1/",) if text.startswith(head)), None)
    base = base or next((text[:-len(tail)] for tail in ("^-1", "-1", "⁻¹") if text.endswith(tail)), "")
    if base in _LENGTH:
        return "reciprocal", 1 / _LENGTH[base]
    raise ArgumentError(f'The unit "{units}" of an axis is not known; give step (Å) and sampling (mrad/pixel) as keywords.')


def step_of(scales: tuple[float, float], units: tuple[Any, Any]) -> tuple[float, float] | None:
    """Scan step (row, col) in Å; None where it is not calibrated. ArgumentError where it is no length."""
    steps = []
    for scale, unit in zip(scales, units):
        kind, factor = _known(unit)
        if kind and kind != "length":
            raise ArgumentError(f'The scan axes are in "{unit}", which is no length; order the array as [scan rows, scan '
                                "columns, detector rows, detector columns].")
        if not kind or not scale:
            return None
        steps.append(abs(float(scale)) * factor)
    return steps[0], steps[1]


def detector_of(scales: tuple[float, float], units: tuple[Any, Any]) -> dict[str, float]:
    """The row of the detector's step: sampling (mrad/pixel) or reciprocal (1/Å a pixel); empty where it is not calibrated.

    ArgumentError for pixels that are not square (1 %), and for axes of another kind.
    """
    found, kinds = [], set()
    for scale, unit in zip(scales, units):
        kind, factor = _known(unit)
        if kind == "length":
            raise ArgumentError(f'The detector axes are in "{unit}", a length; order the array as [scan rows, scan columns, '
                                "detector rows, detector columns].")
        if not kind or not scale:
            return {}
        kinds.add(kind)
        found.append(abs(float(scale)) * factor)
    if len(kinds) > 1:
        raise ArgumentError(f'The detector axes are in "{units[0]}" and "{units[1]}"; give both in the same unit.')
    if abs(found[0] - found[1]) > 0.01 * max(found):
        raise ArgumentError(f"The detector pixels are not square ({found[0]:.6g} by {found[1]:.6g} "
                            f"{'1/Å' if kinds == {'reciprocal'} else 'mrad'}); resample the frames, or give sampling "
                            "(mrad/pixel).")
    return {"reciprocal" if kinds == {"reciprocal"} else "sampling": math.sqrt(found[0] * found[1])}
