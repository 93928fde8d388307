"""lazy-run against eager PyTorch on the eleven models, interleaved, each run in its own process.

    python tests/bench/compare_eager.py --bin-dir build/release/bin --work build/bench \
        [--models a,b] [--threads 1,2] [--rounds 3] [--seconds 1] [--markdown FILE] [--json FILE]

Models are exported into --work first, where they are not there yet. Each figure is the median latency
of the best round; a ratio above 1 says that lazy-run is faster. Run it on an idle machine.
"""
import argparse
import math
import os
import platform
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
MODELS_DIR = os.path.join(os.path.dirname(HERE), "models")
sys.path[:0] = [HERE]
import interleave  # noqa: E402

NAMES = ["mobilenet_v2", "mobilenet_v3_large", "resnet18", "resnet50", "efficientnet_b0", "vit_tiny", "bert_mini",
         "ds_cnn", "conv_gru", "llama_tiny", "unet_small"]


def prepare(bin_dir, work, names):
    """Writes WORK/NAME.pt2 and WORK/NAME.lzb where they are missing or older than what makes them."""
    subprocess.run([sys.executable, os.path.join(MODELS_DIR, "export_zoo.py"), work, *names], check=True)
    exporter = os.path.join(bin_dir, "lazy-export")
    for name in names:
        model, bundle = (os.path.join(work, name + ending) for ending in (".pt2", ".lzb"))
        made = os.path.getmtime(bundle) if os.path.exists(bundle) else 0
        if made < max(os.path.getmtime(model), os.path.getmtime(exporter)):
            subprocess.run([exporter, model, "-o", bundle, "--quiet"], check=True)


def cpu_name():
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown CPU"


def measure_all(args, names, threads):
    results = {}
    for name in names:
        for count in threads:
            bundle = os.path.join(args.work, name + ".lzb")
            contestants = {
                "lazyrt": interleave.lazy_run_command(os.path.join(args.bin_dir, "lazy-run"), bundle, count,
                                                      args.seconds),
                "eager": interleave.eager_command(count, args.seconds, zoo=name),
            }
            try:
                slot = interleave.measure(contestants, args.rounds)
                slot["ratio"] = slot["eager"]["median_ms"] / slot["lazyrt"]["median_ms"]
                text = f"{slot['lazyrt']['median_ms']:.3f} ms, eager {slot['eager']['median_ms']:.3f} ms"
            except interleave.MeasurementError as error:
                slot, text = {"error": str(error)}, f"FAILED: {error}"
            results.setdefault(name, {})[str(count)] = slot
            print(f"{name}, {count} thread(s): {text}", file=sys.stderr, flush=True)
    return results


def figure(ms):
    return f"{ms:.3f}" if ms < 1 else f"{ms:.2f}" if ms < 10 else f"{ms:.1f}"


def row(slots, threads):
    cells = []
    for count in threads:
        slot = slots[str(count)]
        cells += (["failed", "–", "–"] if "error" in slot else
                  [figure(slot["lazyrt"]["median_ms"]), figure(slot["eager"]["median_ms"]), f"{slot['ratio']:.2f}"])
    return cells


def geometric_mean(results, count):
    ratios = [slots[str(count)]["ratio"] for slots in results.values() if "ratio" in slots[str(count)]]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def busy_text(about):
    """A warning for the table's caption if other work was running: then only ratios say something."""
    before = about["load_average_before"]
    if before < 0.5 * about["cores"]:
        return ""
    return (f" **Other work was running** (load average {before:.1f} on {about['cores']} cores before the start): "
            "absolute times are too long and single ratios rough.")


def markdown(results, threads, about):
    head = ["model"]
    for count in threads:
        unit = "1 thread" if count == 1 else f"{count} threads"
        head += [f"LazyRT, {unit}", f"eager, {unit}", "eager ÷ LazyRT"]
    lines = [f"Median latency in ms, batch 1, float32; {about['cpu']}, PyTorch {about['torch']}, {about['date']}; "
             f"best of {about['rounds']} interleaved round(s).{busy_text(about)}", "",
             "| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    lines += ["| " + " | ".join([name] + row(slots, threads)) + " |" for name, slots in results.items()]
    means = []
    for count in threads:
        means += ["", "", f"**{geometric_mean(results, count):.2f}**"]
    lines.append("| geometric mean | " + " | ".join(means) + " |")
    return "\n".join(lines) + "\n"


def about_run(args, results, load_before):
    versions = [s["eager"]["last"]["torch"] for slots in results.values() for s in slots.values() if "eager" in s]
    date = subprocess.run(["date", "-u", "+%Y-%m-%d"], capture_output=True, text=True).stdout.strip()
    return {"cpu": cpu_name(), "cores": os.cpu_count(), "torch": versions[0] if versions else "?", "date": date,
            "rounds": args.rounds, "seconds": args.seconds, "load_average_before": load_before, "load_average_after": os.getloadavg()[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", required=True, help="folder of lazy-export and lazy-run")
    parser.add_argument("--work", required=True, help="folder for .pt2 and .lzb files")
    parser.add_argument("--models", default=",".join(NAMES))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="timed loop of one process")
    parser.add_argument("--markdown", help="write the table there; it goes to stdout as well")
    parser.add_argument("--json", help="write every figure there")
    args = parser.parse_args()
    names = [n for n in args.models.split(",") if n]
    threads = [int(t) for t in args.threads.split(",")]
    prepare(args.bin_dir, args.work, names)
    load_before = os.getloadavg()[0]
    results = measure_all(args, names, threads)
    about = about_run(args, results, load_before)
    interleave.report(markdown(results, threads, about), {"about": about, "results": results}, args)
    failed = any("error" in slot for slots in results.values() for slot in slots.values())
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
