#!/usr/bin/env python3
"""The tests of the napari plugin as TAP: run_napari.py --requirements FILE --package FOLDER... --venvs FOLDER TEST...

The virtual environment is made once per list of pins and kept in the build folder; what is tested is installed into it
anew each time. Skipped, with the reason, where Xvfb or the package index is missing.
"""
import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SCREEN = "-screen 0 1400x900x24 +extension GLX"
NO_INDEX = ("No matching distribution", "Could not find a version", "ConnectionError", "Failed to establish",
            "timed out", "Temporary failure in name resolution", "Network is unreachable")


def skip(reason):
    print("1..0 # SKIP " + reason)
    sys.exit(0)


def fail(what, text):
    print("1..1\nnot ok 1 - " + what)
    for line in text.rstrip().splitlines()[-60:]:
        print("# " + line)
    sys.exit(1)


def pins(path):
    """The text of a list of pins and of those it names."""
    text = open(path, encoding="utf-8").read()
    for name in re.findall(r"^-r (.+)$", text, re.MULTILINE):
        text += pins(os.path.join(os.path.dirname(path), name.strip()))
    return text


def environment(options):
    """The folder of the virtual environment; a mark inside says that it is whole."""
    digest = hashlib.sha256((pins(options.requirements) + sys.version).encode()).hexdigest()[:12]
    folder = os.path.join(options.venvs, "venv-" + digest)
    python = os.path.join(folder, "bin", "python")
    if os.path.exists(os.path.join(folder, "whole")):
        return python
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, text=True)
    if made.returncode != 0:
        said = " ".join((made.stdout + made.stderr).split())[:200]
        skip("no virtual environment can be made (package python3-venv): " + said)
    line = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--retries", "1",
            "--timeout", "30", "-r", options.requirements]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        shutil.rmtree(folder, ignore_errors=True)
        if any(word in done.stderr for word in NO_INDEX):
            skip("the Python package index does not answer: " + done.stderr.strip().splitlines()[-1][:200])
        fail("make the virtual environment", done.stderr)
    open(os.path.join(folder, "whole"), "w").close()
    return python


def install(python, packages):
    line = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index",
            "--no-build-isolation", "--force-reinstall", *packages]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        fail("install the packages", done.stdout + done.stderr)


def points(path):
    """(name, problem, reason of a skip) of each test in pytest's report."""
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name", "?").removeprefix("test_").replace("_", " ").replace("#", "")
        problem, reason = None, None
        for child in case:
            if child.tag in ("failure", "error"):
                problem = (problem or "") + (child.get("message") or "") + "\n" + (child.text or "")
            if child.tag == "skipped":
                reason = child.get("message") or "skipped"
        yield name, problem, reason


def report(path, done):
    """The report as TAP; a run that died before writing one is one failure."""
    found = list(points(path)) if os.path.exists(path) else []
    for line in re.findall(r"^# .*$", done.stdout, re.MULTILINE):
        print(line)
    crashed = not found or done.returncode not in (0, 1)
    print("1..%d" % (len(found) + crashed))
    for number, (name, problem, reason) in enumerate(found, 1):
        print("%s %d - %s%s" % ("not ok" if problem else "ok", number, name, " # SKIP " + reason if reason else ""))
        for line in (problem or "").rstrip().splitlines()[-40:]:
            print("# " + line)
    if crashed:
        print("not ok %d - the tests ended with status %d" % (len(found) + 1, done.returncode))
        for line in (done.stdout + done.stderr).rstrip().splitlines()[-60:]:
            print("# " + line)
    return 1 if crashed or any(problem for _, problem, _ in found) else 0


def run(options, python, folder):
    line = ["xvfb-run", "-a", "-s", SCREEN, python, "-m", "pytest", "-p", "no:cacheprovider", "-W",
            "ignore::DeprecationWarning", "--tb=short", "--junitxml",
            os.path.join(folder, "report.xml"), *options.tests]
    names = {"NAPARI_CONFIG": os.path.join(folder, "settings.yaml"), "XDG_CACHE_HOME": folder, "HOME": folder,
             "QT_QPA_PLATFORM": "xcb", "LIBGL_ALWAYS_SOFTWARE": "1", "SB_CLI": options.cli,
             "SB_EXAMPLES": options.examples, "SB_PACKAGES": os.pathsep.join(options.package),
             "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_QT_API": options.binding, "QT_API": options.binding}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MALLOC_", "NAPARI_"))}
    done = subprocess.run(line, capture_output=True, text=True, env={**kept, **names}, cwd=folder)
    return report(os.path.join(folder, "report.xml"), done)


def main():
    parser = argparse.ArgumentParser()
    for name in ("requirements", "venvs", "cli", "examples"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--package", required=True, action="append", type=os.path.abspath)
    parser.add_argument("--binding", required=True, choices=["pyqt6", "pyside6"])
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("tests", nargs="+", type=os.path.abspath)
    options = parser.parse_args()
    if options.slow and not os.environ.get("SIDEBAND_SLOW"):
        skip("slow; SIDEBAND_SLOW=1 runs it")
    if shutil.which("xvfb-run") is None or shutil.which("xauth") is None:
        skip("no xvfb-run (packages xvfb and xauth)")
    if sys.version_info < (3, 11):
        skip("napari needs Python 3.11, this is %d.%d" % sys.version_info[:2])
    python = environment(options)
    install(python, options.package)
    with tempfile.TemporaryDirectory(prefix="sideband-napari-") as folder:
        sys.exit(run(options, python, folder))


if __name__ == "__main__":
    main()
