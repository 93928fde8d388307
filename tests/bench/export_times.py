"""How long an export takes beyond importing torch: trace, passes, emit and the check against eager, each by itself.

    PYTHONPATH=build/dev/python python tests/bench/export_times.py --work build/bench [--models a,b] [--chain 10000]
        [--rounds 3]

Models of tests/models/zoo.py and, last, a chain of CHAIN nodes, exported in place from Python. Each round is a fresh
process; the figures are those of the fastest round. "first" is what the process's first export pays once.
"""
import argparse
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "models")]
STAGES = ("trace", "passes", "emit", "check")


def chain(length):
    import torch

    def program(x):
        for i in range(length // 2):
            x = torch.sin(x) + i % 7
        return x

    return program, (torch.randn(64),)


def subject(name):
    if name.startswith("chain "):
        return chain(int(name.split()[1]))
    import zoo
    return zoo.get(name)


def worker(name, work):
    import torch

    import lazyrt
    torch.set_num_threads(2)
    model, inputs = subject(name)
    path = os.path.join(work, "times.lzb")
    start = time.perf_counter()
    lazyrt.export(lambda x: x + 1, (torch.ones(2),), path)
    first = time.perf_counter() - start
    start = time.perf_counter()
    report = lazyrt.export(model, inputs, path)
    total = time.perf_counter() - start
    seconds = report.to_json()["seconds"]
    os.remove(path)
    print(json.dumps({"nodes": report.nodes, "first": first, "total": total, **{s: seconds[s] for s in STAGES}}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", default=".")
    parser.add_argument("--models", default="vit_tiny,bert_mini,mobilenet_v2,resnet50")
    parser.add_argument("--chain", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return worker(args.worker, args.work)
    os.makedirs(args.work, exist_ok=True)
    columns = ("nodes", *STAGES, "total", "first")
    print("| seconds | " + " | ".join(columns) + " |\n|---|" + "---:|" * len(columns))
    for name in [*filter(None, args.models.split(",")), *([f"chain {args.chain}"] if args.chain else [])]:
        command = [sys.executable, os.path.abspath(__file__), "--worker", name, "--work", args.work]
        runs = [json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])
                for _ in range(args.rounds)]
        best = min(runs, key=lambda run: run["total"])
        cells = [f"{best[c]:.2f}" if isinstance(best[c], float) else str(best[c]) for c in columns]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
