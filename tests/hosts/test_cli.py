#!/usr/bin/env python3
"""The command `sideband` as a user types it. Arguments: the command, libsideband, examples/acquisitions, tests/data."""
import decimal
import errno
import json
import math
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile

import tap

COMMAND, LIBRARY, ACQUISITIONS, DATA = map(os.path.abspath, sys.argv[1:5])
COLUMNS = os.path.join(ACQUISITIONS, "columns_master.h5")
SCRATCH = tempfile.mkdtemp(prefix="sideband-cli-")
TIMEOUT = 300


def sideband(*words, env=None, cwd=SCRATCH):
    return subprocess.run([COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=cwd,
                          timeout=TIMEOUT, env=dict(os.environ, **(env or {})))


def catalog():
    """What the library itself says, past the command."""
    code = ("import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); library.sb_catalog.restype = ctypes.c_char_p; "
            "sys.stdout.buffer.write(library.sb_catalog())")
    done = subprocess.run([sys.executable, "-c", code, LIBRARY], capture_output=True, text=True, timeout=TIMEOUT)
    if "ASan runtime" in done.stderr:
        raise tap.Skip("a library with sanitizers cannot be loaded by Python")
    return json.loads(done.stdout)


def truth_of_columns():
    with open(os.path.join(ACQUISITIONS, "columns.json"), encoding="utf-8") as file:
        return json.load(file)


def calibrated():
    """What calibrates columns as the simulation was."""
    truth = truth_of_columns()
    return ["--semiangle", "30", "--centre", "%g,%g" % tuple(truth["disk_centre"]), "--sampling",
            repr(truth["detector_sampling_mrad"]), "--rotation", "0", "--orientation", "identity"]


def quick(*words):
    """A reconstruction without a fit, for what needs no more."""
    return ["reconstruct", COLUMNS, *calibrated(), "--coefficients", "C10=6 C12=2.5 phi12=0.4", *words]


def run_once():
    """One whole run that several tests look at: (process, folder)."""
    if not hasattr(run_once, "done"):
        folder = os.path.join(SCRATCH, "once")
        os.makedirs(folder, exist_ok=True)
        run_once.done = sideband("run", COLUMNS, *calibrated(), "--json", "--output", folder), folder
    return run_once.done


def info_of_run():
    done, folder = run_once()
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), folder


def one_sentence(done):
    """What stands on stderr is one line, a sentence, and no internals."""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("sideband: ") and lines[0][-1] in ".?", lines[0]
    return lines[0]


def usage_error(*words, says=""):
    done = sideband(*words)
    assert done.returncode == 2 and done.stdout == "", (words, done.returncode, done.stdout, done.stderr)
    assert says in one_sentence(done), (says, done.stderr)
    done = sideband(*words, "--json")
    if "--" not in words and words:
        error = json.loads(done.stdout)["error"]
        assert done.returncode == 2 and error["status"] == "argument" and error["message"], done.stdout


def test_version():
    done = sideband("--version")
    assert done.returncode == 0 and done.stdout == "sideband %s\n" % catalog()["version"], done


def test_help_lists_every_command():
    done = sideband("--help")
    assert done.returncode == 0 and done.stderr == ""
    names = [command["name"] for command in catalog()["commands"]] + ["show", "formats", "methods"]
    assert {"info", "calibrate", "fit", "reconstruct", "run"} <= set(names)
    for name in names:
        assert re.search(r"^  %s +\S" % name, done.stdout, re.M), name
    bare = sideband()
    assert bare.returncode == 2 and bare.stdout == done.stdout


def test_help_of_a_command_shows_every_row():
    everything = catalog()
    for command in everything["commands"]:
        help_text = sideband(command["name"], "--help")
        assert help_text.returncode == 0 and help_text.stderr == ""
        assert max(len(line) for line in help_text.stdout.splitlines()) <= 160
        groups = everything["session"] + (everything["data"] if command["needs_data"] else []) + command["groups"]
        flat = " ".join(help_text.stdout.split())
        for row in (row for group in groups for row in group["rows"]):
            option = "--" + ("no-" if row["type"] == "bool" and row["default"] else "") + row["name"].replace("_", "-")
            assert re.search(r"^  %s(=| )" % option, help_text.stdout, re.M), (command["name"], option)
            assert " ".join(row["help"].split()) in flat, (command["name"], option)
        for group in groups:
            assert group["title"] + ":" in help_text.stdout, group["title"]


