"""Times eager PyTorch on one model in this process and prints one JSON object.

    python eager_worker.py --zoo NAME --threads N --seconds S
    python eager_worker.py --module FILE.pt --threads N --seconds S     FILE holds (module, inputs)
"""
import argparse
import json
import os
import sys
import time
import warnings

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "models"), os.path.join(TESTS, "demo")]


def load(args):
    import torch
    if args.module:
        return torch.load(args.module, weights_only=False)
    import zoo
    return zoo.get(args.zoo)


def time_calls(call, seconds):
    """Latencies in ms of repeated calls for that long (at least five), after a warm-up, and processor time of one."""
    end = time.perf_counter() + min(0.5, seconds)
    call()
    while time.perf_counter() < end:
        call()
    latencies = []
    end, processor = time.perf_counter() + seconds, time.process_time()
    while time.perf_counter() < end or len(latencies) < 5:
        begin = time.perf_counter()
        call()
        latencies.append((time.perf_counter() - begin) * 1e3)
    return {"latencies_ms": latencies, "cpu_ms": (time.process_time() - processor) * 1e3 / len(latencies)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    subject = parser.add_mutually_exclusive_group(required=True)
    subject.add_argument("--zoo")
    subject.add_argument("--module")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.filterwarnings("ignore")
    import torch
    torch.set_num_threads(args.threads)
    module, inputs = load(args)
    with torch.inference_mode():
        times = time_calls(lambda: module(*inputs), args.seconds)
    print(json.dumps({**times, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
