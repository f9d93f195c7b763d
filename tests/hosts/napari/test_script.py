"""What "Copy as Python" wrote runs without napari and gives the same bits; so does the example."""
import os
import subprocess
import sys

import numpy as np
import pytest
import sideband
from napari_sideband._layers import KEY
from qtpy.QtWidgets import QApplication


def execute(text):
    """Runs a script in this process, as a user would in a shell; returns its names."""
    names = {"__name__": "__main__"}
    exec(compile(text, "copied.py", "exec"), names)
    return names


def test_script_of_a_fit_gives_the_same_values(opened, add, finish, capsys):
    fit = add(opened, "Fit aberrations")
    fit.model.set("fit", "lock", "C30")
    fit.model.set("fit", "scan_region", "0,0,32,36")
    fit.run()
    finish(fit)
    fit.copy_script()
    text = QApplication.clipboard().text()
    assert "napari" not in text.split('"""')[2] and "lock='C30'" in text
    result = execute(text)["result"]
    assert result.info["values"] == fit.outcome.info["values"]
    assert "C10" in capsys.readouterr().out


def test_script_of_a_reconstruction_gives_the_same_image(opened, add, finish):
    fit, image = add(opened, "Fit aberrations"), add(opened, "Reconstruct")
    for widget in (fit, image):
        widget.run()
        finish(widget)
    result = execute(image.script_text())["result"]
    assert np.array_equal(result.arrays["phase"], opened.layers[-1].data[:, :, 0, 0])


def test_script_of_an_array(viewer, add, finish, sample, tmp_path):
    frames = np.asarray(sideband.Acquisition(sample).read(0, 36 * 36)).reshape(36, 36, 36, 36)
    np.save(tmp_path / "frames.npy", frames)
    viewer.open(str(tmp_path / "frames.npy"), plugin="napari")
    viewer.layers[0].metadata[KEY] = {"known": {"semiangle": 30, "energy": 300, "step": 0.4}}
    image = add(viewer, "Reconstruct")
    image.model.set("reconstruct", "from", None)
    image.model.set("reconstruct", "coefficients", "C10=6")
    image.run()
    finish(image)
    result = execute(image.script_text())["result"]
    assert np.array_equal(result.arrays["phase"], image.outcome.arrays["phase"])


def test_script_needs_a_layer(viewer, add, errors):
    add(viewer, "Reconstruct").copy_script()
    assert len(errors) == 1 and "No layer" in errors[0]


def test_engine_and_keywords_are_in_the_script(monkeypatch):
    from napari_sideband import _script

    monkeypatch.setattr(_script, "engine", lambda: {"threads": 2})
    text = _script.script("reconstruct", _script.Source("film", "/data/film.h5"), {}, {"from": "fit.h5"})
    assert "sideband.Session(threads=2)" in text and "from_='fit.h5'" in text


@pytest.mark.parametrize("arguments", [[], ["--no-window"]])
def test_example_runs(arguments, tmp_path):
    path = os.path.join(os.environ["SB_EXAMPLES"], "python", "napari_script.py")
    done = subprocess.run([sys.executable, "-W", "ignore", path, *arguments, "--picture", str(tmp_path / "phase.png")],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "C10" in done.stdout
    assert (tmp_path / "phase.png").exists() == (not arguments)