def test_usage_errors():
    usage_error("rum", COLUMNS, says="did you mean run?")
    usage_error("qqqqqqqqqq", COLUMNS, says="--help")
    usage_error("run", says="Which file?")
    usage_error("show", says="Which file?")
    usage_error("run", COLUMNS, COLUMNS, says="one file")
    usage_error("methods", COLUMNS, says="no file")
    usage_error("run", COLUMNS, "--semiangel", "30", says="did you mean --semiangle?")
    usage_error("run", COLUMNS, "--semiangle", says="--semiangle")
    usage_error("--quiet", "run", COLUMNS, says="The command comes before")


def test_values_that_are_none():
    for option, text in (("--semiangle", "30x"), ("--semiangle", ""), ("--semiangle", "nan"), ("--semiangle", "1e999"),
                         ("--semiangle", "30,5"), ("--threads", "1.5"), ("--threads", "99999999999999999999"),
                         ("--step", "0.4,"), ("--step", "1,2,3"), ("--scan-shape", "50"), ("--scan-shape", "50,a"),
                         ("--scan-region", "0,0,5"), ("--method", "no such"), ("--log", "xml")):
        usage_error("run", COLUMNS, option, text, says=option)
    usage_error("run", COLUMNS, "--force=no", says="takes no value")


def test_values_out_of_range():
    done = sideband("run", COLUMNS, "--semiangle", "-3", "--json")
    assert done.returncode == 2 and "semiangle" in one_sentence(done) and "-3" in done.stderr, done
    assert json.loads(done.stdout)["error"]["status"] == "argument"


def test_a_file_that_is_not_there():
    for command in ("info", "run", "show"):
        done = sideband(command, "no such file.h5", "--json")
        assert done.returncode == 1, (command, done)
        assert "no such file.h5" in one_sentence(done), done.stderr
        error = json.loads(done.stdout)["error"]
        assert error["status"] == "io" and "sideband: " + error["message"] == done.stderr.strip(), done


def test_info():
    done = sideband("info", COLUMNS, "--json")
    assert done.returncode == 0, done.stderr
    acquisition = json.loads(done.stdout)["acquisition"]
    assert acquisition["scan_shape"] == [50, 50] and acquisition["detector_shape"] == [72, 72], acquisition
    table = sideband("info", COLUMNS)
    assert table.returncode == 0 and "50 x 50" in table.stdout and "72 x 72" in table.stdout, table


def test_no_acquisition_ends_it_by_a_signal():
    cases = os.path.join(DATA, "cases")
    names = sorted(name for name in os.listdir(cases) if name.endswith("_master.h5"))
    assert len(names) >= 15
    for name in names:
        done = sideband("calibrate", os.path.join(cases, name), "--semiangle", "30", "--json")
        assert done.returncode in (0, 1, 2), (name, done)
        answer = json.loads(done.stdout)
        if done.returncode != 0:
            assert answer["error"]["message"] in one_sentence(done), (name, done)


def test_a_path_with_blanks_and_letters():
    done = sideband("info", os.path.join(DATA, "cases", "\u00dcn\u00efcode dir \u56db d", "spaced_master.h5"), "--json",
                    env={"LC_ALL": "C"})
    assert done.returncode == 0 and json.loads(done.stdout)["acquisition"]["scan_shape"] == [6, 7], done


def test_run_finds_the_truth():
    info, folder = info_of_run()
    truth = truth_of_columns()
    assert abs(info["agreement"] - truth["S_optimum"]) < 1e-6 * truth["S_optimum"], info["agreement"]
    for name in ("C10", "C12a", "C12b"):
        assert abs(info["coordinates"][name] - truth["optimum"][name]) < 0.01, (name, info["coordinates"])
    assert sorted(map(os.path.realpath, info["files"])) == sorted(
        os.path.join(os.path.realpath(folder), name) for name in os.listdir(folder)), info["files"]
    assert all(os.path.isabs(path) for path in info["files"])
    for name in ("_result.h5", "_phase.tif", "_phase.png", "_fit.json"):
        assert os.path.getsize(os.path.join(folder, "columns" + name)) > 0


def test_files_are_written_into_the_current_folder():
    folder = tempfile.mkdtemp(dir=SCRATCH)
    done = sideband(*quick("--quiet"), cwd=folder)
    assert done.returncode == 0 and done.stdout == "" and done.stderr == "", done
    assert "columns_phase.png" in os.listdir(folder), os.listdir(folder)


def two_digits(value, uncertainty):
    """The rule of the table, by decimal arithmetic."""
    unit = decimal.Decimal("%.1e" % uncertainty)
    quantum = decimal.Decimal(1).scaleb(int(("%.1e" % uncertainty).split("e")[1]) - 1)
    if quantum > 1:
        return "%d \u00b1 %d" % (round(value / float(quantum)) * quantum, unit)
    return "%.*f \u00b1 %.*f" % (-quantum.as_tuple().exponent, value, -quantum.as_tuple().exponent, uncertainty)


