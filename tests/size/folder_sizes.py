"""Bytes of the runtime in the program of this folder by folder of the source, from its linker map.

    folder_sizes.py MAP                  a table of the folders
    folder_sizes.py MAP --budget FILE    fails where a folder is larger than its line `FOLDER BYTES` says
"""
import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "cortex_m"))
from section_sizes import sections  # noqa: E402


def folder_of(source):
    found = re.search(r"/((?:runtime|platforms)/[\w/]+)/\w+\.cpp\.o$", source)
    return found.group(1) if found else None


def folder_sizes(path):
    sizes = defaultdict(int)
    for _, size, source in sections(path):
        folder = folder_of(source)
        if folder:
            sizes[folder] += size
    return {**dict(sorted(sizes.items())), "all": sum(sizes.values())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("map")
    parser.add_argument("--budget")
    arguments = parser.parse_args()
    sizes = folder_sizes(arguments.map)
    for folder, size in sizes.items():
        print(f"{size:8} {folder}")
    if not arguments.budget:
        return 0
    lines = Path(arguments.budget).read_text().splitlines()
    limits = {folder: int(limit) for folder, limit in (line.split() for line in lines if line and line[0] != "#")}
    wrong = [f"{folder} has no line in {arguments.budget}" for folder in sizes.keys() - limits.keys()]
    wrong += [f"{folder} of {arguments.budget} is not in the program" for folder in limits.keys() - sizes.keys()]
    wrong += [f"{folder}: {sizes[folder]} bytes are more than the {limits[folder]} of {arguments.budget}"
              for folder in sizes.keys() & limits.keys() if sizes[folder] > limits[folder]]
    print(*sorted(wrong), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
