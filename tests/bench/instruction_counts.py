"""Instructions of one run in QEMU: DS-CNN on Cortex-M by the reference kernels, DS-CNN and mobilenet_v2 on 64-bit Arm by the cpu
backend with one thread. They say nothing of time, but the same build gives the same numbers on any machine: what grew shows.

    cmake --build --preset dev --target instruction_count conformance_folder
    cmake --preset linux-aarch64 && cmake --build --preset linux-aarch64 --target repeated_runs
    cmake --preset cortex-m4f && cmake --build --preset cortex-m4f --target repeated_runs        # cortex-m55, too
    python3 tests/bench/instruction_counts.py [--json FILE]

Builds that are not there are left out and named."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIRST, MORE = 1, 3  # runs: the difference of two processes, so that loading and packing are not counted


def board(target):
    with open(os.path.join(ROOT, "toolchains/cross", target + ".cmake")) as file:
        return re.search(r"^set\(board (.*)\)$", file.read(), re.MULTILINE).group(1)


def command(target, program, bundle, runs, plugin):
    if target == "linux-aarch64":
        return ["qemu-aarch64", "-plugin", plugin, "-L", "/usr/aarch64-linux-gnu", program, bundle, str(runs)]
    return ["qemu-system-arm", "-plugin", plugin, "-M", board(target), "-display", "none", "-monitor", "none", "-serial", "none",
            "-chardev", "stdio,id=console", "-semihosting-config", f"enable=on,target=native,chardev=console,arg=runs,arg={runs}",
            "-kernel", program]


def counted(target, program, bundle, runs, plugin, work):
    out = os.path.join(work, "count")
    done = subprocess.run(command(target, program, bundle, runs, f"{plugin},out={out}"), capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode or not os.path.exists(out):
        sys.exit(f"{target}: {done.stdout}{done.stderr}\nno count: exit code {done.returncode}")
    with open(out) as file:
        count = int(file.read())
    os.remove(out)
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="the folder of the presets' builds")
    parser.add_argument("--json", help="write the numbers there")
    args = parser.parse_args()
    plugin = os.path.join(args.build, "dev/bin/instruction_count.so")
    if not os.path.exists(plugin):
        sys.exit(f"there is no {plugin}: cmake --build --preset dev --target instruction_count")
    counts = {}
    print(f"{'target':15}{'model':15}{'instructions of a run':>22}{'before the first':>20}")
    with tempfile.TemporaryDirectory() as work:
        for target, model in (("cortex-m4f", "ds_cnn"), ("cortex-m55", "ds_cnn"), ("linux-aarch64", "ds_cnn"), ("linux-aarch64", "mobilenet_v2")):
            program = os.path.join(args.build, target, "bin", "repeated_runs" + (".elf" if target.startswith("cortex") else ""))
            if not os.path.exists(program):
                print(f"{target:15}{model:15}left out: there is no {program}")
                continue
            bundle = os.path.join(args.build, "dev/conformance/models", model + ".lzb")
            first, more = (counted(target, program, bundle, runs, plugin, work) for runs in (FIRST, MORE))
            run = (more - first) // (MORE - FIRST)
            if run <= 0:
                sys.exit(f"{target}, {model}: {first} instructions with {FIRST} run, {more} with {MORE}")
            counts[f"{target}/{model}"] = {"run": run, "before": first - FIRST * run}
            print(f"{target:15}{model:15}{run:22,}{first - FIRST * run:20,}")
    if not counts:
        sys.exit("nothing was counted")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(counts, file, indent=1)


main()
