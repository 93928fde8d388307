"""lazy-run and ncnn on Vulkan, and eager PyTorch, on the eleven models, interleaved, each run in its own process.

    python tests/bench/compare_vulkan.py --bin-dir build/release/bin --models-dir build/dev/models --work build/bench \
        --ncnn-python VENV/bin/python [--models a,b] [--rounds 2] [--seconds 1] [--markdown FILE] [--json FILE]

--models-dir has NAME.lzb and NAME.npz, as the model tests make them. --ncnn-python is a Python with ncnn, pnnx and
torch. All run in float32, on the first device of Vulkan, eager on the CPU. Each time is the median of the best round;
a ratio above 1 says that lazy-run is faster.
"""
import argparse
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]
import compare_eager  # noqa: E402
import interleave  # noqa: E402

EAGER_THREADS = 2
SHORT_TYPES = {"float32": "f32", "int64": "i64"}


def write_inputs(examples, folder):
    """For lazy-run --input-dir."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "inputs.txt"), "w") as f:
        for key in sorted(k for k in examples if k.startswith("in")):
            array = examples[key]
            array.tofile(os.path.join(folder, key + ".bin"))
            f.write(f"{key}.bin {SHORT_TYPES[str(array.dtype)]} {array.ndim} {' '.join(map(str, array.shape))}\n")


def difference(path, wanted):
    """The largest difference from eager's first output, relative to its largest value."""
    import numpy
    got = numpy.fromfile(path, numpy.float32)
    if got.size != wanted.size:
        raise interleave.MeasurementError(f"{got.size} values, eager has {wanted.size}")
    return float(abs(got - wanted.ravel()).max() / abs(wanted).max())


class Model:
    def __init__(self, args, name):
        import numpy
        self.args, self.name = args, name
        self.examples_path = os.path.join(args.models_dir, name + ".npz")
        self.examples = dict(numpy.load(self.examples_path))
        self.folder = os.path.join(args.work, "vulkan", name)
        write_inputs(self.examples, self.folder)

    def output(self, who):
        return os.path.join(self.folder, who + ".f32")

    def ncnn(self, what, *options):
        return [self.args.ncnn_python, os.path.join(HERE, "ncnn_worker.py"), what, self.name, self.folder, *options]

    def commands(self):
        seconds = str(self.args.seconds)
        bundle = os.path.join(self.args.models_dir, self.name + ".lzb")
        lazyrt = interleave.lazy_run_command(os.path.join(self.args.bin_dir, "lazy-run"), bundle, 1, seconds, "vulkan")
        return {
            "lazyrt": lazyrt + ["--input-dir", self.folder, "--raw-output", self.output("lazyrt")],
            "ncnn": self.ncnn("run", self.examples_path, "--seconds", seconds, "--output", self.output("ncnn")),
            "eager": interleave.eager_command(EAGER_THREADS, self.args.seconds, zoo=self.name),
        }

    def export_to_ncnn(self):
        if not os.path.exists(os.path.join(self.folder, self.name + ".ncnn.bin")):
            interleave.run_json(self.ncnn("export"), self.args.timeout)

    def measure(self):
        contestants, refused = self.commands(), None
        try:  # what it cannot do it says here; this also fills the driver's cache
            self.export_to_ncnn()
            interleave.run_json(contestants["ncnn"], self.args.timeout)
            difference(self.output("ncnn"), self.examples["out0"])
        except (interleave.MeasurementError, subprocess.TimeoutExpired) as error:
            refused = str(error).strip().splitlines()[-1]
            del contestants["ncnn"]
        slots = interleave.measure(contestants, self.args.rounds)
        for slot in slots.values():
            slot["cpu_ms"] = slot["last"]["cpu_ms"]
        for who in slots:
            if who != "eager":
                slots[who]["difference"] = difference(self.output(who), self.examples["out0"])
            for name, ms in (("ratio", "median_ms"), ("cpu_ratio", "cpu_ms")):
                slots[who][name] = slots[who][ms] / slots["lazyrt"][ms]
        return {**slots, "refused": refused, "load": os.getloadavg()[0]}


def row(name, slots):
    figure = compare_eager.figure
    ours, eager = slots["lazyrt"], slots["eager"]
    ncnn = slots.get("ncnn")
    cells = [name, figure(ours["median_ms"]), figure(ncnn["median_ms"]) if ncnn else "–", figure(eager["median_ms"]),
             f"{ncnn['ratio']:.2f}" if ncnn else "–", f"{ncnn['cpu_ratio']:.2f}" if ncnn else "–",
             f"{eager['ratio']:.2f}", f"{ours['difference']:.0e}",
             f"{ncnn['difference']:.0e}" if ncnn else "–"]
    return "| " + " | ".join(cells) + " |"


def notes(results):
    for name, slots in results.items():
        if slots["refused"]:
            yield f"{name}: ncnn cannot run it: {slots['refused']}"
        elif slots["ncnn"]["last"]["on_cpu"]:
            yield f"{name}: ncnn runs on the CPU: {', '.join(slots['ncnn']['last']['on_cpu'])}"


def markdown(results, args, load_before):
    last = next((s["ncnn"]["last"] for s in results.values() if "ncnn" in s), {"device": "?", "ncnn": "?"})
    loads = [load_before, *(slots["load"] for slots in results.values())]
    lines = [f"Median latency in ms, batch 1, float32; Vulkan on {last['device']}, eager with {EAGER_THREADS} threads on "
             f"{compare_eager.cpu_name()}; ncnn {last['ncnn']}; best of {args.rounds} interleaved round(s); load average "
             f"{min(loads):.1f} to {max(loads):.1f} on {os.cpu_count()} cores.", "",
             "| model | LazyRT | ncnn | eager | ncnn ÷ LazyRT | of processor time | eager ÷ LazyRT | LazyRT − eager | "
             "ncnn − eager |", "|---|" + "---:|" * 8]
    lines += [row(name, slots) for name, slots in results.items()]
    return "\n".join([*lines, "", *notes(results)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", required=True, help="folder of lazy-run")
    parser.add_argument("--models-dir", required=True)
    parser.add_argument("--work", required=True, help="folder for ncnn's files and outputs")
    parser.add_argument("--ncnn-python", required=True)
    parser.add_argument("--models", default=",".join(compare_eager.NAMES))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0, help="timed loop of one process")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for ncnn's export and its first run")
    parser.add_argument("--markdown", help="write the table there; it goes to stdout as well")
    parser.add_argument("--json", help="write every figure there")
    args = parser.parse_args()
    load_before = os.getloadavg()[0]
    results = {}
    for name in args.models.split(","):
        results[name] = Model(args, name).measure()
        print(row(name, results[name]), file=sys.stderr, flush=True)
    table = markdown(results, args, load_before)
    print(table)
    if args.markdown:
        with open(args.markdown, "w") as f:
            f.write(table)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
