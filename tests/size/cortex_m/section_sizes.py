"""Bytes of flash by part of the runtime and by symbol, from a linker map.

    section_sizes.py MAP                  a table of all parts, and the largest sections of the core
    section_sizes.py MAP --budget FILE    fails where a part is larger than its line `PART BYTES` says
"""
import argparse
import re
import sys
from collections import defaultdict

PARTS = [("core", r"liblazyrt_(core|op|bundle|exec|backends_\w+|platform)\.a"), ("kernels", r"liblazyrt_kernels\.a|_lazyrt_ops\.dir/"),
         ("library", r"/lib(c_nano|c|m|gcc|stdc\+\+_nano|stdc\+\+)\.a"), ("program", r"")]
BUNDLE = ".lazyrt_bundle"


def sections(path):
    """(name, bytes, file) of the input sections that stand in flash."""
    with open(path) as file:
        text = file.read().split("Linker script and memory map")[1]
    text = re.sub(r"\n (\.\S+|\*fill\*)\n +0x", r"\n \1 0x", text)
    for name, address, size, source in re.findall(r"^ (\S+) +0x([0-9a-f]+) +0x([0-9a-f]+) ?(.*)$", text, re.M):
        in_flash = int(address, 16) < 0x20000000 or name.startswith(".data")
        if int(size, 16) and in_flash and re.match(r"\.(text|rodata|data|vectors|init_array)", name):
            yield name, int(size, 16), source


def part_of(source):
    return next(part for part, pattern in PARTS if re.search(pattern, source))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("map")
    parser.add_argument("--budget")
    arguments = parser.parse_args()
    parts, names = defaultdict(int), defaultdict(list)
    for name, size, source in sections(arguments.map):
        parts[part_of(source)] += size
        names[part_of(source)].append((size, name, source.rsplit("/", 1)[-1]))
    parts["all"] = sum(parts.values())
    for part, size in parts.items():
        print(f"{size:8} {part}")
    wrong = []
    if arguments.budget:
        with open(arguments.budget) as file:
            limits = dict(line.split() for line in file if line.strip() and line[0] != "#")
        wrong = [part for part, limit in limits.items() if parts[part] > int(limit)]
        for part in wrong:
            print(f"{part}: {parts[part]} bytes are more than the {limits[part]} of {arguments.budget}")
    for part in wrong or (["core"] if not arguments.budget else []):
        for size, name, source in sorted(names[part], reverse=True)[:40]:
            print(f"{size:8} {source} {name}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
