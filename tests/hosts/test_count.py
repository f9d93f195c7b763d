#!/usr/bin/env python3
"""tools/count_tests.py against logs as Meson writes them. Argument: the script."""
import json
import os
import subprocess
import sys
import tempfile

import tap

SCRIPT = sys.argv[1]


def count(*entries, also=()):
    """The closing line, the failures and the exit status for these programs."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "testlog.json")
        with open(path, "w", encoding="utf-8") as log:
            for entry in entries:
                log.write(json.dumps(entry) + "\n")
        done = subprocess.run([sys.executable, SCRIPT, *also, path], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    return lines[-1], lines[:-1], done.returncode


def program(stdout, result="OK"):
    return {"name": "unit / thing", "stdout": stdout, "result": result}


def expect(got, line, status, *failures):
    assert got[0] == line, got
    assert got[2] == status, got
    assert len(got[1]) == len(failures), got
    for printed, wanted in zip(got[1], failures):
        assert wanted in printed, (printed, wanted)


def test_step_that_no_log_shows():
    got = count(program("TAP version 13\n1..1\nok 1 /a\n"), also=["--failed=build without CUDA"])
    expect(got, "1 passed, 1 failed, 0 skipped", 1, "build without CUDA")


def test_all_pass():
    expect(count(program("TAP version 13\n1..2\nok 1 /a\nok 2 /b\n")), "2 passed, 0 failed, 0 skipped", 0)


def test_a_point_that_fails_is_named():
    got = count(program("1..2\nok 1 /a\nnot ok 2 /b - sum\n", "FAIL"))
    expect(got, "1 passed, 1 failed, 0 skipped", 1, "unit / thing: 2 /b - sum")


def test_skips():
    expect(count(program("1..2\nok 1 /a # SKIP no data\nok 2 /b\n")), "1 passed, 0 failed, 1 skipped", 0)
    expect(count(program("1..0 # skipped: no device\n"), program("1..1\nok 1\n")), "1 passed, 0 failed, 1 skipped", 0)


def test_expected_failures():
    expect(count(program("1..2\nnot ok 1 /a # TODO later\nok 2\n")), "1 passed, 0 failed, 1 skipped", 0)
    expect(count(program("1..1\nok 1 /a # TODO later\n", "FAIL")), "0 passed, 1 failed, 0 skipped", 1, "marked TODO")


def test_a_crash_after_the_first_ok():
    got = count(program("1..3\nok 1 /a\n", "ERROR"))
    expect(got, "1 passed, 2 failed, 0 skipped", 1, "2 planned", "3 planned")


def test_a_crash_without_a_plan():
    expect(count(program("ok 1 /a\n", "ERROR")), "1 passed, 1 failed, 0 skipped", 1, "no plan")
    expect(count(program("", "ERROR")), "0 passed, 1 failed, 0 skipped", 1, "error")


def test_a_crash_after_the_last_ok():
    got = count(program("1..1\nok 1 /a\n", "FAIL"))
    expect(got, "1 passed, 1 failed, 0 skipped", 1, "after its last test")


def test_a_timeout():
    expect(count(program("1..1\n", "TIMEOUT")), "0 passed, 1 failed, 0 skipped", 1, "1 planned")


def test_more_than_planned():
    got = count(program("1..1\nok 1\nok 2\n"))
    expect(got, "2 passed, 1 failed, 0 skipped", 1, "2 tests reported, 1 planned")


def test_programs_without_tap():
    got = count(program("hello\n"), program("", "SKIP"), program("", "FAIL"))
    expect(got, "1 passed, 1 failed, 1 skipped", 1, "fail")


def test_text_and_subtests_are_no_points():
    text = "1..1\n# ok 7 is what it should be\n    ok 1 - inner\n    not ok 2 - inner\nokay\nok 1 - outer\n"
    expect(count(program(text)), "1 passed, 0 failed, 0 skipped", 0)


def test_nothing_ran():
    expect(count(), "0 passed, 1 failed, 0 skipped", 1, "no test ran")
    done = subprocess.run([sys.executable, SCRIPT, "/no/such/log"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout.endswith("0 passed, 1 failed, 0 skipped\n"), done


def test_several_logs_are_summed():
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("a", "b")]
        for path in paths:
            with open(path, "w", encoding="utf-8") as log:
                log.write(json.dumps(program("1..1\nok 1\n")) + "\n")
        done = subprocess.run([sys.executable, SCRIPT] + paths, capture_output=True, text=True)
    assert done.stdout == "2 passed, 0 failed, 0 skipped\n" and done.returncode == 0, done


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
