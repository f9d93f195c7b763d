"""What a user sees and reads: menus, scale bar in both planes, progress, contrast, themes; and what installing brings."""
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from napari_sideband._layers import KEY

FIT, RECONSTRUCT = "Fit aberrations", "Reconstruct"


def test_installing_needs_no_compiler(tmp_path):
    """pip takes both packages where no compiler can be found; all that is compiled is the library itself."""
    for tool in ("cc", "gcc", "c++", "g++", "clang", "meson", "ninja", "cmake"):
        assert shutil.which(tool, path=str(tmp_path)) is None
    line = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index",
            "--no-build-isolation", "--no-compile", "--target", str(tmp_path / "there"),
            *os.environ["SB_PACKAGES"].split(os.pathsep)]
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    binaries = {path.relative_to(tmp_path / "there").parts[0] for path in (tmp_path / "there").rglob("*.so*")}
    assert binaries <= {"sideband"} and (tmp_path / "there" / "napari_sideband" / "napari.yaml").exists()


@pytest.mark.parametrize("package", ["sideband", "napari-sideband"])
def test_installing_brings_no_qt(package):
    """What is required without an extra: no Qt, and napari without one of its own."""
    required = [line for line in importlib.metadata.requires(package) if "extra ==" not in line]
    names = {re.match(r"[A-Za-z0-9_.-]+", line).group().lower() for line in required}
    assert required and not names & {"pyqt5", "pyqt6", "pyside2", "pyside6", "pyside6-essentials"}
    assert not any(line.startswith("napari[") for line in required)


def test_plugins_menu_has_every_command(viewer):
    import sideband

    viewer.window.plugins_menu.aboutToShow.emit()
    menus = [action.menu() for action in viewer.window.plugins_menu.actions() if "Sideband" in action.text()]
    texts = [action.text() for action in (menus[0].actions() if menus and menus[0] else viewer.window.plugins_menu.actions())]
    for command in sideband.catalog()["commands"]:
        assert any(command["title"] in text for text in texts), (command["title"], texts)


def test_scale_bar_has_the_unit_of_what_is_shown(make_napari_viewer, add, finish, qtbot):
    """nm over the image of the scan, mrad over the pattern, as long as it says."""
    viewer = make_napari_viewer(show=True)
    viewer.open_sample("napari-sideband", "columns")
    image = add(viewer, RECONSTRUCT)
    image.run()
    finish(image)
    for units in ({"nm": 1.0, "pm": 1e-3}, {"mrad": 1.0, "rad": 1e3}):
        qtbot.wait(200)
        canvas = viewer.window._qt_viewer.canvas
        bar = next(visual for overlay, visuals in canvas._viewer_overlay_to_visual.items()
                   if type(overlay).__name__ == "ScaleBarOverlay" for visual in visuals)
        number, said = re.fullmatch(r"([0-9.]+)\s*(\S+)", bar.node.text.text).groups()
        assert said in units, bar.node.text.text
        # what the text says is what the drawn line covers of the world
        ends = bar.node.line.pos[:2, 0]
        assert (ends[1] - ends[0]) / viewer.camera.zoom == pytest.approx(float(number) * units[said], rel=0.01)
        image.toggle_plane()


def test_progress_is_shown_in_the_widget_and_in_the_activity_dock(opened, add, finish, qtbot):
    from napari.utils.progress import progress

    fit = add(opened, FIT)
    fit.model.set("fit", "trials", 1000000)
    fit.run()
    bar = next(bar for bar in progress._all_instances if bar.desc.startswith(FIT))
    qtbot.waitUntil(lambda: bar.n > 0 and fit.runner.bar.value() > 0, timeout=60000)
    assert re.fullmatch(r"\S.* \d+ ?%", fit.runner.bar.text()), fit.runner.bar.text()
    assert re.match(FIT + r": \S", bar.desc)
    fit.cancel()
    finish(fit)


def test_contrast_is_of_the_image(opened, add, finish):
    image = add(opened, RECONSTRUCT)
    image.run()
    finish(image)
    layer = opened.layers[-1]
    low, high = layer.contrast_limits
    assert layer.data.min() <= low < high <= layer.data.max()
    # most of the image is neither black nor white
    assert np.mean((layer.data > low) & (layer.data < high)) > 0.9


def test_a_theme_is_taken(opened, add, qtbot):
    fit = add(opened, FIT)
    light = {}
    for theme in ("dark", "light"):
        opened.theme = theme
        qtbot.wait(50)
        picture = fit.grab().toImage()
        points = [picture.pixelColor(col, row).lightness() for row in range(5, picture.height() - 5, 7)
                  for col in range(5, picture.width() - 5, 7)]
        light[theme] = np.median(points)
    assert light["light"] > light["dark"] + 60, light


def test_too_little_memory_is_one_sentence(opened, add, finish, errors, monkeypatch):
    from napari_sideband import _settings

    monkeypatch.setattr(_settings, "engine", lambda: {"memory": 0.0001})
    image = add(opened, "Fit and reconstruct")
    image.run()
    finish(image)
    assert len(errors) == 1 and "GB" in errors[0] and errors[0].endswith("."), errors
    monkeypatch.setattr(_settings, "engine", lambda: {})
    image.run()
    finish(image)
    assert len(errors) == 1 and image.outcome is not None


def test_float64_is_taken(viewer, add, finish, errors, sample):
    """Frames of floating numbers that hold counts give the same values as the counts."""
    from napari_sideband._reader import acquisition_layer

    counts = np.asarray(acquisition_layer(sample)[0])
    known = {"semiangle": 30, "energy": 300, "step": 0.4}
    values = []
    for array in (counts, counts.astype(np.float64)):
        viewer.layers.clear()
        viewer.add_image(array, name="frames", contrast_limits=(0, 60), metadata={KEY: {"known": known}})
        fit = add(viewer, FIT) if not values else fit
        fit.run()
        finish(fit)
        values.append(fit.outcome.info["values"]["C10"]["value"])
    assert errors == [] and values[0] == pytest.approx(values[1], rel=1e-6)
