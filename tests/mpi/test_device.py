#!/usr/bin/env python3
"""Ranks with a GPU each, and ranks that share one: on a device and an NCCL that are none (fake_device.c, fake_nccl.c), or on
the GPUs of a machine. Arguments: the command, the folder of the examples' acquisitions, the device's module, the folder of
libnccl.so.2, and the number of GPUs where they are real (device.sh)."""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hosts"))
import launch
import tap

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print("1..0 # SKIP %s" % missing)
    sys.exit(0)

COMMAND, EXAMPLES, MODULE, NCCL = (os.path.abspath(word) for word in sys.argv[1:5])
REAL = int(sys.argv[5]) if len(sys.argv) > 5 else 0
NCCL = ":".join(filter(None, [NCCL, os.environ.get("LD_LIBRARY_PATH")]))
COLUMNS = os.path.join(EXAMPLES, "columns_master.h5")
FOLDER = tempfile.TemporaryDirectory(prefix="sideband-device-")
KNOWN = ["--semiangle", "30", "--threads", "1", "--backend", "cuda", "--cuda-module", MODULE]
GIVEN = ["--rotation", "0", "--orientation", "identity"]


def run(size, name, words=("run", *GIVEN), **environment):
    """The result of so many ranks. environment: of all of them."""
    extra = []
    for key, value in environment.items():
        extra += ["-x", "%s=%s" % (key, value)]
    words = [COMMAND, words[0], COLUMNS, *KNOWN, *words[1:], "--json", "--quiet", "--output",
             os.path.join(FOLDER.name, name) + "/"]
    os.makedirs(os.path.join(FOLDER.name, name))
    return launch.together(size, words, extra)


def gpus(*numbers):
    """CUDA_VISIBLE_DEVICES: as given where there are no GPUs, else that many of the first."""
    if REAL and len(set(numbers)) > REAL:
        raise tap.Skip("%d GPUs are wanted, %d are there" % (len(set(numbers)), REAL))
    return ",".join(str(i if REAL else number) for i, number in enumerate(numbers))


def check_devices(ranks, numbers):
    """Whose GPU is whose; a real one has a name that says nothing of its number."""
    ids = ranks["device_id"]
    if REAL:
        assert [ids.index(i) for i in ids] == [numbers.index(n) for n in numbers] and all(ids), ids
    else:
        assert ids == ["none-%d" % n for n in numbers], ids


def phase(name):
    with h5py.File(os.path.join(FOLDER.name, name, "columns_result.h5")) as file:
        return file["entry/phase/data"][...]


def alone():
    if not alone.kept:
        alone.kept.append(run(1, "alone"))
    return alone.kept[0]


alone.kept = []


def check_same(result, name):
    """As test_mpi's: sums differ by the order of their parts alone."""
    one = alone()
    assert abs(result["agreement"] / one["agreement"] - 1) < 1e-12, (result["agreement"], one["agreement"])
    for key, value in one["coordinates"].items():
        assert key == "units" or abs(value - result["coordinates"][key]) < 1e-6, (key, value, result["coordinates"][key])
    difference = np.abs(phase(name) - phase("alone")).max() / np.abs(phase("alone")).max()
    assert difference < 1e-6, difference
    assert result["passes"] == one["passes"]


def test_one_gpu_for_all():
    """Two ranks on the only GPU agree with one; NCCL is not asked."""
    result = run(2, "shared", CUDA_VISIBLE_DEVICES=gpus(0), LD_LIBRARY_PATH=NCCL)
    check_same(result, "shared")
    check_devices(result["ranks"], [0, 0])
    assert result["ranks"]["sums_through"] == "MPI", result["ranks"]
    again = run(2, "shared_again", CUDA_VISIBLE_DEVICES=gpus(0), LD_LIBRARY_PATH=NCCL)
    assert again["coordinates"] == result["coordinates"] and np.array_equal(phase("shared_again"), phase("shared"))


def test_a_gpu_each():
    """By local rank; sums from GPU to GPU, in one round (two ranks) and in two (three)."""
    for size in (2, 3):
        name = "each%d" % size
        result = run(size, name, CUDA_VISIBLE_DEVICES=gpus(*[7, 3, 5][: size if REAL else 3]), LD_LIBRARY_PATH=NCCL)
        check_same(result, name)
        ranks = result["ranks"]
        check_devices(ranks, [7, 3, 5][:size])
        assert ranks["sums_through"].startswith("NCCL 2." if REAL else "NCCL 2.99.0") and min(ranks["sent_sums"]) > 1e6, ranks


def test_same_bits_again_and_through_mpi():
    """The order of the ranks decides, not what carries the numbers."""
    again = run(3, "again", CUDA_VISIBLE_DEVICES=gpus(0, 1, 2), LD_LIBRARY_PATH=NCCL)
    assert np.array_equal(phase("again"), phase("each3"))
    through_mpi = run(3, "through_mpi", CUDA_VISIBLE_DEVICES=gpus(0, 1, 2), LD_LIBRARY_PATH=NCCL, SIDEBAND_NCCL="0")
    assert through_mpi["ranks"]["sums_through"] == "MPI", through_mpi["ranks"]
    assert np.array_equal(phase("again"), phase("through_mpi"))
    assert again["coordinates"] == through_mpi["coordinates"]


