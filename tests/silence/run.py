"""python run.py [--file FILE] [NAME]...: all programs, or these, judged; ends with an error when one is not as expected.
With --file only programs_FILE.py is loaded, which is quicker."""

import argparse
import importlib
import os
import pathlib
import subprocess
import sys
import warnings

FOLDER = pathlib.Path(__file__).parent


def load_cases(file):
    """The harness with the cases of programs_<file>.py, or of all files. The inputs of one file do not depend on the others."""
    sys.path.insert(0, str(FOLDER))
    import torch

    for found in sorted(FOLDER.glob(f"programs_{file or '*'}.py")):
        torch.manual_seed(int(os.environ.get("SILENCE_SEED", "0")))
        importlib.import_module(found.stem)
    return importlib.import_module("harness")


def work(harness, names):
    """Judges one after the other; a line for each: verdict, name, text."""
    warnings.filterwarnings("ignore")
    for name in harness.CASES.keys() - set(names):
        del harness.CASES[name]  # each capture searches all tensors of the process
    for name in names:
        print(f"\n@begin {name}", flush=True)
        verdict, text = harness.judge(harness.CASES.pop(name))
        print(f"\n@end\t{verdict}\t{' '.join(text.split())}", flush=True)


def judged(names, file):
    """(name, verdict, text) of each. A process that dies takes one program with it."""
    left = list(names)
    while left:
        command = [sys.executable, "-B", __file__, "--work", *(["--file", file] if file else []), *left]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in process.stdout:
            if line.startswith("@end\t"):
                verdict, text = line.rstrip("\n").split("\t")[1:]
                yield left.pop(0), verdict, text
        if process.wait() or left:
            yield left.pop(0) if left else "?", "crashed", f"the process died with {process.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", help="the suite: programs_FILE.py")
    parser.add_argument("--work", action="store_true", help="judge here, in this process, for the one that counts")
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    harness = load_cases(given.file)
    unknown = [name for name in given.names if name not in harness.CASES]
    if unknown or not harness.CASES:
        sys.exit(f"there are no programs {unknown or given.file}")
    if given.work:
        return work(harness, given.names)
    names = given.names or list(harness.CASES)
    counts, wrong = {}, 0
    for name, verdict, text in judged(names, given.file):
        fine = name in harness.CASES and verdict in harness.CASES[name].expect
        counts[verdict] = counts.get(verdict, 0) + 1
        wrong += not fine
        print(f"{verdict:8} {name:34} {text}" + ("" if fine else "   <-- not as expected"), flush=True)
    print(", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items())))
    print(f"{sum(counts.values()) - wrong} passed, {wrong} failed")
    return sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
