"""Lengths and angles of layers in the units that the catalog's rows ask for. No Qt."""

from __future__ import annotations

from typing import Any

import pint

PIXEL = "pixel"
SCAN_UNIT, DETECTOR_UNIT = "nm", "mrad"
SCAN_AXES, DETECTOR_AXES = ("scan_row", "scan_col"), ("det_row", "det_col")


def factor(unit: Any, wanted: str) -> float | None:
    """What a number in `unit` is multiplied by to be in `wanted`; None: they measure different things."""
    registry = pint.get_application_registry()
    try:
        return float(registry.Quantity(1.0, str(unit)).to(wanted).magnitude)
    except (pint.DimensionalityError, pint.UndefinedUnitError, pint.DefinitionSyntaxError):
        return None


def measures(unit: Any, wanted: str) -> bool:
    """Whether `unit` can stand where `wanted` does. A pixel measures nothing; plain numbers are no angles."""
    return str(unit) not in (PIXEL, "dimensionless", "") and factor(unit, wanted) is not None
