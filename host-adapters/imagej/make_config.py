#!/usr/bin/env python3
"""The menus of ImageJ from the catalog: make_config.py PRINT_CATALOG > plugins.config"""
import json
import subprocess
import sys

# Labels are global in ImageJ, so each carries our name. "..." where a dialog follows.
BEFORE = [("Plugins>Sideband", "Sideband Open Acquisition...", "open"),
          ("File>Import", "Sideband Acquisition...", "open")]
AFTER = [("Plugins>Sideband", "Sideband Macro Extensions", "extensions"),
         ("Plugins>Sideband", "Sideband Help", "help"),
         ("Plugins>Sideband", "About Sideband...", "about")]


def label(name):
    return "Sideband " + " ".join(word.capitalize() for word in name.split("_")) + "..."


def main():
    catalog = json.loads(subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout)
    commands = [("Plugins>Sideband", label(c["name"]), c["name"]) for c in catalog["commands"]]
    print("# Generated from the catalog of Sideband " + catalog["version"] + ".")
    for menu, text, argument in BEFORE + commands + AFTER:
        print(f'{menu}, "{text}", sideband.Sideband_("{argument}")')


main()
