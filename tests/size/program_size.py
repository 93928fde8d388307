"""Bytes of text, constants and data in a program: of one that is optimized as it is linked, whose map tells no folders.

    program_size.py PROGRAM --most N     fails where they are more
"""
import argparse
import subprocess
import sys

COUNTED = (".text", ".rodata", ".data", ".init_array")


def program_size(path):
    listed = subprocess.run(["size", "-A", path], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return sum(int(row[1]) for row in rows if row and row[0] in COUNTED)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--most", type=int, required=True)
    arguments = parser.parse_args()
    size = program_size(arguments.program)
    print(f"{size} bytes, at most {arguments.most}")
    return 0 if 0 < size <= arguments.most else 1


if __name__ == "__main__":
    sys.exit(main())
