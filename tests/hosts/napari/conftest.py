"""What the tests of the napari plugin share. Run by run_napari.py, which sets the environment."""
import os
import subprocess

import numpy as np
import pytest

PLUGIN = "napari-sideband"
WAIT = 60000  # milliseconds; a loaded machine is slow, nothing here waits that long


@pytest.fixture(scope="session")
def cli():
    """The command line, whose results are the measure."""
    return os.environ["SB_CLI"]


@pytest.fixture(scope="session")
def examples():
    return os.environ["SB_EXAMPLES"]


@pytest.fixture(scope="session")
def sample():
    """The sample's file."""
    from napari_sideband._sample import sample_path

    return str(sample_path())


@pytest.fixture
def run_cli(cli, tmp_path):
    """run_cli(command, file, options...) -> (JSON text, folder with the files)"""
    def run(command, path, *options):
        done = subprocess.run([cli, command, path, *options, "--output", str(tmp_path) + os.sep, "--json"],
                              capture_output=True, text=True, check=True)
        return done.stdout
    return run


@pytest.fixture
def viewer(make_napari_viewer):
    return make_napari_viewer()


@pytest.fixture
def opened(viewer):
    """A viewer with the sample in it."""
    viewer.open_sample(PLUGIN, "columns")
    return viewer


@pytest.fixture
def add(qtbot):
    """add(viewer, title): a widget of the plugin, as the menu opens it."""
    def make(viewer, title):
        return viewer.window.add_plugin_dock_widget(PLUGIN, title, tabify=True)[1]
    return make


@pytest.fixture
def finish(qtbot):
    """finish(widget): waits until what runs has ended, by its state (a signal may come before one waits for it)."""
    def wait(widget):
        qtbot.waitUntil(lambda: not widget.runner.running, timeout=WAIT)
        return widget
    return wait


@pytest.fixture(autouse=True)
def errors(monkeypatch):
    """What was told to the user in this test, in the order of telling."""
    told = []
    monkeypatch.setattr("napari_sideband._runner.show_error", told.append)
    return told


@pytest.fixture
def counts():
    """A small acquisition in memory, [6, 7, 10, 12], which nothing can be fitted to."""
    return np.random.default_rng(1).poisson(5, (6, 7, 10, 12)).astype(np.uint16)
