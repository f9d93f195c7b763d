#!/usr/bin/env python3
"""One acquisition on several ranks. Arguments: the command, the folder of the examples' acquisitions [, "long"]: 20 kills, 5
stops and 5 errors instead of a few."""
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hosts"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import launch
import mpi_model
import tap

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print("1..0 # SKIP %s" % missing)
    sys.exit(0)

COMMAND, EXAMPLES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LONG = sys.argv[3:] == ["long"]
COLUMNS = os.path.join(EXAMPLES, "columns_master.h5")
FOLDER = tempfile.TemporaryDirectory(prefix="sideband-mpi-")
KNOWN = ["--semiangle", "30", "--rotation", "0", "--orientation", "identity", "--threads", "1", "--json", "--quiet"]
# A run that lasts longer than any test waits, however fast the machine.
ENDLESS = ["--trials", "1000000"]
# A fault ends the run within 10 s; mpirun and a busy machine add to it.
FAULT_SECONDS = 10
SPARE_SECONDS = 5
RESULT = re.compile("_result|_phase|_fit")
random.seed(7)


def output(name):
    path = os.path.join(FOLDER.name, name)
    os.makedirs(path, exist_ok=True)
    return path


def words(command, name, *more):
    return [COMMAND, command, COLUMNS, *KNOWN, *more, "--output", output(name) + "/"]


