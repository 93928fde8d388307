"""python run.py [NAME]...: all programs, or these, judged; ends with an error when one is not as expected.
python run.py --file NAME: those of programs_NAME.py; with SILENCE_PART=3 in the environment every third one, from the first on."""

import importlib
import os
import pathlib
import subprocess
import sys
import warnings

FOLDER = pathlib.Path(__file__).parent


def load_cases():
    sys.path.insert(0, str(FOLDER))
    import torch

    torch.manual_seed(int(os.environ.get("SILENCE_SEED", "0")))  # of the programs' inputs
    for file in sorted(FOLDER.glob("programs_*.py")):
        importlib.import_module(file.stem)
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


def judged(names):
    """(name, verdict, text) of each. A process that dies takes one program with it."""
    left = list(names)
    while left:
        command = [sys.executable, "-B", __file__, "--work", *left]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in process.stdout:
            if line.startswith("@end\t"):
                verdict, text = line.rstrip("\n").split("\t")[1:]
                yield left.pop(0), verdict, text
        if process.wait() or left:
            yield left.pop(0) if left else "?", "crashed", f"the process died with {process.returncode}"


def main(names):
    harness = load_cases()
    if names[:1] == ["--work"]:
        return work(harness, names[1:])
    if names[:1] == ["--file"]:
        names = [name for name, case in harness.CASES.items() if case.make.__module__ == f"programs_{names[1]}"] or names
        names = names[:: int(os.environ.get("SILENCE_PART", "1"))]
    unknown = [name for name in names if name not in harness.CASES]
    if unknown:
        sys.exit(f"there are no programs {unknown}")
    counts, wrong = {}, 0
    for name, verdict, text in judged(names or list(harness.CASES)):
        fine = name in harness.CASES and verdict in harness.CASES[name].expect
        counts[verdict] = counts.get(verdict, 0) + 1
        wrong += not fine
        print(f"{verdict:8} {name:34} {text}" + ("" if fine else "   <-- not as expected"), flush=True)
    print(", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items())))
    print(f"{sum(counts.values()) - wrong} passed, {wrong} failed")
    return sys.exit(1 if wrong else 0)


main(sys.argv[1:])
