"""Checks every ATen operator family through lazy-export and lazy-run against eager PyTorch.

    run_ops.py pt2 FOLDER [FAMILY...]        exports each family of cases.py as one program FOLDER/FAMILY.pt2
    run_ops.py check BIN_DIR FOLDER FAMILY   lazy-export it, run it on cpu and reference, compare each case

Exit code 0 when all cases agree; else each case that does not is named.
"""
import json
import os
import subprocess
import sys
import warnings

import numpy

BACKENDS = ("cpu", "reference")


def make_batch_type():
    """torch is imported only where a program is made: `check` does without it."""
    import torch
    import torch.utils._pytree as pytree

    class Batch(torch.nn.Module):
        """Several cases as one program, each with its own inputs."""

        def __init__(self, batch):
            super().__init__()
            self.calls = [case.call for case in batch]
            self.held = torch.nn.ModuleList(c for c in self.calls if isinstance(c, torch.nn.Module))

        def forward(self, *inputs):
            return [[t for t in pytree.tree_leaves(call(*given)) if isinstance(t, torch.Tensor)]
                    for call, given in zip(self.calls, inputs)]

    return Batch


def export_batch(folder, name, batch):
    """Writes NAME.pt2, what eager gives as NAME.npz, and NAME.json, the cases with their numbers of outputs."""
    import torch
    model, inputs = make_batch_type()(batch).eval(), tuple(case.inputs for case in batch)
    with torch.no_grad():
        results = model(*inputs)
        program = torch.export.export(model, inputs)
    torch.export.save(program, os.path.join(folder, name + ".pt2"))
    arrays, listing = {}, []
    for case, outputs in zip(batch, results):
        listing.append({"name": case.name, "outputs": len(outputs), "tolerance": case.tolerance})
        for t in outputs:
            arrays[f"out{len(arrays)}"] = t.numpy()
    numpy.savez(os.path.join(folder, name + ".npz"), **arrays)
    with open(os.path.join(folder, name + ".json"), "w") as file:
        json.dump(listing, file)
    return len(arrays)


def export_pt2(folder, names):
    import torch

    import cases

    os.makedirs(folder, exist_ok=True)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    failed = []
    for name, batch in cases.families().items():
        if names and name not in names:
            continue
        try:
            count = export_batch(folder, name, batch)
            print(f"{name}: {len(batch)} cases, {count} outputs", flush=True)
        except Exception:  # which case it is, is found one by one
            failed += [f"{name}: {line}" for line in blame(make_batch_type(), batch)]
    if failed:
        sys.exit("torch.export failed:\n" + "\n".join(failed))


def blame(batch_type, batch):
    import torch
    bad = []
    for case in batch:
        try:
            torch.export.export(batch_type([case]).eval(), (case.inputs,))
        except Exception as error:
            bad.append(f"{case.name}: {error}")
    return bad


def call(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout, done.stderr


def difference(got, wanted, tolerance):
    """Why `got` is not `wanted`, or None."""
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"is {got.dtype}{list(got.shape)}, eager gives {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype.kind != "f":
        bad = got != wanted
    else:
        bad = ~numpy.isclose(got, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not bad.any():
        return None
    at = numpy.unravel_index(bad.argmax(), bad.shape)
    return f"{bad.sum()} of {bad.size} elements differ, first at {list(map(int, at))}: {got[at]}, eager gives {wanted[at]}"


def compare(listing, wanted, got):
    failures, position = [], 0
    for case in listing:
        for i in range(case["outputs"]):
            why = difference(got[position], wanted[f"out{position}"], case["tolerance"])
            if why:
                failures.append(f"{case['name']}[{i}]: {why}")
            position += 1
    return failures


def check(bin_dir, folder, name):
    """The ways in which NAME is not as eager, one line each."""
    exporter, runner = (os.path.join(bin_dir, tool) for tool in ("lazy-export", "lazy-run"))
    model, bundle = (os.path.join(folder, name + ending) for ending in (".pt2", ".lzb"))
    code, _, errors = call([exporter, model, "-o", bundle, "--quiet", "--no-check"])
    if code:
        return [f"lazy-export: exit {code}: {errors.strip()}"]
    with open(os.path.join(folder, name + ".json")) as file:
        listing = json.load(file)
    wanted = numpy.load(os.path.join(folder, name + ".npz"))
    failures = []
    for backend in BACKENDS:
        out_dir = os.path.join(folder, f"{name}.{backend}")
        os.makedirs(out_dir, exist_ok=True)
        # Its own comparison has one tolerance for all: ours is case by case.
        code, text, errors = call([runner, bundle, "--backend", backend, "--json", "--output-dir", out_dir])
        outputs = json.loads(text)["outputs"] if text else []
        if len(outputs) != len(wanted):
            failures.append(f"{backend}: exit {code}, {len(outputs)} of {len(wanted)} outputs: {errors.strip()}")
            continue
        got = [numpy.load(o["file"]) for o in outputs]
        failures += [f"{backend}: {line}" for line in compare(listing, wanted, got)]
    return failures


def main():
    if sys.argv[1] == "pt2":
        return export_pt2(sys.argv[2], sys.argv[3:])
    failures = check(*sys.argv[2:])
    if failures:
        sys.exit(f"{len(failures)} failures of '{sys.argv[4]}':\n" + "\n".join(failures))
    print(f"{sys.argv[4]}: on {' and '.join(BACKENDS)} as eager")


if __name__ == "__main__":
    main()
