#!/usr/bin/env python3
"""A series of acquisitions through the command line. Arguments: the command [, how many kills to try instead of a few]."""
import csv
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import tap

try:
    import h5py
    import numpy as np
    import tifffile
except ImportError as missing:
    print("1..0 # SKIP %s" % missing)
    sys.exit(0)

COMMAND = os.path.abspath(sys.argv[1])
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 4
FOLDER = tempfile.TemporaryDirectory(prefix="sideband-batch-")
DATA = os.path.join(FOLDER.name, "data")
# Where the same specimen lies in each acquisition, angstrom (row, col); scan_10 comes after scan_2.
DRIFT = {"scan_1": (0, 0), "scan_2": (0.7, -0.4), "scan_3": (1.5, 0.3), "scan_4": (0.9, 1.3), "scan_10": (-1.1, 0.6)}
BROKEN = "scan_5"
OPTICS = ["--semiangle", "30", "--centre", "16,16", "--rotation", "0", "--orientation", "identity", "--branch", "keep",
          "--upsampling", "1"]
KNOWN = [*OPTICS, "--aberrations", "given", "--coefficients", "C10=4 C12=1"]  # without a fit, where that matters not
TIMEOUT = 300


def sideband(*words, **how):
    return subprocess.run([COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT,
                          **how)


def output(name):
    return os.path.join(FOLDER.name, name)


def simulate():
    """Five acquisitions of one specimen that drifts, and a sixth that was cut short in its header."""
    os.makedirs(DATA)
    side, margin, n = 20.0, 4.0, 180
    generator = np.random.default_rng(5)
    places = generator.random((n, 3)) * [side, side, 10]
    for name, drift in DRIFT.items():
        xyz = output(name + ".xyz")
        with open(xyz, "w", encoding="utf-8") as file:
            file.write('%d\nLattice="%g 0 0 0 %g 0 0 0 10"\n' % (n, side, side))
            for x, y, z in places:
                file.write("Si %.9f %.9f %.9f\n" % ((x - margin + drift[0]) % side, (y - margin + drift[1]) % side, z))
        done = sideband("simulate", "--energy", "300", "--semiangle", "30", "--step", "0.4", "--scan-shape", "26,26",
                        "--detector-shape", "32,32", "--sampling", "2.2", "--specimen", "file", "--atoms", xyz,
                        "--no-periodic", "--dose", "100000", "--coefficients", "C10=4 C12=1", "--output",
                        os.path.join(DATA, name))
        assert done.returncode == 0, done.stderr
    whole = open(os.path.join(DATA, "scan_1_master.h5"), "rb").read()
    open(os.path.join(DATA, BROKEN + "_master.h5"), "wb").write(whole[:2000])
    for path in glob.glob(os.path.join(DATA, "scan_1_data_*")) + [os.path.join(DATA, "scan_1.h5")]:
        shutil.copy(path, path.replace("scan_1", BROKEN))
    for path in glob.glob(os.path.join(DATA, "*_truth.npy")):
        os.remove(path)


def rows_of(folder):
    with open(os.path.join(folder, "batch_table.csv"), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def content(path):
    with open(path, "rb") as file:
        return file.read()


def whole():
    """The series as it is meant to be: (what was printed, folder)."""
    if not hasattr(whole, "done"):
        simulate()
        whole.done = sideband("batch", DATA, *OPTICS, "--output", output("whole") + "/", "--json"), output("whole")
    return whole.done


def test_one_broken_file_does_not_stop_the_rest():
    done, folder = whole()
    assert done.returncode == 0, done.stderr
    info = json.loads(done.stdout)
    assert info["series"] == {"acquisitions": 6, "done": 5, "kept": 0, "failed": 1}, info["series"]
    rows = rows_of(folder)
    assert [row["name"] for row in rows] == ["scan_1", "scan_2", "scan_3", "scan_4", BROKEN, "scan_10"]
    assert [row["status"] for row in rows] == ["done"] * 4 + ["failed", "done"]
    assert BROKEN in rows[4]["message"] and rows[4]["message"].endswith(".") and rows[4]["C10"] == ""
    assert any(BROKEN in warning for warning in info["warnings"])
    for row in rows[:4] + rows[5:]:
        result = json.load(open(os.path.join(folder, row["name"] + "_fit.json"), encoding="utf-8"))
        assert float(row["C10"]) == result["values"]["C10"]["value"] and float(row["agreement"]) == result["agreement"]
        assert float(row["C10_error"]) == result["values"]["C10"]["error"] and abs(float(row["C10"]) - 4) < 1
        for end in ("_result.h5", "_phase.tif", "_phase.png"):
            assert os.path.exists(os.path.join(folder, row["name"] + end)), end
    assert not glob.glob(folder + "/" + BROKEN + "*") and not glob.glob(folder + "/*.partial") and not os.path.exists(
        folder + "/batch.lock")


def test_a_single_run_gives_the_same_and_its_parameters_repeat_it():
    _, folder = whole()
    alone = output("alone")
    os.makedirs(alone)
    path = os.path.join(DATA, "scan_2_master.h5")
    for words in (OPTICS, ["--params", folder + "/scan_2_fit.json"]):
        assert sideband("run", path, *words, "--output", alone).returncode == 0
        with h5py.File(alone + "/scan_2_result.h5") as one, h5py.File(folder + "/scan_2_result.h5") as other:
            assert np.array_equal(one["phase"][()], other["phase"][()])


def test_the_hdf5_table_holds_the_csv_one():
    _, folder = whole()
    rows = rows_of(folder)
    with h5py.File(folder + "/batch_table.h5", "r") as file:
        table = file["table"]
        columns = {column["name"]: column for column in json.loads(file["columns"][()])}
        assert list(table.dtype.names) == list(rows[0]) == list(columns) and len(table) == len(rows)
        assert columns["C10"]["unit"] == "nm" and columns["sampling"]["unit"] == "mrad"
        for name in table.dtype.names:
            for mine, theirs in zip(table[name], rows):
                if isinstance(mine, bytes):
                    assert mine.decode() == theirs[name], name
                elif theirs[name] in ("", "true", "false"):
                    assert np.isnan(mine) if theirs[name] == "" else bool(mine) == (theirs[name] == "true"), name
                else:
                    assert float(theirs[name]) == mine, (name, mine)
    shown = sideband("show", folder + "/batch_table.h5")
    assert shown.returncode == 0 and "scan_10" in shown.stdout, shown


def test_the_stack_is_aligned():
    done, folder = whole()
    info = json.loads(done.stdout)
    rows = [row for row in rows_of(folder) if row["in_stack"] == "true"]
    assert [row["name"] for row in rows] == list(DRIFT)
    for row in rows:
        for axis, name in enumerate(("shift_row", "shift_col")):
            drift = DRIFT[row["name"]][axis] / 10
            assert abs(float(row[name]) - drift) < 0.0015, (row["name"], name, row[name], drift)
        assert float(row["correlation"]) > 0.98, row
    with tifffile.TiffFile(folder + "/batch_stack.tif") as file:
        stack = file.asarray()
        assert file.is_imagej and file.imagej_metadata["unit"] == "nm", file.imagej_metadata
        assert [label.split()[0] for label in file.imagej_metadata["Labels"]] == list(DRIFT)
    assert list(stack.shape) == info["stack"]["shape"] and np.isfinite(stack).all()
    row, col, height, width = info["stack"]["overlap"]
    part = slice(row, row + height), slice(col, col + width)
    with h5py.File(folder + "/scan_1_result.h5") as first:
        assert np.abs(stack[0] - first["phase"][()]).max() < 1e-6
    for name, page in list(zip(DRIFT, stack))[1:]:
        with h5py.File(folder + "/%s_result.h5" % name) as file:
            before = np.corrcoef(stack[0].ravel(), file["phase"][()].ravel())[0, 1]
        after = np.corrcoef(stack[0][part].ravel(), page[part].ravel())[0, 1]
        assert after > max(0.9, before + 0.1), (name, before, after)


def test_jobs_change_nothing():
    _, folder = whole()
    other = output("jobs")
    done = sideband("batch", DATA, *OPTICS, "--output", other + "/", "--jobs", "3", "--threads", "2")
    assert done.returncode == 0 and content(other + "/batch_table.csv") == content(folder + "/batch_table.csv")
    assert content(other + "/batch_stack.tif") == content(folder + "/batch_stack.tif")


def test_what_is_finished_is_kept_until_something_changes():
    _, folder = whole()
    copy = output("kept")
    shutil.copytree(folder, copy)
    table = content(copy + "/batch_table.csv")
    os.remove(copy + "/scan_3_phase.png")
    bent = bytearray(content(copy + "/scan_4_result.h5"))
    bent[len(bent) // 2] ^= 1
    open(copy + "/scan_4_result.h5", "wb").write(bent)
    words = ["batch", DATA, *OPTICS, "--output", copy, "--json"]
    info = json.loads(sideband(*words).stdout)
    assert info["series"]["kept"] == 3 and info["series"]["done"] == 5, info["series"]
    assert content(copy + "/batch_table.csv") == table and os.path.exists(copy + "/scan_3_phase.png")
    assert json.loads(sideband(*words).stdout)["series"]["kept"] == 5
    words = ["batch", DATA, *KNOWN, "--output", copy, "--json"]
    for more, kept in ((["--no-resume"], 0), ([], 5), (["--method", "ssb"], 0), (["--method", "ssb"], 5)):
        assert json.loads(sideband(*words, *more).stdout)["series"]["kept"] == kept, more


def test_inputs_as_files_pattern_and_list():
    whole()
    listed = os.path.join(DATA, "some.list")
    with open(listed, "w", encoding="utf-8") as file:
        file.write("\ufeff# two of them\r\nscan_2_master.h5\r\n\r\n%s\n" % os.path.join(DATA, "scan_1_master.h5"))
    for words, names in (([os.path.join(DATA, "scan_2_master.h5"), os.path.join(DATA, "scan_1_master.h5")], [2, 1]),
                         ([os.path.join(DATA, "scan_1*")], [1, 10]), (["@" + listed], [2, 1]),
                         (["--inputs", DATA + "/scan_3_master.h5", DATA + "/../data/scan_3_master.h5"], [3]),
                         (sorted(glob.glob(os.path.join(DATA, "scan_1*.h5"))), [10, 1])):
        done = sideband("batch", *words, *OPTICS, "--dry-run", "--json")
        assert done.returncode == 0, done.stderr
        assert [row[0] for row in json.loads(done.stdout)["table"]["rows"]] == ["scan_%d" % n for n in names], words
    os.remove(listed)


def test_dry_run_writes_nothing_and_says_what_it_takes():
    _, folder = whole()
    nowhere = output("nowhere")
    info = json.loads(sideband("batch", DATA, *OPTICS, "--dry-run", "--json", "--output", nowhere + "/").stdout)
    rows = {row[0]: row for row in info["table"]["rows"]}
    assert not os.path.exists(nowhere) and rows[BROKEN][1] == "fails" and rows["scan_1"][1] == "waiting"
    assert info["predicted"]["seconds"] > 0 and 1 < info["predicted"]["memory_mb"] < 300, info["predicted"]
    again = json.loads(sideband("batch", DATA, *OPTICS, "--dry-run", "--json", "--output", folder).stdout)
    assert [row[1] for row in again["table"]["rows"]].count("finished") == 5 and again["predicted"]["seconds"] == 0


def test_aberrations_of_the_first_hold_for_all():
    whole()
    folder = output("first")
    words = ["batch", DATA, *OPTICS, "--output", folder + "/", "--aberrations", "first", "--json"]
    info = json.loads(sideband(*words).stdout)
    rows = [row for row in rows_of(folder) if row["status"] == "done"]
    assert info["series"]["done"] == 5 and len({row["C10"] for row in rows}) == 1, rows
    assert rows[0]["C10_error"] != "" and all(row["C10_error"] == "" for row in rows[1:])
    again = json.loads(sideband(*words, "--dry-run").stdout)
    assert [row[1] for row in again["table"]["rows"]].count("finished") == 5, again["table"]
    table = content(folder + "/batch_table.csv")
    assert json.loads(sideband(*words).stdout)["series"]["kept"] == 5 and content(folder + "/batch_table.csv") == table
    given = output("given")
    done = sideband("batch", DATA, *KNOWN, "--output", given + "/")
    assert done.returncode == 0 and {row["C10"] for row in rows_of(given)} == {"4.0", ""}, rows_of(given)


def test_two_processes_on_one_output():
    whole()
    folder = output("shared")
    words = [COMMAND, "batch", DATA, *KNOWN, "--output", folder + "/"]
    first = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while first.poll() is None and not (os.path.exists(folder + "/batch.lock") and content(folder + "/batch.lock")):
        time.sleep(0.002)
    os.kill(first.pid, signal.SIGSTOP)
    second = sideband(*words[1:])
    os.kill(first.pid, signal.SIGCONT)
    assert first.wait(TIMEOUT) == 0
    assert second.returncode == 1 and str(first.pid) in second.stderr, second.stderr
    assert len(second.stderr.splitlines()) == 1, second.stderr
    assert [row["status"] for row in rows_of(folder)].count("done") == 5


def test_refusals_are_one_sentence():
    whole()
    for words, says in ((["batch"], "Which files"), (["batch", output("nothing here")], "does not exist"),
                        (["batch", DATA + "/*.mib"], "matches"), (["batch", "@" + output("no list")], "no list"),
                        (["batch", DATA, "--output", output("a/b/c")], "no folder"),
                        (["batch", DATA, "--output", "/proc/nothing/"], "/proc/nothing")):
        done = sideband(*words, *OPTICS, "--quiet", cwd=FOLDER.name)
        assert done.returncode in (1, 2) and says in done.stderr and len(done.stderr.splitlines()) == 1, (words, done)


def test_disk_full_stops_with_a_sentence_and_leaves_whole_files():
    whole()
    folder = output("full")
    limit = "ulimit -f 10; exec \"$@\""  # blocks of 512 bytes or 1 KiB: less than a result takes
    done = subprocess.run(["bash", "-c", "trap '' XFSZ; " + limit, "bash", COMMAND, "batch", DATA, *KNOWN, "--quiet",
                           "--output", folder + "/"], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 1 and "cannot be written" in done.stderr and len(done.stderr.splitlines()) == 1, done
    assert [os.path.basename(path) for path in glob.glob(folder + "/*")] == ["batch_log.jsonl"], os.listdir(folder)
    assert sideband("batch", DATA, *KNOWN, "--output", folder).returncode == 0


def test_foreign_files_are_not_replaced():
    _, folder = whole()
    mine = output("mine")
    os.makedirs(mine)
    open(mine + "/scan_2_phase.tif", "w", encoding="utf-8").write("a photo")
    info = json.loads(sideband("batch", DATA, *KNOWN, "--output", mine, "--json").stdout)
    assert info["series"]["failed"] == 2 and open(mine + "/scan_2_phase.tif", encoding="utf-8").read() == "a photo"


def test_cancel_answers_and_the_next_run_goes_on():
    _, folder = whole()
    other = output("cancelled")
    words = ["batch", DATA, *OPTICS, "--output", other + "/", "--json"]
    process = subprocess.Popen([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while len(glob.glob(other + "/*_result.h5")) < 2 and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130
    assert not glob.glob(other + "/*.partial") and not os.path.exists(other + "/batch.lock")
    info = json.loads(sideband(*words).stdout)
    assert info["series"]["kept"] >= 2 and content(other + "/batch_table.csv") == content(folder + "/batch_table.csv")


def test_each_step_is_a_line_of_json():
    _, folder = whole()
    lines = [json.loads(line) for line in open(folder + "/batch_log.jsonl", encoding="utf-8")]
    events = [line["event"] for line in lines]
    assert events[0] == "start" and events[-1] == "end" and events.count("done") == 5 and events.count("failed") == 1
    done = sideband("batch", DATA, *OPTICS, "--output", folder, "--log", "json")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert any("scan_10" in line.get("message", "") for line in lines) and any("percent" in line for line in lines)


def check_finished(folder, reference):
    """Every result that has its name is whole and the one that is meant; returns how many there are."""
    names = [os.path.basename(path)[:-len("_result.h5")] for path in glob.glob(folder + "/*_result.h5")]
    for name in names:
        shown = sideband("show", "%s/%s_result.h5" % (folder, name), "--json")
        assert shown.returncode == 0, shown.stderr
        for path in json.loads(shown.stdout)["files"]:
            assert os.path.getsize(path) > 0, path
        json.load(open("%s/%s_fit.json" % (folder, name), encoding="utf-8"))
        whole_one = "%s/%s_result.h5" % (reference, name)
        with h5py.File("%s/%s_result.h5" % (folder, name)) as file, h5py.File(whole_one) as meant:
            phase = file["phase"][()]
            assert np.array_equal(phase, meant["phase"][()]), name
        assert np.array_equal(tifffile.imread("%s/%s_phase.tif" % (folder, name)), phase), name
    return len(names)


def test_kills_at_random_moments():
    _, reference = whole()
    started = time.monotonic()
    sideband("batch", DATA, *OPTICS, "--output", output("timing") + "/")
    longest = time.monotonic() - started
    chance = random.Random(int(os.environ.get("SB_KILL_SEED", "11")))
    kills = rounds = checked = 0
    while kills < KILLS:
        folder = output("killed")
        shutil.rmtree(folder, ignore_errors=True)
        rounds += 1
        done = False
        while not done:
            words = [COMMAND, "batch", DATA, *OPTICS, "--output", folder + "/", "--quiet",
                     "--jobs", str(chance.choice((1, 2)))]
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                process.wait(chance.uniform(0, 0.6 * longest) if kills < KILLS else TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
            problem = process.communicate()[1]
            done = process.returncode == 0
            assert done or process.returncode == -signal.SIGKILL, (process.returncode, problem)
            kills += not done
            if os.path.isdir(folder):
                checked += check_finished(folder, reference)
        assert content(folder + "/batch_table.csv") == content(reference + "/batch_table.csv")
        assert content(folder + "/batch_stack.tif") == content(reference + "/batch_stack.tif")
        left = [name for name in os.listdir(folder) if name.endswith((".partial", ".previous", ".lock"))]
        assert not left, left
    print("# %d kills over %d series, %d finished results looked at" % (kills, rounds, checked))


sys.exit(tap.run(globals()))
