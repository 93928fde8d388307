"""A program without texts says with codes what the one with texts says, and lazy-run --explain makes the texts of them.

codes_test.py FULL CODES LAZY_RUN BUNDLE TEXTS: the two programs, and texts.inc, of which CODES has to hold none.
"""
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

FULL, CODES, LAZY_RUN, BUNDLE, TEXTS = sys.argv[1:]


def said(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def explained(code, bundle):
    status, out, err = said(LAZY_RUN, "--explain", code, bundle)
    assert status == 0, (code, err)
    return out.split("\n")


def agree(text, explanation):
    """Whether `text` has each part of the explanation, in which "..." stands for names."""
    return all(piece in text for part in explanation.split(": ") for piece in part.split("..."))


def check_same(bundle):
    full = said(FULL, bundle)
    code = said(CODES, bundle)
    assert full[0] == code[0] == 1, (full, code)
    assert re.fullmatch(r"[0-9a-f]{8}(,-?\d+)*(/[0-9a-f]{8}(,-?\d+)*)*(:\d+)?", code[1]), code
    lines = explained(code[1], bundle)
    assert agree(full[1], lines[0]), (full[1], code[1], lines)
    return lines, code[1], full[1]


def check_damaged(folder):
    original = Path(BUNDLE).read_bytes()
    damaged = {
        "cut.lzb": original[: len(original) // 2],
        "short.lzb": original[:40],
        "magic.lzb": b"XXXX" + original[4:],
        "byte.lzb": original[:-200] + bytes([original[-200] ^ 1]) + original[-199:],
        "version.lzb": original[:8] + struct.pack("<I", 0x7FFFFFFF) + original[12:],
    }
    seen = set()
    for name, data in damaged.items():
        path = Path(folder) / name
        path.write_bytes(data)
        seen.add(check_same(str(path))[0][0])
    assert len(seen) > 2, seen


def formats():
    """Literals that make a sentence: with spaces, whole, long enough not to be found by chance."""
    for line in Path(TEXTS).read_text().splitlines():
        found = re.fullmatch(r'LAZYRT_TEXT\("([^"\\%]*)"\)', line)
        if found and len(found[1]) > 11 and found[1].count(" ") > 1:
            yield found[1].encode()


texts = list(formats())
full, codes = Path(FULL).read_bytes(), Path(CODES).read_bytes()
kept = [text for text in texts if text in codes]
assert sum(text in full for text in texts) > 50, "texts.inc does not list what the program with texts holds"
assert not kept, f"the program without texts has {kept}"

lines, code, text = check_same(BUNDLE)
assert re.search(r":\d+$", code), code
assert len(lines) > 1 and re.search(r"method '\w+'.*, node \d+: \w+", lines[1]), lines
assert re.search(r", \S+\.py:\d+", lines[1]), f"no line of source: {lines}"
print(text, code, *lines, sep="\n")
with tempfile.TemporaryDirectory() as folder:
    check_damaged(folder)
assert said(LAZY_RUN, "--explain", "zz", BUNDLE)[0] != 0
assert said(LAZY_RUN, "--explain", "00000001", BUNDLE)[0] != 0
