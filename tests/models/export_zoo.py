"""Writes the test models as .pt2 files, all in one Python process.

Beside NAME.pt2 comes NAME.npz: the inputs in0, in1, ... and eager PyTorch's outputs out0, out1, ...

    python export_zoo.py OUT_DIR [NAME]...        the zoo, minilm and digits; default: all of them
    python export_zoo.py --extra OUT_DIR [NAME]...   the models of extra_zoo.py

A file that is there is kept if it is newer than the Python sources that make it (--force writes anew).
"""
import argparse
import os
import sys
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
sys.path.insert(1, os.path.join(os.path.dirname(HERE), "demo"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")


def makers(extra):
    """{name: function -> (module, example inputs)}"""
    if extra:
        import extra_zoo
        return {name: (lambda n=name: extra_zoo.get(n)) for name in extra_zoo.NAMES}
    import demo_models
    import zoo
    made = {name: (lambda n=name: zoo.get(n)) for name in zoo.NAMES}
    made["minilm"] = demo_models.minilm_example
    made["digits"] = demo_models.digits_example
    return made


def newest_source():
    folders = [HERE, os.path.join(os.path.dirname(HERE), "demo")]
    names = ["zoo.py", "extra_zoo.py", "demo_models.py"]
    paths = [os.path.join(f, n) for f in folders for n in names]
    return max(os.path.getmtime(p) for p in paths if os.path.exists(p))


def save_examples(inputs, outputs, path):
    import numpy
    import torch
    outputs = [outputs] if torch.is_tensor(outputs) else list(outputs)
    arrays = {f"in{i}": t.numpy() for i, t in enumerate(inputs)}
    arrays.update({f"out{i}": t.contiguous().numpy() for i, t in enumerate(outputs)})
    numpy.savez(path, **arrays)


def export(make, path):
    import torch
    module, inputs = make()
    with torch.no_grad():
        save_examples(inputs, module(*inputs), path[:-len(".pt2")] + ".npz")
        program = torch.export.export(module, inputs, strict=False)
    partial = path[:-len(".pt2")] + ".partial.pt2"  # torch.export.save wants the .pt2 ending
    torch.export.save(program, partial)
    os.replace(partial, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extra", action="store_true", help="the models of extra_zoo.py")
    parser.add_argument("--force", action="store_true", help="write files that are there, too")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("out_dir")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    os.makedirs(args.out_dir, exist_ok=True)
    source_time = newest_source()
    import torch
    torch.set_num_threads(args.threads)
    available = makers(args.extra)
    wanted = args.names or list(available)
    unknown = [n for n in wanted if n not in available]
    if unknown:
        parser.error(f"no model named {', '.join(unknown)}; there are {', '.join(available)}")
    for number, name in enumerate(wanted, 1):
        path = os.path.join(args.out_dir, name + ".pt2")
        if not args.force and os.path.exists(path) and os.path.getmtime(path) >= source_time:
            continue
        begin = time.time()
        export(available[name], path)
        print(f"[{number}/{len(wanted)}] {name}.pt2  {os.path.getsize(path) / 1e6:.1f} MB  "
              f"{time.time() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
