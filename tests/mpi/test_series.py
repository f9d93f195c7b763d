#!/usr/bin/env python3
"""A series on several ranks: its acquisitions are handed out. Argument: the command."""
import glob
import json
import os
import shutil
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
except ImportError as missing:
    print("1..0 # SKIP %s" % missing)
    sys.exit(0)

COMMAND = os.path.abspath(sys.argv[1])
FOLDER = tempfile.TemporaryDirectory(prefix="sideband-series-")
KNOWN = ["--semiangle", "30", "--rotation", "0", "--orientation", "identity", "--threads", "1", "--json", "--quiet"]
# A fault ends the run within 10 s; mpirun and a busy machine add to it.
LONGEST = 10 + 5

DATA, SERIES = os.path.join(FOLDER.name, "data"), os.path.join(FOLDER.name, "series")
BROKEN = "scan_3"


def series_words():
    """Always into one folder, as files hold their own names. Trials enough that a series is not over before a fault reaches it."""
    return [COMMAND, "batch", DATA, *KNOWN, "--branch", "keep", "--upsampling", "1", "--trials", "20000", "--output", SERIES + "/"]


def simulate():
    """Eight acquisitions of which no two are alike, and one that was cut short in its header."""
    os.makedirs(DATA)
    for i in range(1, 9):
        done = subprocess.run([COMMAND, "simulate", "--energy", "300", "--semiangle", "30", "--step", "0.4", "--scan-shape", "20,20",
                               "--detector-shape", "32,32", "--sampling", "2.2", "--dose", "100000", "--coefficients",
                               "C10=%d C12=1" % i, "--random-seed", str(i), "--quiet", "--output",
                               os.path.join(DATA, "scan_%d" % i)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    for path in glob.glob(os.path.join(DATA, "*_truth.npy")):
        os.remove(path)
    with open(os.path.join(DATA, BROKEN + "_master.h5"), "r+b") as file:
        file.truncate(2000)


def take(name):
    """Puts the series aside; the folder it lies in now."""
    folder = os.path.join(FOLDER.name, name)
    os.rename(SERIES, folder)
    return folder


def whole_series():
    """As one process makes it: (what it says, folder); computed once."""
    if whole_series.kept is None:
        simulate()
        done = subprocess.run(series_words(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        whole_series.kept = json.loads(done.stdout), take("series_alone")
    return whole_series.kept


whole_series.kept = None


def without_seconds(text):
    info = json.loads(text)
    info.pop("seconds", None)
    return json.dumps(info)


def whole_of(path):
    """All that a file holds but how long it took."""
    if path.endswith(".json"):
        with open(path, encoding="utf-8") as file:
            return without_seconds(file.read())
    if not path.endswith(".h5"):
        with open(path, "rb") as file:
            return file.read()
    content = {}

    def visit(name, item):
        content["attributes of " + name] = sorted((key, repr(value)) for key, value in item.attrs.items())
        if isinstance(item, h5py.Dataset):
            value = item[()]
            content[name] = without_seconds(value) if name == "info" else getattr(value, "tobytes", lambda: value)()
    with h5py.File(path) as file:
        visit("", file)
        file.visititems(visit)
    return content


def check_files(folder, finished):
    """Every file is that of one process, bit for bit; finished: and none is missing. How many results there are."""
    meant = whole_series()[1]
    names = {name for name in os.listdir(folder) if not name.endswith((".jsonl", ".partial", ".previous", ".lock"))}
    for name in sorted(names):
        assert whole_of(os.path.join(folder, name)) == whole_of(os.path.join(meant, name)), name
    assert not finished or sorted(os.listdir(folder)) == sorted(os.listdir(meant)), os.listdir(folder)
    return sum(name.endswith("_result.h5") for name in names)


def events(folder):
    path = os.path.join(folder, "batch_log.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def test_series_on_ranks_is_that_of_one_process():
    one = whole_series()[0]
    assert one["series"] == {"acquisitions": 8, "done": 7, "kept": 0, "failed": 1}, one["series"]
    by_others = 0
    for size, more in ((2, []), (3, []), (2, ["--jobs", "2"])):
        began = time.monotonic()
        result = launch.together(size, series_words() + more)
        for key in ("series", "table", "stack", "files", "warnings", "parameters"):
            assert result[key] == one[key], key
        folder = take("series_%d%s" % (size, "".join(more)))
        told = {line["name"]: line for line in events(folder) if "name" in line}
        assert check_files(folder, True) == 7 and len(told) == 8
        assert told[BROKEN]["event"] == "failed" and BROKEN in told[BROKEN]["message"], told[BROKEN]
        by_others += sum(line["rank"] > 0 for line in told.values())
        print("# %d ranks %s: %.1f s, ranks %s" % (size, " ".join(more), time.monotonic() - began,
                                                  [line["rank"] for line in told.values()]), flush=True)
    assert by_others > 0


def test_series_with_aberrations_of_the_first():
    """One rank fits, then all take its values; what is finished is kept."""
    words = series_words() + ["--aberrations", "first"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    meant = take("first_alone")
    result = launch.together(3, words)
    again = launch.together(2, words)
    assert result["series"]["done"] == 7 and again["series"]["kept"] == 7, (result["series"], again["series"])
    folder = take("first_3")
    for name in os.listdir(meant):
        if not name.endswith(".jsonl"):
            assert whole_of(os.path.join(folder, name)) == whole_of(os.path.join(meant, name)), name


def faulty_series(size, rank, action):
    """Once the log says that one is done: rank is killed, or mpirun interrupted. None: the series had ended before."""
    shutil.rmtree(SERIES, ignore_errors=True)
    run = launch.Run(size, series_words())
    try:
        ranks = run.watching(size)
    except AssertionError:
        if run.process.poll() == 0:
            return None
        raise
    while run.process.poll() is None and not any(line["event"] == "done" for line in events(SERIES)):
        time.sleep(0.005)
    began = time.monotonic()
    try:
        os.kill(ranks[rank] if action == signal.SIGKILL else run.process.pid, action)
    except ProcessLookupError:
        pass
    status, out, err = run.wait(60)
    ended = [line for line in events(SERIES) if line["event"] == "end"]
    return None if ended else (status, err, time.monotonic() - began)


def fault(*what):
    for _ in range(10):
        found = faulty_series(*what)
        if found is not None:
            return found
    raise AssertionError("the series is always over before the fault")


def test_killed_series_goes_on():
    whole_series()
    for size, rank in ((3, 1), (2, 0)):
        status, err, seconds = fault(size, rank, signal.SIGKILL)
        told = [line for line in err.splitlines() if line.startswith("sideband:")]
        assert len(told) == 1 and "Rank %d on" % rank in told[0] and "was killed" in told[0], err
        assert status != 0 and seconds < LONGEST, (status, seconds)
        kept = check_files(SERIES, False)
        result = launch.together(2, series_words())
        assert 1 <= kept == result["series"]["kept"] and result["series"]["done"] == 7, (kept, result["series"])
        check_files(take("series_killed_%d" % rank), True)
        print("# kill of rank %d of %d: %.1f s, %d finished before" % (rank, size, seconds, kept), flush=True)


def test_interrupted_series_goes_on():
    whole_series()
    status, err, seconds = fault(2, 0, signal.SIGINT)
    assert len([line for line in err.splitlines() if line.startswith("sideband: Cancelled")]) == 1, err
    assert status != 0 and seconds < LONGEST, (status, seconds)
    kept = check_files(SERIES, False)
    result = launch.together(3, series_words())
    assert 1 <= kept == result["series"]["kept"], (kept, result["series"])
    check_files(take("series_interrupted"), True)


def test_series_that_cannot_begin_ends_in_order():
    """Rank 0 alone sees why; the sentence is the one of a single process."""
    words = [COMMAND, "batch", os.path.join(FOLDER.name, "none*.h5"), *KNOWN, "--output", os.path.join(FOLDER.name, "nothing") + "/"]
    status, out, err = launch.Run(3, words).wait(60)
    told = [line for line in err.splitlines() if line.startswith("sideband:")]
    assert status != 0 and len(told) == 1 and "No file matches" in told[0], err
    assert not os.path.exists(os.path.join(FOLDER.name, "nothing"))
    shutil.rmtree(SERIES, ignore_errors=True)
    result = launch.together(2, series_words() + ["--dry-run"])
    assert result["dry_run"] and len(result["table"]["rows"]) == 8 and not os.path.exists(SERIES)


sys.exit(tap.run(globals()))