def test_more_ranks_than_gpus():
    """Three ranks on two GPUs: local rank modulo GPUs, MPI."""
    result = run(3, "more", CUDA_VISIBLE_DEVICES=gpus(0, 1), LD_LIBRARY_PATH=NCCL)
    check_same(result, "more")
    check_devices(result["ranks"], [0, 1, 0])
    assert result["ranks"]["sums_through"] == "MPI", result["ranks"]


def test_nccl_refuses():
    """Then MPI does it, and the reason is told."""
    result = run(2, "refused", CUDA_VISIBLE_DEVICES=gpus(0), LD_LIBRARY_PATH=NCCL, SIDEBAND_NCCL="1")
    check_same(result, "refused")
    assert result["ranks"]["sums_through"] == "MPI" and result["ranks"]["sums_remark"], result["ranks"]
    assert REAL or "duplicate GPU detected" in result["ranks"]["sums_remark"], result["ranks"]


def test_every_command():
    """Calibration, dealiased images and given aberrations go through the same sums."""
    words = ("reconstruct", *GIVEN, "--coefficients", "C10=6", "--method", "dealiased")
    shared = REAL == 1  # then MPI carries them
    devices = gpus(0) if shared else gpus(0, 1)
    one = run(1, "dealiased1", words)
    two = run(2, "dealiased2", words, CUDA_VISIBLE_DEVICES=devices, LD_LIBRARY_PATH=NCCL)
    assert abs(two["agreement"] / one["agreement"] - 1) < 1e-12 and (two["ranks"]["sums_through"] == "MPI") == shared, two
    difference = np.abs(phase("dealiased2") - phase("dealiased1")).max() / np.abs(phase("dealiased1")).max()
    assert difference < 1e-6, difference
    one = run(1, "calibrate1", ("calibrate",))
    two = run(2, "calibrate2", ("calibrate",), CUDA_VISIBLE_DEVICES=devices, LD_LIBRARY_PATH=NCCL)
    assert abs(two["calibration"]["rotation"] - one["calibration"]["rotation"]) < 1e-6, (one["calibration"], two["calibration"])


def test_memory_of_a_shared_gpu():
    """Its memory is planned by parts: what one rank of a GPU may hold whole, two of it make part by part, with the same result."""
    if REAL:
        words = [COMMAND, "run", COLUMNS, *KNOWN, *GIVEN, "--memory", "0.05"]
        told = launch.Run(2, words, ["-x", "LD_LIBRARY_PATH=" + NCCL]).wait(60)[2]
        least = re.search(r"give memory = ([0-9.]+)", told)
        assert least, told
        words = ("run", *GIVEN, "--memory", least[1])
        result = run(2, "parts", words, CUDA_VISIBLE_DEVICES=gpus(0), LD_LIBRARY_PATH=NCCL)
        assert result["plan"]["g_in"] == "parts", result.get("plan")
        return check_same(result, "parts")
    memory = str(500 * 1000 * 1000)
    own = run(2, "own", CUDA_VISIBLE_DEVICES=gpus(0, 1), LD_LIBRARY_PATH=NCCL, FAKE_DEVICE_MEMORY=memory)
    both = run(2, "both", CUDA_VISIBLE_DEVICES=gpus(0), LD_LIBRARY_PATH=NCCL, FAKE_DEVICE_MEMORY=str(2 * 295 * 1000 * 1000))
    assert "plan" not in own and both["plan"]["g_in"] == "parts", (own.get("plan"), both.get("plan"))
    check_same(both, "both")


def test_fault():
    """A rank is killed while GPUs wait for each other; Ctrl-C."""
    for name, rank in (("killed", 1), ("interrupted", None)):
        words = [COMMAND, "run", COLUMNS, *KNOWN, *GIVEN, "--trials", "1000000", "--quiet", "--output",
                 os.path.join(FOLDER.name, name) + "/"]
        os.makedirs(os.path.join(FOLDER.name, name))
        devices = gpus(*range(min(REAL or 3, 3)))
        started = launch.Run(3, words, ["-x", "CUDA_VISIBLE_DEVICES=" + devices, "-x", "LD_LIBRARY_PATH=" + NCCL])
        ranks = started.watching(3)
        time.sleep(2)
        if rank is None:
            started.process.send_signal(signal.SIGINT)
        else:
            os.kill(ranks[rank], signal.SIGKILL)
        status, out, err = started.wait(60)
        told = [line for line in err.splitlines() if line.startswith("sideband:")]
        assert status != 0 and len(told) == 1, (status, err)
        assert ("was killed" if rank is not None else "Cancelled") in told[0], err
        assert not glob.glob(os.path.join(FOLDER.name, name, "*")), name


sys.exit(tap.run(globals()))
