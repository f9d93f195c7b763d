"""The package sideband against the command line, on every kind of array: test_package.py CLI EXAMPLES"""
import os
import sys
import tempfile
import threading

import numpy as np
from common import FILM, KNOWN, OPTICS, Lazy, film, raises, reconstructed, same, session, theirs, tiny
import tap

import sideband

# ---- equal to the command line ----

def test_a_file_is_reconstructed_as_by_the_command_line():
    same(sideband.reconstruct(FILM, session=session(), **KNOWN), *reconstructed())


def test_pushed_frames_give_the_same_bits():
    same(sideband.reconstruct(film(), session=session(), **OPTICS, **KNOWN), *reconstructed())


def test_frames_pushed_one_by_one_out_of_order_and_by_threads_give_the_same_bits():
    acquisition = sideband.Acquisition(session=session(), scan_shape=(50, 50), detector_shape=(72, 72), dtype="uint16",
                                       semiangle=30, **OPTICS)
    frames = film().reshape(-1, 72, 72)
    acquisition.push(frames[:100])
    acquisition.push(frames[100])
    acquisition.push(frames[2000:], 2000)
    workers = [threading.Thread(target=acquisition.push, args=(frames[a:a + 633], a)) for a in (101, 734, 1367)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert acquisition.pushed == 2500 and not acquisition.finished
    acquisition.finish()
    same(acquisition.reconstruct(**KNOWN), *reconstructed())


def test_a_fit_equals_the_command_lines():
    info, saved = theirs("run", "--semiangle", "30", "--threads", "1")
    result = sideband.run(FILM, session=session(), semiangle=30)
    same(result, info, saved)
    assert abs(result.values["C10"] - 5.5) < 0.2 and result.units["C10"] == "nm"  # the specimen's truth
    assert result.uncertainties["C10"] == max(result.info["values"]["C10"][key] for key in ("error", "spread"))
    again = sideband.run(film(), session=session(), semiangle=30, **OPTICS)
    same(again, info, saved)


def test_a_result_hands_its_values_on():
    first = sideband.reconstruct(FILM, session=session(), **KNOWN)
    second = sideband.Acquisition(FILM, session=session()).reconstruct(semiangle=30, from_=first)
    assert np.array_equal(first.arrays["phase"], second.arrays["phase"])
    third = sideband.reconstruct(FILM, session=session(), semiangle=30, **{"from": first})
    assert np.array_equal(first.arrays["phase"], third.arrays["phase"])


# ---- kinds of arrays ----

def mean_of(acquisition):
    return acquisition.preview("mean_pattern")


def test_chunks_are_read_once_in_order_and_two_at_a_time():
    from sideband import _arrays

    cube = tiny((20, 12))
    lazy = Lazy(cube, (4, 5, 24, 24))
    before, _arrays.BLOCK = _arrays.BLOCK, 4 * 5 * 24 * 24 * 2
    try:
        acquisition = sideband.Acquisition(lazy, session=session(), semiangle=20, **OPTICS)
    finally:
        _arrays.BLOCK = before
    assert len(lazy.asked) == 5 * 3, lazy.asked
    starts = [(rows.start, cols.start) for rows, cols in lazy.asked]
    assert starts == sorted(starts) and all(row % 4 == 0 and col % 5 == 0 for row, col in starts)
    assert lazy.most <= 2, lazy.most
    assert np.allclose(mean_of(acquisition), cube.mean((0, 1)), rtol=1e-6)


def test_dask_h5py_big_endian_and_strided_arrays():
    import dask.array
    import h5py

    cube = tiny((9, 7))
    wanted = cube.mean((0, 1))
    with tempfile.TemporaryDirectory() as folder:
        with h5py.File(os.path.join(folder, "a.h5"), "w") as file:
            file.create_dataset("chunked", data=cube, chunks=(2, 3, 24, 12), compression="gzip")
            file.create_dataset("plain", data=cube.reshape(63, 24, 24))
            for array, rows in ((dask.array.from_array(cube, chunks=(4, 3, 12, 24)), {}), (file["chunked"], {}),
                                (file["plain"], {"scan_shape": (9, 7)}), (cube.astype(">u2"), {}),
                                (np.asfortranarray(cube), {}), (cube.astype(np.float64), {}), (cube.astype(np.int32), {}),
                                (cube.astype(np.uint8), {})):
                found = sideband.Acquisition(array, session=session(), semiangle=20, **OPTICS, **rows)
                assert found.scan_shape == (9, 7), found
                assert np.allclose(mean_of(found), wanted, rtol=1e-6), array


class Calibration:
    """As py4DSTEM's: getters that raise where nothing was set."""

    def __init__(self, **known):
        self._known = known

    def __getattr__(self, name):
        if not name.startswith("get_"):
            raise AttributeError(name)
        return lambda: self._known[name[4:]]


def test_py4dstem_datacubes():
    class DataCube:
        data = tiny()
        calibration = Calibration(R_pixel_size=0.05, R_pixel_units="nm", Q_pixel_size=0.04, Q_pixel_units="A^-1")

    about = sideband.from_py4dstem(DataCube(), session=session(), energy=300).info["acquisition"]
    assert np.allclose(about["step"], [0.5, 0.5])
    assert abs(about["sampling"] - 0.04 * 1e3 * 0.0196875) < 1e-4, about  # 1.96875 pm at 300 kV: Williams and Carter, table 1.2
    DataCube.calibration = Calibration(R_pixel_size=1, R_pixel_units="pixels", Q_pixel_size=1.5, Q_pixel_units="mrad",
                                       convergence_semiangle_mrad=21.4)
    about = sideband.from_py4dstem(DataCube(), session=session(), step=(0.4, 0.5)).info["acquisition"]
    assert about["step"] == [0.4, 0.5] and about["sampling"] == 1.5 and about["semiangle"] == 21.4
    DataCube.calibration = Calibration(R_pixel_size=0.1, R_pixel_units="furlong")
    raises(sideband.ArgumentError, ["furlong", "step"], sideband.from_py4dstem, DataCube())


def hyperspy_like():
    axes = [{"name": name, "scale": scale, "units": units, "navigate": navigate, "size": size}
            for name, scale, units, navigate, size in (("y", 0.04, "nm", True, 8), ("x", 0.05, "nm", True, 8),
                                                       ("ky", 0.9, "mrad", False, 24), ("kx", 0.9, "mrad", False, 24))]
    return {"data": tiny(), "axes": axes,
            "metadata": {"Acquisition_instrument": {"TEM": {"beam_energy": 200.0, "convergence_angle": 10.0}}}}


def test_rosettasciio_dictionaries_and_signals():
    tree = hyperspy_like()

    class Tree:
        def __init__(self, inner):
            self.inner = inner

        def as_dictionary(self):
            return self.inner

    class Signal:
        data = tree["data"]
        axes_manager = Tree({"axis-%d" % i: axis for i, axis in enumerate(tree["axes"])})
        metadata = Tree(tree["metadata"])

    for given in (tree, [tree], Signal()):
        about = sideband.from_hyperspy(given, session=session()).info["acquisition"]
        assert (about["energy"], about["semiangle"], about["sampling"]) == (200.0, 10.0, 0.9), about
        assert np.allclose(about["step"], [0.4, 0.5])
    for unit in ("k_A^-1", "$A^{-1}$", "1 / A"):  # pyxem's, HyperSpy's
        reciprocal = dict(tree, axes=tree["axes"][:2] + [dict(axis, scale=0.04, units=unit) for axis in tree["axes"][2:]])
        about = sideband.from_hyperspy(reciprocal, session=session()).info["acquisition"]
        assert abs(about["sampling"] - 0.04e3 * 0.02508) < 1e-3, about  # 2.508 pm at 200 kV: Williams and Carter, table 1.2
    turned = dict(tree, axes=tree["axes"][2:] + tree["axes"][:2])
    raises(sideband.ArgumentError, ["transpose"], sideband.from_hyperspy, turned)
    raises(sideband.ArgumentError, ["2 signals"], sideband.from_hyperspy, [tree, tree])


def test_libertem_datasets_partition_by_partition():
    cube = tiny().reshape(-1, 24, 24)

    class Slice:
        def __init__(self, first):
            self.origin = (first, 0, 0)

    class Tile:
        def __init__(self, data):
            self.data = data

    class Partition:
        def __init__(self, first, n):
            self.slice, self.shape = Slice(first), (n, 24, 24)

        def get_macrotile(self, dest_dtype="float32"):
            return Tile(cube[self.slice.origin[0]:self.slice.origin[0] + self.shape[0]].astype(dest_dtype))

    class DataSet:
        shape, dtype = (8, 8, 24, 24), np.dtype("uint16")

        def get_partitions(self):
            return [Partition(0, 33), Partition(33, 31)]

    found = sideband.from_libertem(DataSet(), session=session(), semiangle=20, **OPTICS)
    assert np.allclose(mean_of(found), cube.mean(0), rtol=1e-6)
    assert sideband.from_libertem(tiny(), session=session(), semiangle=20, **OPTICS).scan_shape == (8, 8)


# ---- results ----

def test_arrays_are_read_only_views_that_outlive_everything():
    result = sideband.reconstruct(FILM, session=session(), **KNOWN)
    phase, copy = result.arrays["phase"], result.arrays["phase"].copy()
    assert not phase.flags.writeable and not phase.flags.owndata and phase.dtype == np.float32
    assert phase is not result.arrays["phase"] and phase.ctypes.data == result.arrays["phase"].ctypes.data
    raises_value = False
    try:
        phase[0, 0] = 1
    except ValueError:
        raises_value = True
    assert raises_value
    del result
    for _ in range(3):
        sideband.reconstruct(FILM, session=session(), **KNOWN)
    assert np.array_equal(phase, copy)


def test_results_are_saved_and_opened():
    result = sideband.reconstruct(FILM, session=session(), **KNOWN)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ä_result.h5")
        result.save(path)
        again = sideband.open_result(path)
        assert np.array_equal(again.arrays["phase"], result.arrays["phase"]) and again.values == result.values
        result.save(os.path.join(folder, "a.png"), "png")
        assert open(os.path.join(folder, "a.png"), "rb").read(4) == b"\x89PNG"
        raises(sideband.ArgumentError, ["gif"], result.save, os.path.join(folder, "a.gif"), "gif")
        raises(sideband.FileError, ["nowhere"], result.save, os.path.join(folder, "nowhere", "a.h5"))
        raises(sideband.FileError, ["none.h5"], sideband.open_result, os.path.join(folder, "none.h5"))
    raises(sideband.ArgumentError, ["phase", "faze"], result.array, "faze")


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
