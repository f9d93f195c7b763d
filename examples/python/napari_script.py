"""Fits an acquisition, reconstructs it and shows both in napari: napari_script.py [FILE] [--semiangle MRAD]

The work is the package sideband's; napari only shows it, so the same lines run without a window (--no-window).
"""
import argparse
import tempfile
from pathlib import Path

import sideband

EXAMPLE = Path(__file__).resolve().parent.parent / "acquisitions" / "columns_master.h5"


def show(path, result, picture):
    """The acquisition and the phase as calibrated layers; with a picture, a screenshot instead of a window that stays."""
    import napari

    viewer = napari.Viewer(show=True)
    with tempfile.TemporaryDirectory() as folder:
        saved = str(Path(folder) / f"{path.stem}_result.h5")
        result.save(saved)
        acquisition = viewer.open(str(path), plugin="napari-sideband")[0]
        viewer.open(saved, plugin="napari-sideband")
    # scan rows and columns are drawn; an acquisition would be read as a whole for one detector pixel, so it is hidden first
    acquisition.visible = False
    viewer.dims.order = (2, 3, 0, 1)
    viewer.reset_view()
    if picture:
        viewer.screenshot(picture, flash=False)
        viewer.close()
    else:
        napari.run()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=EXAMPLE)
    parser.add_argument("--semiangle", type=float, default=30.0, help="convergence semi-angle, mrad")
    parser.add_argument("--no-window", action="store_true")
    parser.add_argument("--picture", help="a PNG of the window's canvas, instead of a window that stays")
    options = parser.parse_args()
    result = sideband.run(options.file, semiangle=options.semiangle)
    for name in ("C10", "C12", "phi12", "depth"):
        print(f"{name:6} {result.values[name]:8.3f} ± {result.uncertainties[name]:.3f} {result.units[name]}")
    if not options.no_window:
        show(options.file, result, options.picture)


if __name__ == "__main__":
    main()
