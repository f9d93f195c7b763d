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
    text = "".join(letter for letter in str(units or "") if letter not in " []()\t")
    if text in _PLAIN:
        return "", 0.0
    lengths = {**_LENGTH, **{name.lower(): factor for name, factor in _LENGTH.items() if len(name) > 2}}
    if text in lengths or text.lower() in lengths:
        return "length", lengths.get(text) or lengths[text.lower()]
    if text in _ANGLE:
        return "angle", _ANGLE[text]
    base = next((text[len(head):] for head in ("1/",) if text.startswith(head)), None)
    base = base or next((text[:-len(tail)] for tail in ("^-1", "-1", "⁻¹", "$^{-1}$") if text.endswith(tail)), "")
    if base in _LENGTH:
        return "reciprocal", 1 / _LENGTH[base]
    raise ArgumentError(f'The unit "{units}" of an axis is not known; give step (Å) and sampling (mrad/pixel) as keywords.')


def wavelength(energy: float) -> float:
    """Relativistic electron wavelength in Å of an energy in kV; Kirkland, Advanced Computing in Electron Microscopy, 2.5.
    Constants: CODATA 2018, as in the library."""
    h, m, e, c = 6.62607015e-34, 9.1093837015e-31, 1.602176634e-19, 299792458.0
    volt = energy * 1e3
    return h / math.sqrt(2 * m * e * volt * (1 + e * volt / (2 * m * c * c))) * 1e10


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


def sampling_of(scales: tuple[float, float], units: tuple[Any, Any], energy: float | None) -> float | None:
    """Detector sampling in mrad/pixel; None where it is not calibrated, or in 1/Å and the energy is not known.

    theta = lambda k for the small angles of a bright field. ArgumentError for pixels that are not square (1 %).
    """
    found = []
    for scale, unit in zip(scales, units):
        kind, factor = _known(unit)
        if kind == "length":
            raise ArgumentError(f'The detector axes are in "{unit}", a length; order the array as [scan rows, scan columns, '
                                "detector rows, detector columns].")
        if not kind or not scale or (kind == "reciprocal" and energy is None):
            return None
        found.append(abs(float(scale)) * factor * (1e3 * wavelength(energy) if kind == "reciprocal" else 1.0))
    if abs(found[0] - found[1]) > 0.01 * max(found):
        raise ArgumentError(f"The detector pixels are not square ({found[0]:.6g} by {found[1]:.6g} mrad); resample the "
                            "frames, or give sampling (mrad/pixel).")
    return math.sqrt(found[0] * found[1])