def test_the_table_says_what_the_numbers_say():
    info, folder = info_of_run()
    shown = sideband("show", os.path.join(folder, "columns_fit.json"))
    assert shown.returncode == 0, shown.stderr
    fitted = 0
    for name, entry in info["values"].items():
        line = re.search(r"^%s +(.*)$" % name, shown.stdout, re.M)
        assert line, (name, shown.stdout)
        assert entry.get("held", False) == ("held" in line[1]), line[0]
        known = [entry[key] for key in ("error", "spread") if entry.get(key)]
        if entry.get("held") or not known:
            assert "\u00b1" not in line[1], line[0]
            continue
        uncertainty = max(known)
        assert line[1].startswith(two_digits(entry["value"], uncertainty) + "  "), (line[0], entry)
        if entry["unit"] == "rad":
            degrees = two_digits(math.degrees(entry["value"]), math.degrees(uncertainty))
            assert degrees + " deg" in line[1], line[0]
        fitted += 1
    assert fitted >= 5
    c10 = info["values"]["C10"]
    assert "defocus " + two_digits(-c10["value"], max(c10["error"], c10.get("spread") or 0)) in shown.stdout
    assert shown.stdout.count("C10 = -10 nm is a defocus of +10 nm, which is underfocus") == 1, shown.stdout
    assert "50 x 50" in shown.stdout and "S = %.5g" % info["agreement"] in shown.stdout
    for path in info["files"]:
        assert path in shown.stdout


def test_numbers_of_every_size():
    """By hand: what a table must print for values chosen to be awkward."""
    cases = [(6.068, 0.0114, 0.06, "6.068 \u00b1 0.060"), (-0.3012, 0.0996, None, "-0.30 \u00b1 0.10"),
             (1234567.8, 45678.0, 0.0, "1235000 \u00b1 46000"), (99.95, 0.9951, 0.2, "100.0 \u00b1 1.0"),
             (0.0, 3.0, None, "0.0 \u00b1 3.0"), (-0.0004, 0.012, 0.013, "0.000 \u00b1 0.013"),
             (12.0, 99.6, None, "10 \u00b1 100"), (1e-7, 2.5e-9, None, "0.0000001000 \u00b1 0.0000000025"),
             (-5.0, 24.4, 0.1, "-5 \u00b1 24")]
    values = {"v%d" % i: {"value": value, "error": error, "spread": spread, "unit": "mrad", "title": "case"}
              for i, (value, error, spread, _) in enumerate(cases)}
    values["fixed"] = {"value": 2.5, "error": None, "held": True, "unit": "nm", "title": "case"}
    values["cs"] = {"value": -1.2e6, "error": 3e4, "unit": "nm", "title": "spherical aberration"}
    values["coma"] = {"value": 2500.0, "error": 120.0, "unit": "nm", "title": "coma"}
    path = os.path.join(SCRATCH, "by_hand_fit.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"version": "0.1.0", "values": values, "calibration": {"rotation": -0.5}}, file)
    done = sideband("show", path)
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in done.stdout.splitlines() if line.strip()}
    for i, (_, _, _, printed) in enumerate(cases):
        assert lines["v%d" % i] == printed + " mrad case", (lines["v%d" % i], printed)
    assert lines["fixed"] == "2.5 nm held case", lines["fixed"]
    assert lines["cs"] == "-1200000 \u00b1 30000 nm -1.200 \u00b1 0.030 mm spherical aberration", lines["cs"]
    assert lines["coma"] == "2500 \u00b1 120 nm 2.50 \u00b1 0.12 \u00b5m coma", lines["coma"]
    assert "rotation -0.5 deg" in lines["calibration"], lines


def test_show_reads_both_files_alike():
    info, folder = info_of_run()
    for name in ("columns_fit.json", "columns_result.h5"):
        done = sideband("show", os.path.join(folder, name), "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["values"] == info["values"], name


def test_parameters_of_a_result_reproduce_it():
    info, folder = info_of_run()
    again = sideband("run", COLUMNS, "--params", os.path.join(folder, "columns_fit.json"), "--json", "--output",
                     tempfile.mkdtemp(dir=SCRATCH))
    assert again.returncode == 0, again.stderr
    again = json.loads(again.stdout)
    for key in ("agreement", "values", "coordinates"):
        assert again[key] == info[key], key


def test_a_comma_locale_changes_nothing():
    locales = os.path.join(SCRATCH, "locales")
    os.mkdir(locales)
    try:
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(locales, "de_DE.UTF-8")], check=True,
                       capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise tap.Skip("localedef cannot make the locale de_DE here")
    comma = {"LC_ALL": "de_DE.UTF-8", "LOCPATH": locales}
    words = quick("--json", "--output", tempfile.mkdtemp(dir=SCRATCH))
    with_comma, with_point = (json.loads(sideband(*words, env=env).stdout) for env in (comma, {}))
    for key in ("values", "agreement", "calibration", "parameters"):
        assert with_comma[key] == with_point[key], key
    result = os.path.join(info_of_run()[1], "columns_fit.json")
    assert sideband("show", result, env=comma).stdout == sideband("show", result).stdout


