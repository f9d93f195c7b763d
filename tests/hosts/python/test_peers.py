"""Acquisitions of the real py4DSTEM, HyperSpy (rosettasciio) and LiberTEM: test_peers.py CLI EXAMPLES

What is not installed is skipped. The film of the examples goes through each program and must give the command line's bits.
"""
import importlib
import os
import sys
import tempfile

import numpy as np
from common import KNOWN, OPTICS, film, raises, reconstructed, same, session
import tap

import sideband


def peer(name):
    """The program's module; a test of one that is not installed is skipped."""
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        raise tap.Skip("%s cannot be imported (%s); pip install %s" % (name, problem, name.split(".")[0])) from None


def check(acquisition):
    """The same bits as the command line's, whatever the frames came through."""
    facts = acquisition.info["acquisition"]
    assert facts["scan_shape"] == [50, 50] and facts["detector_shape"] == [72, 72] and facts["dtype"] == "uint16", facts
    same(acquisition.reconstruct(**KNOWN), *reconstructed())


# ---- py4DSTEM ----

def datacube(data):
    cube = peer("py4DSTEM").DataCube(data)
    cube.calibration.set_R_pixel_size(0.04)
    cube.calibration.set_R_pixel_units("nm")
    return cube


def test_py4dstem_datacube_gives_the_same_bits():
    cube = datacube(film())
    cube.calibration.set_convergence_semiangle_mrad(30)
    check(sideband.from_py4dstem(cube, session=session(), energy=300))


def test_py4dstem_calibration_is_taken():
    cube = datacube(film())
    facts = sideband.from_py4dstem(cube, session=session(), energy=300).info["acquisition"]
    assert np.allclose(facts["step"], 0.4, rtol=1e-12) and facts["semiangle"] is None and facts["sampling"] is None, facts
    cube.calibration.set_Q_pixel_size(0.05)
    cube.calibration.set_Q_pixel_units("A^-1")
    facts = sideband.from_py4dstem(cube, session=session(), energy=300).info["acquisition"]
    assert abs(facts["sampling"] - 0.05e3 * 0.0196875) < 1e-4, facts  # 1.96875 pm at 300 kV


def test_py4dstem_file_is_taken_lazily():
    """A cube that was saved, read again as a memory map."""
    py4dstem = peer("py4DSTEM")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "film.h5")
        py4dstem.save(path, datacube(film()))
        cube = py4dstem.read(path)
        check(sideband.from_py4dstem(cube, session=session(), energy=300, semiangle=30))


# ---- HyperSpy ----

def signal():
    made = peer("hyperspy.api").signals.Signal2D(film())
    for axis, (name, scale, unit) in zip(made.axes_manager._axes, (("y", 0.04, "nm"), ("x", 0.04, "nm"), ("ky", 1, None),
                                                                  ("kx", 1, None))):
        axis.name, axis.scale = name, scale
        if unit is not None:
            axis.units = unit
    made.metadata.set_item("Acquisition_instrument.TEM.beam_energy", 300.0)
    made.metadata.set_item("Acquisition_instrument.TEM.convergence_angle", 30.0)
    return made


def test_hyperspy_signal_gives_the_same_bits():
    check(sideband.from_hyperspy(signal(), session=session()))


def test_hyperspy_lazy_signal_and_rosettasciio_dictionary_give_the_same_bits():
    api, reader = peer("hyperspy.api"), peer("rsciio.hspy")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "film.hspy")
        signal().save(path, chunks=(10, 25, 72, 72))
        check(sideband.from_hyperspy(api.load(path, lazy=True), session=session()))
        check(sideband.from_hyperspy(reader.file_reader(path), session=session()))
        check(sideband.from_hyperspy(reader.file_reader(path, lazy=True), session=session()))


def test_hyperspy_units_are_taken_and_turned_signals_refused():
    made = signal()
    for unit, scale, wanted in (("mrad", 0.8, 0.8), ("1/nm", 0.5, 0.05e3 * 0.0196875), ("$A^{-1}$", 0.05, 0.05e3 * 0.0196875),
                                ("k_A^-1", 0.05, 0.05e3 * 0.0196875)):
        for axis in made.axes_manager.signal_axes:
            axis.units, axis.scale = unit, scale
        facts = sideband.from_hyperspy(made, session=session()).info["acquisition"]
        assert abs(facts["sampling"] - wanted) < 1e-4, (unit, facts)
    raises(sideband.ArgumentError, ["transpose"], sideband.from_hyperspy, made.transpose(signal_axes=1), session=session())


# ---- LiberTEM ----

def test_libertem_datasets_give_the_same_bits():
    """In memory with partitions that no scan row ends at, and a raw file."""
    api = peer("libertem.api")
    with tempfile.TemporaryDirectory() as folder, api.Context.make_with("inline") as context:
        path = os.path.join(folder, "film.raw")
        film().tofile(path)
        for dataset in (context.load("memory", data=film(), num_partitions=7, sig_dims=2),
                        context.load("raw", path=path, nav_shape=(50, 50), sig_shape=(72, 72), dtype="uint16")):
            check(sideband.from_libertem(dataset, session=session(), semiangle=30, **OPTICS))


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
