"""The demo: two real models through lazy-export and lazy-run, checked against eager PyTorch.

    python tests/demo/demo.py --bin-dir build/dev/bin [--work DIR] [--threads N] [--backend vulkan] [--quick]

(a) all-MiniLM-L6-v2 with its trained weights: sentences in, similarity table out.
(b) a small CNN, trained here within seconds on scikit-learn's digits: every held-out image recognised
    as eager PyTorch does.

Exit code 0 if every check passes, 1 if one fails, 2 if a command or a package is missing.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "bench")]
os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")
import interleave  # noqa: E402

SENTENCES = [
    "The cat sleeps on the warm windowsill.",
    "A kitten is napping in the sun.",
    "Stock markets fell sharply on Monday.",
    "Shares dropped at the start of the week.",
    "How do I bake sourdough bread?",
    "The recipe needs flour, water and salt.",
    "The runtime maps the model file into memory.",
    "Le chat dort au soleil.",
]
LEAST_COSINE = 0.99999


class CheckFailed(Exception):
    pass


class Demo:
    """The two CLIs and the folder they work in."""

    def __init__(self, args, work):
        self.args = args
        self.work = work
        self.exporter = self.tool("lazy-export")
        self.runner = self.tool("lazy-run")

    def tool(self, name):
        path = os.path.join(os.path.abspath(self.args.bin_dir), name)
        if not os.path.exists(path):
            raise SystemExit(f"demo: there is no {path}; build it first (toolchains/bootstrap demo)")
        return path

    def path(self, name):
        return os.path.join(self.work, name)

    def call(self, command):
        """stdout of the command; its failure ends the demo with what it said."""
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise CheckFailed(f"exit {done.returncode}: {' '.join(command)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def make_bundle(self, name, module, inputs):
        """Exports the module twice, by torch.export and by lazy-export; the bundle's path."""
        import torch
        model, bundle = self.path(name + ".pt2"), self.path(name + ".lzb")
        begin = time.time()
        with torch.no_grad():
            torch.export.save(torch.export.export(module, inputs, strict=False), model)
        say(f"torch.export: {name}.pt2, {time.time() - begin:.1f} s")
        print(self.call([self.exporter, model, "-o", bundle]).rstrip())
        say(f"bundle: {name}.lzb, {os.path.getsize(bundle) / 1e6:.2f} MB "
            f"({name}.pt2 {os.path.getsize(model) / 1e6:.2f} MB)")
        self.call([self.runner, bundle, "--backend", self.args.backend, "--threads", str(self.args.threads)])
        say("lazy-run reproduces the sample outputs kept in the bundle")
        return bundle

    def infer(self, bundle, inputs):
        """Outputs (numpy, in order) of lazy-run on {name: tensor}."""
        import numpy
        command = [self.runner, bundle, "--backend", self.args.backend, "--threads", str(self.args.threads), "--json", "--output-dir",
                   self.path("outputs")]
        for name, tensor in inputs.items():
            numpy.save(self.path(name + ".npy"), tensor.contiguous().numpy())
            command += ["--input", f"{name}={self.path(name + '.npy')}"]
        outputs = interleave.run_json(command)["outputs"]
        return [numpy.load(os.path.join(self.path("outputs"), os.path.basename(o["file"]))) for o in outputs]

    def latency(self, name, bundle, module, inputs):
        """Prints lazy-run's median latency beside eager's."""
        import torch
        saved = self.path(name + ".module.pt")
        torch.save((module, inputs), saved)
        seconds, rounds = (0.3, 1) if self.args.quick else (1.5, 3)
        threads = self.args.threads
        result = interleave.measure({
            "lazyrt": interleave.lazy_run_command(self.runner, bundle, threads, seconds, self.args.backend),
            "eager": interleave.eager_command(threads, seconds, module=saved)}, rounds)
        ours, eager = (result[n]["median_ms"] for n in ("lazyrt", "eager"))
        say(f"latency, {threads} thread(s), median of the best of {rounds} round(s): lazy-run {ours:.2f} ms, "
            f"eager PyTorch {eager:.2f} ms ({eager / ours:.2f}x)")


def say(text):
    print(f"  {text}", flush=True)


def similarity_table(embeddings):
    similarity = embeddings @ embeddings.T
    print("\n     " + "".join(f"{i + 1:>7d}" for i in range(len(SENTENCES))))
    for i, sentence in enumerate(SENTENCES):
        print(f"  {i + 1:>2d} " + "".join(f"{v:7.3f}" for v in similarity[i]) + f"   {sentence}")
    print()


def sentence_demo(demo):
    import numpy
    import torch
    import demo_models
    print("== all-MiniLM-L6-v2: sentences to similarities", flush=True)
    encoder, tokenize = demo_models.minilm()
    bundle = demo.make_bundle("minilm", encoder, tokenize(SENTENCES[0]))
    rows, worst = [], 1.0
    for sentence in SENTENCES:
        ids, mask = tokenize(sentence)
        ours = demo.infer(bundle, {"input_ids": ids, "attention_mask": mask})[0][0].astype(numpy.float64)
        with torch.inference_mode():
            eager = encoder(ids, mask)[0].double().numpy()
        cosine = float(ours @ eager / (numpy.linalg.norm(ours) * numpy.linalg.norm(eager)))
        worst = min(worst, cosine)
        rows.append(ours)
    similarity_table(numpy.stack(rows))
    say(f"least cosine with eager's embedding: {worst:.9f} (wanted: at least {LEAST_COSINE})")
    if not worst >= LEAST_COSINE:
        raise CheckFailed(f"an embedding differs from eager's: cosine {worst}")
    demo.latency("minilm", bundle, encoder, tokenize(SENTENCES[0]))


def digits_demo(demo):
    import torch
    import demo_models
    print("== digits: a CNN trained here", flush=True)
    begin = time.time()
    model, images, labels = demo_models.digits(epochs=2 if demo.args.quick else 8)
    say(f"trained in {time.time() - begin:.1f} s")
    bundle = demo.make_bundle("digits", model, (images,))
    with torch.inference_mode():
        eager = model(images).argmax(1)
    ours = torch.from_numpy(demo.infer(bundle, {"image": images})[0]).argmax(1)
    same, right = int((ours == eager).sum()), int((ours == labels).sum())
    say(f"{same} of {len(labels)} held-out images: same prediction as eager; {right} recognised rightly")
    if same != len(labels):
        raise CheckFailed(f"{len(labels) - same} predictions differ from eager's")
    demo.latency("digits", bundle, model, (images,))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", required=True, help="folder of lazy-export and lazy-run")
    parser.add_argument("--work", help="folder for the files made; default: a temporary one, removed at the end")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--backend", default="cpu", help="of lazy-run: cpu, vulkan, auto, reference")
    parser.add_argument("--quick", action="store_true", help="less training and timing; the same checks")
    args = parser.parse_args()
    try:
        import sklearn  # noqa: F401
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        print(f"demo: {error}; run it with the Python environment of toolchains/bootstrap", file=sys.stderr)
        return 2
    torch.set_num_threads(args.threads)
    with tempfile.TemporaryDirectory(prefix="lazyrt-demo-") as temporary:
        work = os.path.abspath(args.work) if args.work else temporary
        os.makedirs(work, exist_ok=True)
        try:
            demo = Demo(args, work)
            sentence_demo(demo)
            digits_demo(demo)
        except (CheckFailed, interleave.MeasurementError) as error:
            print(f"\nDEMO FAILED: {error}", file=sys.stderr)
            return 1
    print("\nall checks of the demo pass")
    return 0


if __name__ == "__main__":
    sys.exit(main())