def test_files_of_others_are_kept():
    folder = tempfile.mkdtemp(dir=SCRATCH)
    foreign = os.path.join(folder, "columns_phase.png")
    with open(foreign, "w", encoding="utf-8") as file:
        file.write("somebody's notes")
    done = sideband(*quick("--output", folder))
    assert done.returncode in (1, 2) and "columns_phase.png" in done.stderr, done
    with open(foreign, encoding="utf-8") as file:
        assert file.read() == "somebody's notes"
    assert os.listdir(folder) == ["columns_phase.png"], os.listdir(folder)
    done = sideband(*quick("--output", folder, "--force"))
    with open(foreign, "rb") as file:
        assert done.returncode == 0 and file.read(8) == b"\x89PNG\r\n\x1a\n", done


def test_log_lines_are_json():
    done = sideband(*quick("--log", "json", "--output", tempfile.mkdtemp(dir=SCRATCH)))
    assert done.returncode == 0, done
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    progress = [line for line in lines if "stage" in line]
    assert all(0 <= line["percent"] <= 100 for line in progress)
    assert [line["percent"] for line in progress] == sorted(line["percent"] for line in progress), progress
    assert all(set(line) >= {"level", "message"} for line in lines if "stage" not in line), lines
    bad = sideband("calibrate", "no such file.h5", "--log", "json")
    assert json.loads(bad.stderr)["level"] == "error" and bad.returncode == 1, bad


def interrupt(how):
    """Starts a run, sends the signal at its first progress line; what came of it and what it left."""
    folder = tempfile.mkdtemp(dir=SCRATCH)
    # Many trials: long enough that the signal lands inside.
    process = subprocess.Popen([COMMAND, "run", COLUMNS, *calibrated(), "--trials", "100000", "--json", "--log", "json",
                                "--output", folder], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    first = process.stderr.readline()
    process.send_signal(how)
    out, err = process.communicate(timeout=TIMEOUT)
    return process.returncode, out, first + err, os.listdir(folder)


def test_ctrl_c_stops_it():
    for how in (signal.SIGINT, signal.SIGTERM):
        code, out, err, left = interrupt(how)
        assert code == 130, (code, out, err)
        assert json.loads(out)["error"]["status"] == "cancelled", out
        assert left == [], left


def test_the_bar_is_drawn_and_erased():
    try:
        master, slave = pty.openpty()
    except OSError as problem:  # a container without /dev/pts
        raise tap.Skip("no terminal is to be had here: %s" % problem)
    process = subprocess.Popen([COMMAND, *quick("--output", tempfile.mkdtemp(dir=SCRATCH))],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave, text=True)
    os.close(slave)
    seen = b""
    while True:
        select.select([master], [], [], TIMEOUT)
        try:
            piece = os.read(master, 65536)
        except OSError as problem:  # Linux says EIO where the other end is closed
            assert problem.errno == errno.EIO
            break
        if not piece:
            break
        seen += piece
    out = process.communicate(timeout=TIMEOUT)[0]
    os.close(master)
    assert process.returncode == 0, seen
    assert re.search(rb"\r\x1b\[K\[[#.]{30}\] +\d+ %  \w+", seen), seen
    bars, _, rest = seen.rpartition(b"\r\x1b[K")
    assert b"%" in bars and b"%" not in rest and "\x1b" not in out and "C10" in out, (seen, out)


def test_a_full_disk_is_no_success():
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([COMMAND, "methods"], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=TIMEOUT)
    assert done.returncode == 1 and "could not be written" in done.stderr, done


def test_lists():
    everything = catalog()
    for name in ("methods", "formats"):
        done = sideband(name)
        assert done.returncode == 0 and done.stderr == ""
        for entry in everything[name]:
            assert re.search(r"^%s +%s" % (entry["name"], re.escape(entry["title"])), done.stdout, re.M), entry
        assert json.loads(sideband(name, "--json").stdout) == everything[name]


if __name__ == "__main__":
    try:
        status = tap.run(globals())
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    sys.exit(status)
