"""What a bundle of any size costs beside one of the sample's size: instructions of a run at the sample's sizes (callgrind, one thread, so that a busy machine
does not matter), and the arena at several sizes beside the least that any plan needs.

    PYTHONPATH=build/dev/python python tests/bench/sized_cost.py --bin-dir build/dev/bin --work build/bench/sized [NAME]...

Bundles that are in the work folder are taken as they are. bound_arena has to be built by name."""
import argparse
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "models")]
import check_sizes  # noqa: E402

RUNS = 8  # of lazy-run --bench in no time: three to warm up, and the five that it makes at least


def export(name, static, sized):
    import lazyrt
    module, arguments, ranges, dims = check_sizes.built(name)
    module.requires_grad_(False)
    start = arguments(**{symbol: bounds[2] for symbol, bounds in ranges.items()})
    if not os.path.exists(static):
        lazyrt.export(module, start, static, check="none")
    if not os.path.exists(sized):
        lazyrt.export(module, start, sized, dynamic=check_sizes.dynamic_of(module, ranges, dims), check="none")


def instructions(lazy_run, bundle, work):
    """Of one Session::run."""
    out = os.path.join(work, "callgrind.out")
    command = ["valgrind", "--tool=callgrind", "--toggle-collect=lazyrt::Session::run*", f"--callgrind-out-file={out}", lazy_run, bundle, "--bench", "0.001",
               "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-800:]}")
    with open(out) as file:
        return int(re.search(r"^(?:totals|summary): (\d+)", file.read(), re.MULTILINE).group(1)) / RUNS


def arenas(bin_dir, bundle, ranges):
    """(largest ratio of an arena to its lower bound, milliseconds of binding) over both ends and the middle."""
    worst, slowest = 0.0, 0.0
    for choose in (lambda least, most, *_: least, lambda least, most, *_: most, lambda least, most, start, step=1: (least + most) // 2 // step * step):
        sizes = [f"{symbol}={choose(*bounds)}" for symbol, bounds in ranges.items()]
        text = subprocess.run([os.path.join(bin_dir, "bound_arena"), bundle, *sizes], capture_output=True, text=True, check=True).stdout
        worst = max([worst, *(float(ratio) for ratio in re.findall(r"([\d.]+) of it", text))])
        slowest = max(slowest, float(re.search(r"([\d.]+) ms", text).group(1)))
    return worst, slowest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    print("| model | instructions of a run, any size ÷ static | arena ÷ lower bound, worst | metadata of other sizes, ms |\n|---|---:|---:|---:|")
    for name in args.names or list(check_sizes.ZOO):
        static, sized = (os.path.join(args.work, f"{name}{kind}.lzb") for kind in (".static", ""))
        export(name, static, sized)
        lazy_run = os.path.join(args.bin_dir, "lazy-run")
        ratio = instructions(lazy_run, sized, args.work) / instructions(lazy_run, static, args.work)
        worst, slowest = arenas(args.bin_dir, sized, check_sizes.ZOO[name][1])
        print(f"| {name} | {ratio:.4f} | {worst:.3f} | {slowest:.2f} |", flush=True)


if __name__ == "__main__":
    main()
