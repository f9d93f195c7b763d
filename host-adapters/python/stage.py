#!/usr/bin/env python3
"""Puts sources, library and version into one folder that pip installs: stage.py SOURCE VERSION FOLDER LIBRARY..."""
import json
import os
import re
import shutil
import subprocess
import sys

PACKAGE = os.path.join("src", "sideband")


def closure(library):
    """name -> path of all shared libraries behind one, as the loader finds them; {} where it cannot be asked."""
    try:
        text = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return {}
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", text, re.MULTILINE))


def packages(libraries):
    """name of a shared library -> the system's package that holds it, for the message where one is missing."""
    found = {}
    for library in libraries:
        for name, path in closure(library).items():
            for place in (path, os.path.realpath(path), path.removeprefix("/usr"), "/usr" + path):
                try:
                    done = subprocess.run(["dpkg-query", "-S", place], capture_output=True, text=True)
                except OSError:
                    return {}
                if done.returncode == 0:
                    found[name] = done.stdout.split(":")[0]
                    break
    return found


def soname(library):
    """libsideband.so.1 of .../libsideband.so.1.0.0: what is looked for; other names stay."""
    return re.sub(r"(\.so\.\d+)\.\d+\.\d+$", r"\1", os.path.basename(library))


def main():
    source, version, folder, *libraries = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(source, "src"), os.path.join(folder, "src"),
                    ignore=shutil.ignore_patterns("__pycache__", "*.so*"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md"):
        shutil.copy(os.path.join(source, name), folder)
    package = os.path.join(folder, PACKAGE)
    for library in libraries:
        shutil.copy(library, os.path.join(package, soname(library)))
    with open(os.path.join(package, "needs.json"), "w", encoding="utf-8") as file:
        json.dump(packages(libraries), file, indent=1, sort_keys=True)
    with open(os.path.join(package, "version.txt"), "w", encoding="utf-8") as file:
        file.write(version + "\n")


if __name__ == "__main__":
    main()
