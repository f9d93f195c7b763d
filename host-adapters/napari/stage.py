#!/usr/bin/env python3
"""Puts the plugin's sources and its manifest into one folder that pip installs: stage.py SOURCE MANIFEST FOLDER"""
import os
import shutil
import sys


def main():
    source, manifest, folder = sys.argv[1:4]
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(source, "src"), os.path.join(folder, "src"),
                    ignore=shutil.ignore_patterns("__pycache__", "napari.yaml"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(os.path.join(source, name), folder)
    shutil.copy(manifest, os.path.join(folder, "src", "napari_sideband", "napari.yaml"))


if __name__ == "__main__":
    main()
