"""What the tests of the package sideband share; every one is called with CLI EXAMPLES."""
import json
import os
import subprocess
import sys
import tempfile
import weakref

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np

import sideband

CLI, EXAMPLES = sys.argv[1:3]
FILM = os.path.join(EXAMPLES, "acquisitions", "film_master.h5")
KNOWN = {"semiangle": 30, "rotation": 0.5, "orientation": "identity", "coefficients": {"C10": 5.5, "C12": 2.5, "phi12": 0.4}}
LINE = ["--semiangle", "30", "--rotation", "0.5", "--orientation", "identity", "--coefficients", "C10=5.5 C12=2.5 phi12=0.4"]
OPTICS = {"energy": 300, "step": 0.4}
_made = {}


def session():
    if "session" not in _made:
        _made["session"] = sideband.Session(backend="cpu", threads=2)
    return _made["session"]


def film():
    """[50, 50, 72, 72] uint16"""
    if "film" not in _made:
        file = sideband.Acquisition(FILM, session=session())
        _made["film"] = file.read(0, 2500).reshape(50, 50, 72, 72)
    return _made["film"]


def theirs(command, *options):
    """What the command line makes of the file: JSON and the result's file, opened."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([CLI, command, FILM, *options, "--backend", "cpu", "--output", folder + os.sep, "--json"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        info = json.loads(done.stdout)
        return info, sideband.open_result(next(path for path in info["files"] if path.endswith("_result.h5")))


def reconstructed():
    if "theirs" not in _made:
        _made["theirs"] = theirs("reconstruct", *LINE)
    return _made["theirs"]


def same(result, info, saved):
    """Every array and number but times and what only files have."""
    assert set(result.arrays) == set(saved.arrays) and len(saved.arrays) > 3
    for name in saved.arrays:
        assert np.array_equal(result.arrays[name], saved.arrays[name], equal_nan=True), name
    for key in ("values", "coordinates", "calibration", "agreement", "quality"):
        assert result.info.get(key) == info.get(key), key


def raises(kind, words, function, *arguments, **keywords):
    """The sentence of an exception that must come."""
    try:
        function(*arguments, **keywords)
    except kind as problem:
        text = str(problem)
        assert all(word in text for word in words), text
        assert text.endswith(".") and "\n" not in text, text
        return text
    raise AssertionError("no " + kind.__name__)


def tiny(scan=(8, 8), detector=(24, 24), dtype=np.uint16, seed=1):
    """A disk with noise; nothing to be seen in it."""
    rows, cols = np.indices(detector)
    disk = np.hypot(rows - (detector[0] - 1) / 2, cols - (detector[1] - 1) / 2) < detector[0] / 3
    return np.random.default_rng(seed).poisson(20 * disk, scan + detector).astype(dtype)


class Lazy:
    """An array as zarr has them, which counts what is alive of the blocks it gave."""

    def __init__(self, array, chunks):
        self.array, self.shape, self.dtype, self.chunks = array, array.shape, array.dtype, chunks
        self.asked, self.alive, self.most = [], 0, 0

    def __getitem__(self, index):
        block = np.array(self.array[index])
        self.asked.append(index)
        self.alive += 1
        self.most = max(self.most, self.alive)
        weakref.finalize(block, self._gone)
        return block

    def _gone(self):
        self.alive -= 1
