"""PyTorch's own operator samples (OpInfo) through lazy-export and lazy-run: how far the coverage goes.

    op_db.py BIN_DIR FOLDER [NAME...]    the named operators, or those that op_db.txt says are right; behind them it has the
                                         others, with the reason

One line for each operator: ok, or why not. Exit code 1 when an operator of op_db.txt is not ok. A sample that
torch.export refuses is left out and counted.
"""
import os
import sys
import types
import unittest
import warnings

import run_ops

MOST_SAMPLES = 12

# Samples that are refused rightly, or have no result to compare: {operator: (why, which to keep)}.
LEFT_OUT = {
    "nn.functional.avg_pool2d": ("a negative divisor", lambda s: (s.kwargs.get("divisor_override") or 0) >= 0),
    "nn.functional.batch_norm": ("training updates statistics", lambda s: not s.kwargs.get("training", False)),
    "nn.functional.embedding": ("max_norm writes into the weights", lambda s: s.kwargs.get("max_norm") is None),
    "nn.functional.group_norm": ("negative eps", lambda s: s.kwargs.get("eps", 1) >= 0),
    "nn.functional.instance_norm": ("training updates statistics", lambda s: s.kwargs.get("running_mean") is None),
    "nn.functional.layer_norm": ("negative eps", lambda s: s.kwargs.get("eps", 1) >= 0),
    "nn.functional.max_pool1d": ("indices", lambda s: not s.kwargs.get("return_indices", False)),
    "nn.functional.max_pool2d": ("indices", lambda s: not s.kwargs.get("return_indices", False)),
    "nn.functional.rms_norm": ("negative eps", lambda s: (s.kwargs.get("eps") or 1) >= 0),
    "nn.functional.scaled_dot_product_attention": ("dropout", lambda s: not s.kwargs.get("dropout_p", 0)),
    "nn.functional.upsample_nearest": ("three spatial dims", lambda s: s.input.dim() < 5),
    "index_put": ("result depends on data", lambda s: all(t.dtype.is_signed for t in s.args[0])),
    "native_layer_norm": ("negative eps", lambda s: s.args[-1] >= 0),
    "repeat_interleave": ("result's size depends on data", lambda s: isinstance((*s.args, *s.kwargs.values())[0], int)),
    "tensor_split": ("split points in a tensor", lambda s: isinstance(s.args[0], (int, tuple, list))),
}


def op_infos():
    """op_db by name, with a variant behind a dot; its module wants a package of PyTorch's developers for tests that are not run here."""
    stub = types.ModuleType("expecttest")
    stub.TestCase = unittest.TestCase
    stub.assert_expected_inline = None
    sys.modules.setdefault("expecttest", stub)
    from torch.testing._internal.common_methods_invocations import op_db
    return {info.full_name: info for info in reversed(op_db)}  # of those with one name the first


def sample_case(info, number, sample):
    """Tensors become inputs, the rest stays as it is in the call."""
    import torch
    import torch.utils._pytree as pytree

    import cases

    leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def call(*tensors):
        given = list(leaves)
        for place, tensor in zip(places, tensors):
            given[place] = tensor
        args, kwargs = pytree.tree_unflatten(given, spec)
        return info.op(*args, **kwargs)

    return cases.Case(f"{info.name}.{number}", call, tuple(leaves[i].detach() for i in places), 1e-4)


def usable_cases(info):
    """The samples that torch.export takes, spread over all of them; and how many it did not take."""
    import torch
    dtype = torch.float32 if torch.float32 in info.dtypes else sorted(info.dtypes, key=str)[0]
    keep = LEFT_OUT.get(info.full_name, ("", lambda sample: True))[1]
    samples = [s for s in info.sample_inputs("cpu", dtype, requires_grad=False) if keep(s)]
    step = max(1, len(samples) // MOST_SAMPLES)
    batch_type, usable, refused = run_ops.make_batch_type(), [], 0
    for number in list(range(0, len(samples), step))[:MOST_SAMPLES]:
        case = sample_case(info, number, samples[number])
        try:
            with torch.no_grad():
                torch.export.export(batch_type([case]).eval(), (case.inputs,))
            usable.append(case)
        except Exception:
            refused += 1
    return usable, refused


def check_op(bin_dir, folder, info):
    name = "op_db." + info.full_name
    usable, refused = usable_cases(info)
    note = f" ({refused} samples not taken by torch.export)" if refused else ""
    if not usable:
        return "no samples" + note
    run_ops.export_batch(folder, name, usable)
    failures = run_ops.check(bin_dir, folder, name)
    if info.full_name in LEFT_OUT:
        note += f" (left out: {LEFT_OUT[info.full_name][0]})"
    return "\n    ".join(failures[:6]) if failures else "ok" + note


def main():
    bin_dir, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    import torch
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if not names:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "op_db.txt")) as file:
            names = file.read().split("# Not ok")[0].split()
    infos, bad = op_infos(), 0
    for name in names:
        try:
            result = check_op(bin_dir, folder, infos[name])
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        bad += not result.startswith("ok")
        print(f"{name}: {result}", flush=True)
    print(f"{len(names) - bad} of {len(names)} operators ok")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
