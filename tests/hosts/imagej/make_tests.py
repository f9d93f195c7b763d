#!/usr/bin/env python3
"""make_tests.py JAVAC IJ_JAR PLUGIN OUT FOLDER: the test programs as one jar."""
import os
import subprocess
import sys
import tempfile
import zipfile


def files_below(folder):
    return sorted(os.path.join(path, name) for path, _, names in os.walk(folder) for name in names)


def main():
    javac, ij, plugin, out, folder = sys.argv[1:]
    with tempfile.TemporaryDirectory() as classes, zipfile.ZipFile(out, "w") as archive:
        subprocess.run([javac, "--release", "8", "-Xlint:all,-options", "-Werror", "-encoding", "UTF-8", "-cp",
                        ij + os.pathsep + plugin, "-d", classes] + files_below(folder), check=True)
        for path in files_below(classes):
            archive.write(path, os.path.relpath(path, classes))


main()
