#!/usr/bin/env python3
"""The manifest of the napari plugin from the library's catalog: make_manifest.py LIBSIDEBAND > napari.yaml"""
import ctypes
import json
import sys

NAME = "napari-sideband"
CODE = "napari_sideband"
# Suffixes that napari reads itself or that say nothing about a format: such files come through the Open widget, so that
# nobody is asked which plugin shall open an ordinary image.
LEFT_ALONE = {"npy", "csv", "tif", "tiff", "png", "jpg", "jpeg", "bmp", "gif", "bin", "dat", "json", "yaml"}
TYPES = {"bool": "boolean", "int": "integer", "double": "number"}


def identifier(name):
    return f"{NAME}.{name}"


def class_name(name):
    return "".join(word.capitalize() for word in name.split("_"))


def patterns(catalog):
    suffixes = [suffix for form in catalog["formats"] for suffix in form["suffixes"] if suffix not in LEFT_ALONE]
    return ["*." + suffix for suffix in dict.fromkeys(suffixes)]


def setting(row):
    """A row of the engine as a property of napari's settings; 0 or nothing stands for "not given"."""
    kind = TYPES.get(row["type"], "string")
    about = {"type": kind, "title": row["title"] + (f" ({row['unit']})" if row["unit"] else ""),
             "description": row["help"], "default": row["default"]}
    if row["default"] is None:
        about["default"] = 0 if kind in ("integer", "number") else ""
    if row["choices"]:
        about["enum"] = row["choices"]
    if kind in ("integer", "number"):
        about["minimum"] = 0 if row["default"] is None else row["min"]
        about["maximum"] = row["max"]
    return about


def engine(catalog):
    # one file of parameters for a whole application would be a surprise: "params" stays with the commands
    return {group["name"]: {"title": group["title"], "properties": {row["name"]: setting(row) for row in group["rows"]}}
            for group in catalog["session"] if group["name"] != "parameters"}


def manifest(catalog):
    widgets = [("open", "Open acquisition")]
    widgets += [(command["name"], command["title"]) for command in catalog["commands"]]
    widgets.append(("stream", "Stream acquisition"))
    commands = [{"id": identifier(name), "title": f"Sideband: {title}",
                 "python_name": f"{CODE}.widgets:{class_name(name)}"} for name, title in widgets]
    commands += [
        {"id": identifier("read"), "title": "Open with Sideband", "python_name": f"{CODE}._reader:get_reader"},
        {"id": identifier("write"), "title": "Save with calibration", "python_name": f"{CODE}._writer:write_image"},
        {"id": identifier("sample_columns"), "title": "Simulated columns", "python_name": f"{CODE}._sample:columns"},
    ]
    return {
        "name": NAME, "display_name": "Sideband", "visibility": "public", "schema_version": "0.2.1",
        "categories": ["Image Processing", "IO", "Acquisition"],
        "contributions": {
            "commands": commands,
            "readers": [{"command": identifier("read"), "filename_patterns": patterns(catalog),
                         "accepts_directories": False}],
            "writers": [{"command": identifier("write"), "layer_types": ["image"], "display_name": title,
                         "filename_extensions": [suffix]}
                        for suffix, title in ((".h5", "Sideband result"), (".tif", "TIFF with calibration"))],
            "sample_data": [{"command": identifier("sample_columns"), "key": "columns",
                             "display_name": "4D-STEM: simulated atomic columns"}],
            "widgets": [{"command": identifier(name), "display_name": title, "tabify": True}
                        for name, title in widgets],
            "menus": {
                "napari/layers/transform": [{"submenu": NAME}],
                NAME: [{"command": identifier(name)} for name, title in widgets],
                "napari/file/acquire": [{"command": identifier("stream")}],
            },
            "submenus": [{"id": NAME, "label": "Sideband"}],
            "configurations": engine(catalog),
        },
    }


def lines(value, indent=0):
    """Plain YAML; scalars are JSON's, which YAML reads."""
    pad = " " * indent
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        head = pad + (f"{json.dumps(key) if not key.isidentifier() else key}:" if isinstance(value, dict) else "-")
        if isinstance(item, (dict, list)) and item:
            yield head
            yield from lines(item, indent + 2)
        else:
            yield f"{head} {json.dumps(item, ensure_ascii=False)}"


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.sb_catalog.restype = ctypes.c_char_p
    catalog = json.loads(library.sb_catalog())
    print(f"# Generated from the catalog of Sideband {catalog['version']}.")
    print("\n".join(lines(manifest(catalog))))


if __name__ == "__main__":
    main()
