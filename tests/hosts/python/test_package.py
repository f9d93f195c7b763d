"""The package sideband against the command line and against what it promises: test_package.py CLI EXAMPLES"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np
import tap

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
        import weakref

        weakref.finalize(block, self._gone)
        return block

    def _gone(self):
        self.alive -= 1


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


# ---- keywords and errors ----

def test_keywords_and_help_come_from_the_catalog():
    import inspect

    for command in sideband.catalog()["commands"]:
        rows = {row["name"]: row for group in command["groups"] for row in group["rows"]}
        function = getattr(sideband, command["name"])
        parameters = inspect.signature(function).parameters
        for name, row in rows.items():
            name = "from_" if name == "from" else name
            assert parameters[name].default == row["default"], name
            assert row["help"] in function.__doc__ and row["title"] in function.__doc__, name
            assert f"{name} : " in function.__doc__
            assert not row["unit"] or row["unit"] in function.__doc__
    assert inspect.signature(sideband.Acquisition.run).parameters["semiangle"].default is None


def test_errors_are_sentences():
    acquisition = sideband.Acquisition(FILM, session=session())
    raises(sideband.ArgumentError, ["semiangel", '"semiangle"'], acquisition.run, semiangel=30)
    raises(sideband.ArgumentError, ["semiangel", '"semiangle"'], sideband.run, FILM, semiangel=30)
    raises(sideband.ArgumentError, ["semiangel", '"semiangle"'], sideband.run, film(), semiangel=30)
    raises(sideband.ArgumentError, ["threds", '"threads"'], sideband.Session, threds=2)
    raises(sideband.ArgumentError, ["rnu", '"run"'], sideband.Job, "rnu", acquisition)
    raises(sideband.ArgumentError, ["energy", "-3", "kV"], sideband.run, FILM, energy=-3)
    raises(sideband.ArgumentError, ["energy", "finite"], sideband.run, FILM, energy=float("nan"))
    raises(sideband.ArgumentError, ["energy", "object"], sideband.run, FILM, energy=object())
    raises(sideband.ArgumentError, ["C10", "number"], sideband.run, FILM, coefficients={"C10": "much"})
    raises(sideband.ArgumentError, ["semiangle"], sideband.run, FILM, session=session())
    raises(sideband.FileError, ["nowhere"], sideband.Acquisition, "/nowhere/at/all_master.h5")
    raises(sideband.ArgumentError, ["int64", "uint16"], sideband.Acquisition, np.zeros((4, 4, 8, 8), np.int64))
    raises(sideband.ArgumentError, ["complex64"], sideband.Acquisition, np.zeros((4, 4, 8, 8), np.complex64))
    raises(sideband.ArgumentError, ["scan_shape"], sideband.Acquisition, np.zeros((16, 8, 8), np.uint8))
    raises(sideband.ArgumentError, ["16", "9"], sideband.Acquisition, np.zeros((16, 8, 8), np.uint8), scan_shape=(3, 3))
    raises(sideband.ArgumentError, ["(8, 8)"], sideband.Acquisition, np.zeros((8, 8), np.uint8))
    raises(sideband.ArgumentError, ["masked"], sideband.Acquisition, np.ma.zeros((4, 4, 8, 8)))
    raises(sideband.ArgumentError, ["neither"], sideband.Acquisition, 7)
    raises(sideband.ArgumentError, ["detector_shape"], sideband.Acquisition, scan_shape=(4, 4), dtype="uint16")


def test_states_and_broken_arrays_are_sentences():
    live = sideband.Acquisition(session=session(), scan_shape=(4, 4), detector_shape=(8, 8), dtype="uint16", semiangle=20,
                                **OPTICS)
    raises(sideband.StateError, ["finish"], live.run)
    raises(sideband.ArgumentError, ["7"], live.push, np.zeros((1, 7, 8), np.uint16))
    raises(sideband.ArgumentError, ["float16"], live.push, np.zeros((1, 8, 8), np.float16))
    raises(sideband.StateError, ["file"], live.read, 0)
    raises(sideband.Error, ["sb_data_finish"] if False else [], live.finish)  # frames are missing
    job = sideband.Job("reconstruct", sideband.Acquisition(FILM, session=session()), **KNOWN)
    raises(sideband.StateError, [], job.poll)
    raises(sideband.StateError, ["reconstruct"], job.result)

    class Broken(Lazy):
        def __getitem__(self, index):
            raise RuntimeError("the disk went away.")

    text = raises(sideband.DataError, ["scan row 0", "disk went away"], sideband.Acquisition, Broken(tiny(), None),
                  session=session(), semiangle=20, **OPTICS)
    assert "RuntimeError" in text


def test_no_exception_is_a_runtimeerror():
    kinds = [kind for kind in vars(sideband).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) == 10 and all(issubclass(kind, sideband.Error) for kind in kinds)
    assert not any(issubclass(kind, RuntimeError) for kind in kinds)


# ---- progress and cancel ----

def test_progress_rises_to_one():
    told = []
    sideband.reconstruct(film(), session=session(), progress=lambda fraction, stage: told.append((fraction, stage)), **OPTICS,
                         **KNOWN)
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0, fractions
    assert told[0][1] == "read frames" and {stage for _, stage in told} > {"read frames", "done"}, told


def test_cancel_ends_within_half_a_second():
    acquisition = sideband.Acquisition(FILM, session=session())
    for pause in (0.02, 0.4):
        job = acquisition.start("fit", semiangle=30, trials=3000)
        time.sleep(pause)
        start = time.monotonic()
        job.cancel()
        raises(sideband.Cancelled, ["fit was cancelled"], job.wait)
        took = time.monotonic() - start
        assert took < 0.5, took
        assert job.done
    assert acquisition.reconstruct(**KNOWN).arrays["phase"].size  # usable after it


def test_an_exception_in_progress_cancels():
    class Enough(Exception):
        pass

    def report(fraction, stage):
        raise Enough("enough.")

    acquisition = sideband.Acquisition(FILM, session=session())
    start = time.monotonic()
    raises(Enough, ["enough"], acquisition.fit, semiangle=30, trials=3000, progress=report)
    assert time.monotonic() - start < 2


def test_control_c_cancels():
    code = ("import sideband, sys, time\n"
            "def report(fraction, stage):\n"
            "    print(stage, flush=True)\n"
            "try:\n"
            "    sideband.fit(sys.argv[1], semiangle=30, trials=5000, progress=report)\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted', sideband.calibrate(sys.argv[1], semiangle=30).info['calibration'] != {}, flush=True)\n")
    child = subprocess.Popen([sys.executable, "-c", code, FILM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0 and out.strip().endswith("interrupted True"), (out[-300:], err[-600:])


def test_python_runs_while_the_library_computes():
    acquisition = sideband.Acquisition(FILM, session=session())
    job, turns = acquisition.start("reconstruct", **KNOWN), 0
    while not job.poll():
        turns += 1
    assert turns > 20, turns
    assert job.preview("phase").shape == job.result().arrays["phase"].shape
    assert job.preview("mean_pattern").shape == (72, 72)
    raises(TimeoutError, ["goes on"], acquisition.start("fit", semiangle=30).wait, timeout=0.01)


# ---- life ----

def test_interpreters_end_cleanly_with_a_job_that_runs():
    code = ("import sideband, sys; a = sideband.Acquisition(sys.argv[1]); job = a.start('fit', semiangle=30, trials=5000);"
            "phase = sideband.Acquisition(sys.argv[1])")
    done = subprocess.run([sys.executable, "-c", code, FILM], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr)


def test_a_forked_child_is_told_so():
    code = ("import os, sideband, sys\n"
            "a = sideband.Acquisition(sys.argv[1])\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    try:\n"
            "        a.reconstruct(semiangle=30)\n"
            "    except sideband.ForkedError:\n"
            "        sys.exit(7)\n"
            "    sys.exit(1)\n"
            "sys.exit(0 if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7 else 2)\n")
    done = subprocess.run([sys.executable, "-c", code, FILM], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.returncode, done.stderr)


def test_importing_it_imports_numpy_only():
    code = ("import sys; before = set(sys.modules); import numpy; import sideband;"
            "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"numpy", "sideband", "_distutils_hack", "threadpoolctl"}, done.stdout


def test_memory_stays_flat():
    """Run 50 takes at most 2 % more than run 10."""
    code = ("import sideband, numpy as np, sys\n"
            "def resident():\n"
            "    return int(open('/proc/self/statm').read().split()[1])\n"
            "session, sizes = sideband.Session(backend='cpu', threads=1), []\n"
            "counts = np.random.default_rng(1).poisson(9, (12, 12, 24, 24)).astype(np.uint16)\n"
            "rows, cols = np.indices((24, 24)); counts[:, :, np.hypot(rows - 11.5, cols - 11.5) > 8] = 0\n"
            "for run in range(50):\n"
            "    result = sideband.reconstruct(counts, session=session, energy=300, step=0.4, semiangle=20, rotation=0,\n"
            "                                  orientation='identity', coefficients='C10=3')\n"
            "    phase = result.arrays['phase']\n"
            "    sizes.append(resident())\n"
            "print(sizes[9], sizes[49])\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    tenth, last = (int(n) for n in done.stdout.split())
    print("# pages after run 10 and 50:", tenth, last)
    assert last <= 1.02 * tenth, (tenth, last)


def test_remarks_reach_a_function():
    told = []
    sideband.set_log(lambda level, message: told.append((level, message)))
    sideband.reconstruct(FILM, session=session(), **KNOWN)
    sideband.set_log(None)
    count = len(told)
    assert any("reconstruct" in message for _, message in told), told
    sideband.reconstruct(FILM, session=session(), **KNOWN)
    assert len(told) == count


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
