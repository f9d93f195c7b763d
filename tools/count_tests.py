#!/usr/bin/env python3
"""Counts the single tests behind Meson's testlog.json and prints `N passed, N failed, N skipped`.

Each program's TAP is read: a test point that is not ok, one that the plan promised and that never came, a crash and a
timeout count as failed. (Meson's own count of points shows a program that dies after "ok 1" as passed.) A program
that prints no TAP counts as one test by its exit status. Exits 0 only where something passed and nothing failed.
"""
import json
import re
import sys

POINT = re.compile(r"^(not )?ok\b\s*(\d+)?\s*(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)\s*(#\s*skip.*)?$", re.IGNORECASE)
DIRECTIVE = re.compile(r"#\s*(skip|todo)\b", re.IGNORECASE)


class Count:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = 0


def count_point(count, name, match):
    """One line "ok ..." or "not ok ..."."""
    bad, number, text = bool(match[1]), match[2] or "?", match[3]
    directive = DIRECTIVE.search(text)
    word = directive[1].lower() if directive else ""
    label = "%s: %s %s" % (name, number, DIRECTIVE.split(text)[0].lstrip("- ").strip())
    if word == "skip" or (word == "todo" and bad):
        count.skipped += 1
    elif word == "todo":
        count.failed.append(label + " (passes, but is marked TODO)")
    elif bad:
        count.failed.append(label)
    else:
        count.passed += 1


def count_tap(count, name, lines, result):
    points, plan, before = 0, None, len(count.failed)
    for line in lines:
        match = POINT.match(line)
        if match:
            points += 1
            count_point(count, name, match)
            continue
        match = PLAN.match(line)
        if match:
            plan = int(match[1])
            if plan == 0:
                count.skipped += 1
    for number in range(points, plan or 0):
        count.failed.append("%s: %d planned, never reported" % (name, number + 1))
    if plan is None:
        count.failed.append("%s: no plan" % name)
    elif points > plan:
        count.failed.append("%s: %d tests reported, %d planned" % (name, points, plan))
    if result not in ("OK", "SKIP", "EXPECTEDFAIL") and len(count.failed) == before:
        count.failed.append("%s: %s after its last test" % (name, result.lower()))


def count_program(count, entry):
    name, result = entry.get("name", "?"), entry.get("result", "ERROR")
    lines = entry.get("stdout", "").splitlines()
    if any(POINT.match(line) or PLAN.match(line) for line in lines):
        count_tap(count, name, lines, result)
    elif result in ("OK", "EXPECTEDFAIL"):
        count.passed += 1
    elif result == "SKIP":
        count.skipped += 1
    else:
        count.failed.append("%s: %s" % (name, result.lower()))


def read_log(count, path):
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            lines = [line for line in log if line.strip()]
    except OSError as problem:
        count.failed.append("%s: %s" % (path, problem.strerror))
        return
    if not lines:
        count.failed.append("%s: no test ran" % path)
    for line in lines:
        try:
            count_program(count, json.loads(line))
        except ValueError:
            count.failed.append("%s: a line is no JSON" % path)


def main(arguments):
    """LOG... [--failed=NAME ...]: a step of the caller that failed and that no log shows counts as one failure."""
    count = Count()
    mark = "--failed="
    paths = [argument for argument in arguments if not argument.startswith(mark)]
    count.failed += [argument[len(mark):] for argument in arguments if argument.startswith(mark)]
    for path in paths or ["build/meson-logs/testlog.json"]:
        read_log(count, path)
    for name in count.failed:
        print("FAILED", name)
    print("%d passed, %d failed, %d skipped" % (count.passed, len(count.failed), count.skipped))
    return 0 if count.passed and not count.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