def alone(name):
    """The result of one process; computed once."""
    if name not in alone.kept:
        done = subprocess.run(words("run", name), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        alone.kept[name] = json.loads(done.stdout)
    return alone.kept[name]


alone.kept = {}


def phase(name):
    with h5py.File(os.path.join(FOLDER.name, name, "columns_result.h5")) as file:
        return file["entry/phase/data"][...]


def check_same(result, name):
    """Within 1e-12 in S; coordinates within 1e-6 rad, mrad or nm and the image within 1e-6 of its largest value, which the
    fit's own tolerance and single precision allow."""
    one = alone("alone")
    assert abs(result["agreement"] / one["agreement"] - 1) < 1e-12, (result["agreement"], one["agreement"])
    for key, value in one["coordinates"].items():
        assert key == "units" or abs(value - result["coordinates"][key]) < 1e-6, (key, value, result["coordinates"][key])
    difference = np.abs(phase(name) - phase("alone")).max() / np.abs(phase("alone")).max()
    assert difference < 1e-6, difference
    assert sorted(os.listdir(os.path.join(FOLDER.name, name))) == sorted(os.listdir(os.path.join(FOLDER.name, "alone")))
    assert result["passes"] == one["passes"]


def test_one_to_four_ranks_agree():
    for size in (1, 2, 3, 4):
        name = "ranks%d" % size
        began = time.monotonic()
        check_same(launch.together(size, words("run", name)), name)
        print("# %d ranks: %.1f s" % (size, time.monotonic() - began), flush=True)


def test_same_bits_again():
    first = phase("ranks3")
    again = launch.together(3, words("run", "again"))
    assert np.array_equal(first, phase("again"))
    with open(os.path.join(FOLDER.name, "ranks3", "columns_fit.json"), encoding="utf-8") as file:
        assert json.load(file)["coordinates"] == again["coordinates"]


def test_local_stays_alone():
    """engine = local under mpirun: every process works for itself."""
    status, out, err = launch.Run(2, [COMMAND, "info", COLUMNS, *KNOWN, "--engine", "local"]).wait()
    assert status == 0, err
    objects = [json.loads(line) for line in out.splitlines() if line.strip()]
    assert len(objects) == 2 and all("ranks" not in one for one in objects), out


def make_large():
    """A scan whose G is far larger than a program: 128 x 128 points, 48 x 48 pixels, Poisson noise on a disk that varies."""
    generator = np.random.default_rng(3)
    row, col = np.mgrid[:48, :48] - 23.5
    mean = np.where(row ** 2 + col ** 2 <= 20.4 ** 2, 40.0, 0.2)
    frames = np.empty((128, 128, 48, 48), np.uint16)
    for i in range(128):
        frames[i] = generator.poisson(mean * (1 + 0.2 * generator.standard_normal((128, 1, 1))).clip(0.3))
    path = os.path.join(FOLDER.name, "large.npy")
    np.save(path, frames)
    return path


def test_bytes_and_memory_are_the_models():
    """What is sent and held, against the model's prediction from the shape alone: within 5 %."""
    file = make_large()
    rest = {}
    for size in (1, 2, 3, 4):
        result = launch.together(size, [COMMAND, "reconstruct", file, *KNOWN, "--energy", "300", "--step", "0.4", "--centre",
                                        "23.5,23.5", "--sampling", "1.47", "--coefficients", "C10=1", "--method", "phase",
                                        "--output", output("large%d" % size) + "/"])
        print("# %d ranks: %s, seconds %s" % (size, json.dumps(result.get("ranks")), json.dumps(result["seconds"])), flush=True)
        if size == 1:
            continue
        ranks = result["ranks"]
        predicted = mpi_model.bytes_of(mpi_model.Acquisition.of_result(result), size)
        for key, value in predicted.items():
            measured = sum(ranks[key]) / size
            assert abs(measured / value - 1) < 0.05, (size, key, measured, value)
        rest[size] = sum(ranks["peak_memory"]) / size - predicted["g"] - predicted["columns"]
    for size in (2, 3):  # what does not fall with the ranks: taken from four, it predicts the peak of two and three
        print("# %d ranks: %.1f MB beside G and columns, %.1f MB with four" % (size, rest[size] / 1e6, rest[4] / 1e6), flush=True)
        predicted = mpi_model.bytes_of(mpi_model.Acquisition.of_result(result), size)
        data = predicted["g"] + predicted["columns"]
        assert abs((rest[size] + data) / (rest[4] + data) - 1) < 0.05, (size, rest, data)


def no_results(name):
    return [file for file in glob.glob(os.path.join(FOLDER.name, name, "**"), recursive=True) if not os.path.isdir(file)]


def fault(kind, number, size, action, names):
    """One fault somewhere in a run: the sentence comes once, in time, and there is no file."""
    name = "%s%d" % (kind, number)
    run = launch.Run(size, words("run", name, *ENDLESS))
    ranks = run.watching(size)
    time.sleep(random.uniform(0, 3))
    rank = number % size
    if run.process.poll() is not None:
        raise AssertionError("it ended before the fault: " + run.text(run.err))
    began = time.monotonic()
    os.kill(ranks[rank], action)
    status, out, err = run.wait(60)
    seconds = time.monotonic() - began
    print("# %s of rank %d of %d: %.1f s" % (kind, rank, size, seconds), flush=True)
    told = [line for line in err.splitlines() if line.startswith("sideband:")]
    assert len(told) == 1 and "Rank %d on" % rank in told[0] and names in told[0], (rank, err)
    assert status != 0 and seconds < FAULT_SECONDS + SPARE_SECONDS, (status, seconds)
    assert not no_results(name), no_results(name)


def test_killed_ranks():
    for i in range(20 if LONG else 3):
        fault("kill", i, 2 + i % 3, signal.SIGKILL, "was killed")


def test_stopped_ranks():
    for i in range(5 if LONG else 1):
        fault("stop", i, 2 + i % 3, signal.SIGSTOP, "has not answered")


def test_returned_errors():
    """A frame that only one rank reads is damaged."""
    for i in range(5 if LONG else 2):
        folder = output("damaged%d" % i)
        for file in glob.glob(os.path.join(EXAMPLES, "columns*.h5")):
            shutil.copy(file, folder)
        size = 2 + i % 3
        with h5py.File(os.path.join(folder, "columns_data_000003.h5")) as file:
            chunk = file["entry/data/data"].id.get_chunk_info(400 + i)
        with open(os.path.join(folder, "columns_data_000003.h5"), "r+b") as file:
            file.seek(chunk.byte_offset)
            file.write(b"\xff" * 64)
        name = "error%d" % i
        began = time.monotonic()
        status, out, err = launch.Run(size, [COMMAND, "run", os.path.join(folder, "columns_master.h5"), *KNOWN, "--output",
                                             output(name) + "/"]).wait(60)
        told = [line for line in err.splitlines() if line.startswith("sideband:")]
        assert len(told) == 1 and "Rank %d on" % (size - 1) in told[0] and "is damaged" in told[0], err
        assert status != 0 and not no_results(name)
        assert json.loads(out)["error"]["status"] == "data", out
        print("# error of rank %d of %d: %.1f s with the start" % (size - 1, size, time.monotonic() - began), flush=True)


def test_wrong_words_are_told_once():
    status, out, err = launch.Run(3, [COMMAND, "run", COLUMNS, "--semiangel", "30"]).wait(60)
    assert status != 0 and len([line for line in err.splitlines() if "semiangle" in line]) == 1, err
    status, out, err = launch.Run(3, [COMMAND, "run", os.path.join(FOLDER.name, "none.h5"), *KNOWN]).wait(60)
    assert status != 0 and len([line for line in err.splitlines() if line.startswith("sideband:")]) == 1, err


def test_interrupt():
    """Ctrl-C reaches mpirun, which tells the ranks."""
    run = launch.Run(3, words("run", "interrupt", *ENDLESS))
    run.watching(3)
    time.sleep(1)
    began = time.monotonic()
    run.process.send_signal(signal.SIGINT)
    status, out, err = run.wait(30)
    assert status != 0 and time.monotonic() - began < FAULT_SECONDS, (status, time.monotonic() - began)
    assert len([line for line in err.splitlines() if line.startswith("sideband: Cancelled")]) == 1, err
    assert not no_results("interrupt")


def test_progress():
    """Lines of progress come through mpirun, from one rank only."""
    status, out, err = launch.Run(2, [word for word in words("run", "progress") if word != "--quiet"] + ["--log", "json"]).wait()
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    percent = [line["percent"] for line in lines if "percent" in line]
    assert status == 0 and len(percent) > 5 and percent == sorted(percent), percent


def test_two_machines():
    machines = launch.Machines(FOLDER.name)
    try:
        status, out, err = launch.Run(4, ["hostname"], machines.extra(), machines.wrap()).wait(60)
        assert status == 0 and sorted(out.split()) == ["first", "first", "second", "second"], out + err
        check_same(launch.together(4, words("run", "machines"), machines.extra(), machines.wrap()), "machines")
    finally:
        machines.close()


sys.exit(tap.run(globals()))
