"""Interleaved measurement: each contestant in its own fresh process, round after round."""
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SHORT_TYPES = {"float32": "f32", "int64": "i64"}  # names of element types in files of inputs


class MeasurementError(Exception):
    """A contestant failed; the text says which, its exit code and what it printed."""


def run_json(command, timeout=300):
    """The JSON object on the last line of the command's stdout."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout)
    tail = (done.stderr or done.stdout).strip()[-1500:]
    if done.returncode:
        raise MeasurementError(f"exit {done.returncode}: {' '.join(command)}\n{tail}")
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        raise MeasurementError(f"no JSON on the last line of: {' '.join(command)}\n{tail}") from None


def lazy_run_command(lazy_run, bundle, threads, seconds, backend="cpu"):
    return [lazy_run, bundle, "--backend", backend, "--threads", str(threads), "--bench", str(seconds), "--json"]


def eager_command(threads, seconds, zoo=None, module=None):
    """Eager PyTorch on a zoo model, or on a (module, inputs) pair saved by torch.save."""
    subject = ["--zoo", zoo] if zoo else ["--module", module]
    return [sys.executable, os.path.join(HERE, "eager_worker.py"), *subject,
            "--threads", str(threads), "--seconds", str(seconds)]


def measure(contestants, rounds, say=lambda text: None):
    """contestants: {name: command}. Each round runs each once, in alternating order.

    Returns {name: {"median_ms": median of the best round, "rounds_ms": [median of each], "last": JSON}}.
    """
    medians = {name: [] for name in contestants}
    last = {}
    for number in range(rounds):
        order = list(contestants) if number % 2 == 0 else list(reversed(contestants))
        for name in order:
            last[name] = run_json(contestants[name])
            latencies = last[name].pop("latencies_ms")
            medians[name].append(statistics.median(latencies))
        say(f"round {number + 1}/{rounds}")
    return {name: {"median_ms": min(values), "rounds_ms": values, "last": last[name]}
            for name, values in medians.items()}


def report(table, figures, args):
    """Prints the table, and writes it and the figures to args.markdown and args.json where these are given."""
    print(table)
    if args.markdown:
        with open(args.markdown, "w") as f:
            f.write(table)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(figures, f, indent=1)
