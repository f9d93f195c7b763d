#!/usr/bin/env python3
"""One layer of the tests of the ImageJ plugin, as TAP: run_java.py --plugin JAR ... headless|display|batch|stream"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import batch  # noqa: E402


def skip(reason):
    print("1..0 # SKIP " + reason)
    sys.exit(0)


def java_line(options, folder, *, memory="1g", headless=False, class_path=()):
    line = ["java", "-Xmx" + memory, "-Duser.home=" + os.path.join(folder, "home"), "-Djava.io.tmpdir=" + folder,
            "-Dplugins.dir=" + folder, "-Dtest.cli=" + options.cli, "-Dtest.config=" + options.config]
    if headless:
        line += ["-Xcheck:jni", "-Djava.awt.headless=true"]
    return line + ["-cp", os.pathsep.join([options.ij, *class_path])]


def in_display(line):
    return ["xvfb-run", "-a", "-s", "-screen 0 1280x1024x24", *line]


def end(process):
    """Passes the TAP on; what -Xcheck:jni says of our own calls is a failure."""
    errors = process.stderr.decode("utf-8", "replace")
    sys.stderr.write(errors[-20000:])
    text = process.stdout.decode("utf-8", "replace")
    blocks = errors.split("WARNING in native method")[1:] + errors.split("FATAL ERROR in native method")[1:]
    ours = [b for b in blocks if "sideband.Native" in b.split("WARNING")[0][:600]]
    sys.stdout.write(text)
    if ours:
        print("Bail out! -Xcheck:jni: " + ours[0].splitlines()[0])
    sys.exit(1 if ours else process.returncode)


def run(options, folder):
    examples = os.path.join(options.examples, "acquisitions")
    if options.layer == "headless":
        line = java_line(options, folder, headless=True, class_path=[options.plugin, options.tests])
        end(subprocess.run(line + ["sideband.HeadlessTests", examples], capture_output=True, check=False))
    if options.layer == "batch":
        sys.exit(batch.run(options, folder, java_line, in_display))
    memory, main = {"display": ("1g", "check.DisplayTests"), "stream": ("512m", "check.StreamTests")}[options.layer]
    line = java_line(options, folder, memory=memory, class_path=[options.tests])
    end(subprocess.run(in_display(line + [main, examples]), capture_output=True, check=False))


def has_windows():
    """A headless Java has no part that draws."""
    home = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("java"))))
    return any("libawt_xawt.so" in names for _, _, names in os.walk(os.path.join(home, "lib")))


def main():
    parser = argparse.ArgumentParser()
    for name in ("plugin", "tests", "ij", "cli", "config", "examples", "sources"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("layer", choices=["headless", "display", "batch", "stream"])
    options = parser.parse_args()
    if shutil.which("java") is None:
        skip("no java")
    if options.layer != "headless" and shutil.which("xvfb-run") is None:
        skip("no xvfb-run (packages xvfb and xauth)")
    if options.layer != "headless" and not has_windows():
        skip("this Java has no windows (package default-jre)")
    with tempfile.TemporaryDirectory(prefix="sideband-imagej-") as folder:
        for name in ("plugins", "home"):
            os.mkdir(os.path.join(folder, name))
        shutil.copy(options.plugin, os.path.join(folder, "plugins"))
        run(options, folder)


main()
