"""A small simulated acquisition: always the same one, with aberrations that are known. No Qt."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ._engine import run_now
from ._layers import LayerData
from ._reader import acquisition_layer

# What is simulated; the names are those of the command "simulate".
SAMPLE = {
    "specimen": "columns", "thickness": 2, "slice": 1, "scan_shape": "36,36", "detector_shape": "36,36", "energy": 300,
    "semiangle": 30, "sampling": 2, "step": 0.4, "coefficients": "C10=6 C12=2 phi12=0.4", "random_seed": 42,
}
TRUTH = {"C10": 6.0, "C12": 2.0, "phi12": 0.4}  # nm, nm, rad
_folder: tempfile.TemporaryDirectory[str] | None = None


def sample_path() -> Path:
    """The master file, made on the first call and gone with the program."""
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="sideband-sample-")
    path = Path(_folder.name) / "columns_master.h5"
    if not path.exists():
        simulate(path.with_name("columns"))
    return path


def simulate(prefix: Path) -> None:
    """Writes the sample's files."""
    run_now("simulate", {**SAMPLE, "output": str(prefix)})


def columns() -> list[LayerData]:
    """napari's command: the sample as a layer that knows its optics."""
    known = {name: SAMPLE[name] for name in ("semiangle",)}
    return [acquisition_layer(str(sample_path()), {}, known, SAMPLE["sampling"])]
