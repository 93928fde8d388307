"""Writes the verdict of every program to a file, and compares two such files.

    verdicts.py OUT.tsv [--subset] [--jobs N] [SUITE...]     suites of tests/silence, "python" (tests/python) and "sweep" (tests/models/sweep.py)
    verdicts.py --compare OLD.tsv NEW.tsv

A row is: suite, program, verdict, verdict of the bundle or the reason. What OUT has already is not done again."""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

FOLDER = pathlib.Path(__file__).resolve().parent
SUBSET = ("people", "models", "streams", "state", "ordinary", "held", "attention", "python", "sweep")
SWEPT = {
    "timm": "convnext_pico crossvit_tiny_240 deit_tiny_patch16_224 efficientvit_b0 ghostnet_050 levit_384_s8 mobilenetv3_small_050 resnet18 swin_s3_tiny_224 "
            "vit_tiny_patch16_224",
    "transformers": "albert bart bert bloom clip deberta deberta-v2 distilbert electra encodec falcon_mamba gemma2 gpt2 gpt_neox hubert llama longformer mamba "
                    "mimi mistral mixtral phi3 qwen2 reformer roberta segformer t5 wav2vec2 whisper xlnet",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--subset", action="store_true", help="the suites " + ", ".join(SUBSET) + ", and of the sweep 40 models")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("names", nargs="+", metavar="FILE or SUITE")
    given = parser.parse_args()
    if given.compare:
        return compare(*map(read, given.names))
    path, *suites = given.names
    known = read(path)
    suites = suites or (SUBSET if given.subset else all_suites())
    with open(path, "a") as out, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        done = {suite for suite, _ in known}
        for rows in pool.map(lambda suite: rows_of(suite, given.subset), [suite for suite in suites if suite not in done]):
            out.writelines("\t".join(" ".join(str(item).split()) for item in row) + "\n" for row in rows)
            out.flush()
    counts = collections.Counter(verdict for verdict, _ in read(path).values())
    print(", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items())))


def all_suites():
    return [*sorted(file.stem.removeprefix("programs_") for file in FOLDER.glob("programs_*.py")), "python", "sweep"]


def rows_of(suite, subset):
    if suite == "python":
        return list(rows_of_pytest())
    return list(rows_of_sweep(subset) if suite == "sweep" else rows_of_programs(suite))


def rows_of_programs(suite):
    done = subprocess.run([sys.executable, "-B", "-W", "ignore", FOLDER / "run.py", "--file", suite], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        verdict, name, *text = line.split(None, 2)
        if verdict in ("right", "refused", "failed", "silent", "crashed") and not name.strip(",").isdigit():
            yield suite, name, verdict, (text or [""])[0][:160]


def rows_of_pytest():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "tests.xml")
        subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={path}", FOLDER.parent / "python"], capture_output=True)
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            bad = [part for part in case if part.tag in ("failure", "error", "skipped")]
            verdict = {"failure": "failing", "error": "failing", "skipped": "skipped"}[bad[0].tag] if bad else "passing"
            yield "python", f"{case.get('classname').rpartition('.')[2]}::{case.get('name')}", verdict, (bad[0].get("message") or "")[:160] if bad else ""


def rows_of_sweep(subset):
    for kind, names in SWEPT.items():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.tsv")
            subprocess.run([sys.executable, "-B", FOLDER.parent / "models" / "sweep.py", kind, path, *(names.split() if subset else ())], capture_output=True)
            with open(path) as file:
                for name, verdict, _, detail in (line.rstrip("\n").split("\t") for line in file):
                    yield "sweep", f"{kind}/{name}", verdict, detail[:160]


def read(path):
    """{(suite, program): (verdict, reason)}"""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return {(suite, name): (verdict, reason) for suite, name, verdict, reason in rows}


def compare(old, new):
    """Prints what changed, counted by kind; what the new file lacks as a whole suite was not asked for."""
    suites = {suite for suite, _ in new}
    kinds = collections.defaultdict(list)
    for key in [key for key in {**old, **new} if key[0] in suites]:
        before, after = (side.get(key, ("absent", "")) for side in (old, new))
        if before[0] != after[0]:
            kinds[f"{before[0]} -> {after[0]}"].append((key, after[1] or before[1]))
        elif before[0] == "right" and before[1] != after[1]:
            kinds[f"right, {before[1]} -> {after[1]}"].append((key, ""))
    for kind, found in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{kind}: {len(found)}")
        for (suite, name), reason in found if "absent" not in kind else ():
            print(f"  {suite}.{name}  {reason}")


main()
