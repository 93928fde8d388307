"""What the tests of lazy-export and lazy-run share: calls of both, their files, their exit codes.

A test is run by `python X_test.py --bin-dir BIN --work DIR [unittest's arguments]`.
"""
import json
import os
import shutil
import subprocess
import sys
import unittest
import warnings

import torch

sys.dont_write_bytecode = True
warnings.filterwarnings("ignore")

# Exit codes of both programs, by their --help.
DONE, USAGE, BAD_FILE, IO, MISMATCH = range(5)
UNSUPPORTED, BROKEN, LIMIT = 5, 7, 8  # lazy-export
RUN_FAILED = 5   # lazy-run


def take(flag):
    """The folder that follows `flag` on the command line; both are removed, what stays is unittest's."""
    at = sys.argv.index(flag)
    folder = os.path.abspath(sys.argv[at + 1])
    del sys.argv[at:at + 2]
    return folder


BIN, WORK = take("--bin-dir"), take("--work")


def path(name):
    return os.path.join(WORK, name)


def write_model(name, module, inputs, **options):
    torch.manual_seed(0)
    with torch.no_grad():
        torch.export.save(torch.export.export(module.eval(), inputs, **options), path(name))


def make_work():
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)


class Called:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def json(self):
        return json.loads(self.out)


def call(tool, *arguments, code=None):
    done = Called(subprocess.run([os.path.join(BIN, tool), *arguments], capture_output=True, text=True,
                                 cwd=WORK, timeout=300))
    if code is not None and done.code != code:
        raise AssertionError(f"{tool} {' '.join(arguments)}: exit {done.code}, expected {code}\n{done.out}{done.err}")
    return done


def read(name):
    with open(path(name), "rb") as f:
        return f.read()


class Base(unittest.TestCase):
    def refuses(self, tool, *arguments, code, says=()):
        done = call(tool, *arguments, code=code)
        for text in says:
            self.assertIn(text, done.err)
        return done

    def export(self, model, *arguments, code=DONE):
        return call("lazy-export", path(model), "-o", path("out.lzb"), *arguments, code=code)

    def tearDown(self):
        for name in ("out.lzb", "out.html"):
            if os.path.exists(path(name)):
                os.remove(path(name))


def main():
    unittest.main(verbosity=1)
