#!/usr/bin/env python3
"""make_jar.py JAVAC IJ_JAR VERSION CONFIG NATIVE OUT SOURCES...: compiles, and packs all that a user has to copy."""
import os
import platform
import subprocess
import sys
import tempfile
import zipfile


def platform_name():
    machine = platform.machine()
    return sys.platform.rstrip("0123456789") + "-" + {"AMD64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


def add(archive, name, data):
    # a date of its own: the same sources give the same jar
    entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    javac, ij, version, config, native, out = sys.argv[1:7]
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(out, "w") as archive:
        subprocess.run([javac, "--release", "8", "-Xlint:all,-options", "-Werror", "-encoding", "UTF-8", "-cp", ij, "-d", folder]
                       + sys.argv[7:], check=True)
        add(archive, "META-INF/MANIFEST.MF",
            f"Manifest-Version: 1.0\r\nImplementation-Title: Sideband\r\nImplementation-Version: {version}\r\n\r\n")
        add(archive, "plugins.config", read(config))
        add(archive, f"META-INF/native/{platform_name()}/{os.path.basename(native)}", read(native))
        for name in sorted(os.listdir(os.path.join(folder, "sideband"))):
            add(archive, "sideband/" + name, read(os.path.join(folder, "sideband", name)))


main()
