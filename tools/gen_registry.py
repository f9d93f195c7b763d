#!/usr/bin/env python3
"""Prints a C file with the registry of what the given source files define.

gen_registry.py SYMBOL TYPE HEADER FILE...   finds `const TYPE NAME = {` in each FILE (the same list that is compiled)
and prints `const TYPE *const SYMBOL[] = { &NAME, ..., NULL };`.
"""
import re
import sys

symbol, type_name, header, *sources = sys.argv[1:]
names = []
for path in sources:
    with open(path, encoding="utf-8") as file:
        found = re.findall(r"^const " + type_name + r" (\w+) = \{", file.read(), re.M)
    names += found
print(f'#include "{header}"\n')
for name in names:
    print(f"extern const {type_name} {name};")
print(f"\nconst {type_name} *const {symbol}[] = {{")
for name in names:
    print(f"  &{name},")
print("  NULL\n};")
