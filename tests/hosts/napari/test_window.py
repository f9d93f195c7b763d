"""What only a real window or a process of its own can show: pixels, menus, the end of the program, memory."""
import os
import subprocess
import sys

import numpy as np
import pytest

ENVIRONMENT = {**os.environ, "PYTHONWARNINGS": "ignore"}


def test_manifest_is_valid():
    done = subprocess.run([sys.executable, "-m", "npe2", "validate", "napari-sideband"], capture_output=True, text=True,
                          env=ENVIRONMENT)
    assert done.returncode == 0 and "valid" in done.stdout, done.stdout + done.stderr


def test_manifest_is_of_this_catalog():
    """Commands, patterns and settings are those of the library that is loaded."""
    import npe2
    import sideband

    manifest = npe2.PluginManifest.from_distribution("napari-sideband")
    catalog = sideband.catalog()
    titles = {widget.display_name for widget in manifest.contributions.widgets}
    assert {command["title"] for command in catalog["commands"]} <= titles
    patterns = manifest.contributions.readers[0].filename_patterns
    assert "*.h5" in patterns and "*.npy" not in patterns and "*" not in patterns
    settings = manifest.contributions.configurations["engine"].properties
    rows = [row["name"] for group in catalog["session"] for row in group["rows"] if group["name"] == "engine"]
    assert list(settings) == rows


def test_every_widget_opens(viewer, add):
    import npe2

    manifest = npe2.PluginManifest.from_distribution("napari-sideband")
    for widget in manifest.contributions.widgets:
        assert add(viewer, widget.display_name) is not None


def test_menus_have_readable_titles(viewer):
    menu = next(action.menu() for action in viewer.window.layers_menu.actions()
                if action.text().replace("&", "") == "Transform")
    menu.aboutToShow.emit()
    ours = next(action.menu() for action in menu.actions() if action.text() == "Sideband")
    texts = [action.text() for action in ours.actions()]
    assert any("Fit aberrations" in text for text in texts) and any("Reconstruct" in text for text in texts)


def test_screenshot_has_pixels(make_napari_viewer, add, finish, qtbot):
    viewer = make_napari_viewer(show=True)
    viewer.open_sample("napari-sideband", "columns")
    qtbot.wait(100)
    pattern = viewer.screenshot(canvas_only=True, flash=False)[..., :3].astype(float)
    image = add(viewer, "Reconstruct")
    image.run()
    finish(image)
    qtbot.wait(100)
    phase = viewer.screenshot(canvas_only=True, flash=False)[..., :3].astype(float)
    for pixels in (pattern, phase):
        assert pixels.mean() > 5 and pixels.std() > 5
    # the scale bar: a white line in the lowest part of the canvas
    low = phase[int(0.85 * len(phase)):]
    assert (low.min(axis=-1) > 240).sum(axis=1).max() > 20
    window = viewer.screenshot(canvas_only=False, flash=False)[..., :3]
    assert window.std() > 5


END = """
import sys, time
import napari
from qtpy.QtCore import QTimer
from napari_sideband.widgets import Fit
viewer = napari.Viewer(show=True)
viewer.open_sample("napari-sideband", "columns")
fit = viewer.window.add_plugin_dock_widget("napari-sideband", "Fit aberrations")[1]
fit.model.set("fit", "trials", 500000)
fit.run()
if sys.argv[1] == "loop":
    QTimer.singleShot(300, viewer.window._qt_window.close)
    napari.run()
else:
    viewer.close()
print("end")
"""


@pytest.mark.parametrize("way", ["loop", "close"])
def test_program_ends_while_a_fit_runs(way):
    done = subprocess.run([sys.executable, "-c", END, way], capture_output=True, text=True, timeout=120, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert "end" in done.stdout
    assert "deleted" not in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_memory_is_flat(opened, add, finish, capsys):
    import gc

    import psutil

    image = add(opened, "Reconstruct")
    # everything given: fifty runs of what costs a moment each
    for name, value in {"upsampling": 1, "centre": "17.5,17.5", "rotation": 0.0, "sampling": 2.0, "orientation": "identity",
                        "quality": False, "half_images": False}.items():
        image.model.set("reconstruct", name, value)
    used = {}
    for run in range(1, 51):
        image.run()
        finish(image)
        opened.layers.remove(opened.layers[-1])
        if run in (10, 50):
            gc.collect()
            used[run] = psutil.Process().memory_info().rss
    with capsys.disabled():
        print(f"\n# memory after 10 runs {used[10] / 2**20:.1f} MiB, after 50 runs {used[50] / 2**20:.1f} MiB")
    assert used[50] <= 1.02 * used[10]
