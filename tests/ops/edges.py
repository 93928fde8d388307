"""Edge values through the whole chain: lazyrt.export, lazyrt.load on cpu and reference, against eager PyTorch.

    edges.py [PATTERN...]   sweeps the cases of edge_cases.py whose names hold one of the patterns (all without one)
    edges.py --every N      every N-th case

edges_expected.txt lists the known differences; one that is no longer there fails. Where PyTorch with and without vector
kernels disagrees with itself (tests/support/oracle.py), either answer will do. Exit code 1 names each case that differs.
"""
import argparse
import dataclasses
import fnmatch
import os
import pathlib
import sys
import tempfile
import warnings

import numpy
import torch
import torch.utils._pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import edge_cases  # noqa: E402
import oracle  # noqa: E402

BACKENDS = ("cpu", "reference")
# Relative; what is subnormal may be off by as much as the least of the normal numbers is rounded by.
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def run_case(case):
    leaves = pytree.tree_leaves(case.call(*case.inputs))
    return [t for t in leaves if isinstance(t, torch.Tensor)]


def eager_answers(names):
    """{name: [results, on inputs that are rounded otherwise too], or the text of eager's refusal}"""
    torch.set_num_threads(1)
    cases, answers = edge_cases.all_cases(), {}
    for name in names:
        try:
            answers[name] = [run_case(variant) for variant in variants(cases[name])]
        except (RuntimeError, TypeError, NotImplementedError, IndexError) as error:
            answers[name] = str(error).splitlines()[0]
    return answers


def variants(case):
    """The case; if it rounds, also on its inputs' neighbours and in float64."""
    yield case
    if not case.rounds:
        return
    random = torch.Generator().manual_seed(0)

    def nudged(t):
        if not t.is_floating_point():
            return t
        towards = torch.where(torch.rand(t.shape, generator=random) < 0.5, -edge_cases.INF, edge_cases.INF).to(t.dtype)
        return torch.where(t.isfinite() & (t != 0), torch.nextafter(t, towards), t)
    for _ in range(2):
        yield dataclasses.replace(case, inputs=tuple(nudged(t) for t in case.inputs))
    if any(t.dtype == torch.float32 for t in case.inputs):
        yield dataclasses.replace(case, inputs=tuple(t.double() if t.dtype == torch.float32 else t for t in case.inputs))


# --- which rules the cases reach ----------------------------------------------------------------

class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name, overload = function._schema.name.removeprefix("aten::"), function._overloadname
        self.seen |= {name, f"{name}.{overload}"}
        return function(*args, **(kwargs or {}))


def unswept(cases):
    """Lines about rules that no case reaches and no reason excuses, and about reasons without need."""
    table, recorder = edge_cases.rules(), Recorder()
    with recorder:
        for case in cases:
            run_case(case)
    seen = {name.removesuffix("_") for name in recorder.seen} | {case.name.partition("/")[0] for case in cases}
    reached = {rule for rule in table if {rule, rule.removesuffix("_copy")} & seen}
    same = {table[rule] for rule in reached}  # two names of one function
    reached |= {rule for rule, function in table.items() if function in same}
    excused = edge_cases.UNSWEPT
    lines = [f"rule {rule} of {file}.cpp is swept by no case: add one to edge_cases.py, or a reason to UNSWEPT"
             for rule, (file, _) in table.items() if rule not in reached and rule not in excused and f"{file}.cpp" not in excused]
    return lines + [f"UNSWEPT holds {rule}, which is swept or not there" for rule in excused
                    if not rule.endswith(".cpp") and (rule in reached or rule not in table)]


# --- through the chain --------------------------------------------------------------------------

class Batch(torch.nn.Module):
    def __init__(self, cases):
        super().__init__()
        self.cases = cases

    def forward(self, inputs):
        return [[t for t in pytree.tree_leaves(case.call(*given)) if isinstance(t, torch.Tensor)]
                for case, given in zip(self.cases, inputs)]


def through_the_chain(cases, folder):
    """{(name, backend): results, or the text of our refusal}"""
    import lazyrt
    inputs = [list(case.inputs) for case in cases]
    bundle = os.path.join(folder, "edges.lzb")
    try:
        lazyrt.export(Batch(cases), (inputs,), bundle, second_trace=False, check=False, keep_samples=False)
        results = {}
        for backend in BACKENDS:
            for case, y in zip(cases, lazyrt.load(bundle, backend)(inputs)):
                results[case.name, backend] = [torch.as_tensor(t) for t in y]
        return results
    except lazyrt.Error as error:
        if len(cases) == 1:
            return {(cases[0].name, backend): ' '.join(str(error).split())[:300] for backend in BACKENDS}
        half = len(cases) // 2  # one that is refused is found, the others are not lost
        return {**through_the_chain(cases[:half], folder), **through_the_chain(cases[half:], folder)}


def batches(cases, size=60):
    return [cases[i:i + size] for i in range(0, len(cases), size)]


# --- judging ------------------------------------------------------------------------------------

def wrong_at(ours, theirs, slack, signed_zeros):
    """Elements that differ: in value, in being NaN or infinite, in the sign of zero."""
    if not theirs.dtype.is_floating_point:
        return ours != theirs
    x, y = ours.double(), theirs.double()
    info = torch.finfo(theirs.dtype)
    bound = TOLERANCE[theirs.dtype] * y.abs() + 4 * info.smallest_normal * info.eps + slack
    wrong = ~(((x - y).abs() <= bound) | (x == y) | (x.isnan() & y.isnan()))
    if signed_zeros:
        wrong |= (x == 0) & (y == 0) & (x.signbit() != y.signbit())
    return wrong


def slack_of(answers):
    """How far eager's answers lie apart, eightfold; none where they are not all finite."""
    first = answers[0].double()
    apart = [(first - a.double()).abs() for a in answers[1:]]
    return 8 * torch.stack(apart).nan_to_num(0, 0, 0).amax(0) if apart else torch.zeros_like(first)


def given_at(case, where, result):
    """The inputs that stand where the element does, if there are such."""
    parts = []
    for t in case.inputs:
        if t.shape == result.shape:
            parts.append(repr(t[where].item()))
        elif t.dim() == 2 and len(where) == 1 and max(t.shape) == len(result):
            parts.append(str((t if t.shape[0] == len(result) else t.t())[where[0]].tolist())[:160])
    return ", ".join(parts)


def judge(case, ours, answers):
    """(None or what differs, elements on which eager disagrees with itself)"""
    if isinstance(ours, str):
        return f"refused: {ours}", 0
    undecided = 0
    for i, (x, *all_answers) in enumerate(zip(ours, *answers, strict=True)):
        y = all_answers[0]
        if x.dtype != y.dtype or x.shape != y.shape:
            return f"[{i}] is {x.dtype}{list(x.shape)}, eager gives {y.dtype}{list(y.shape)}", undecided
        others = [a.to(y.dtype) for a in all_answers[1:]]
        slack = slack_of(all_answers) if case.rounds else 0
        wrong = wrong_at(x, y, slack, not case.rounds)
        for other in others:
            undecided += int(wrong_at(other, y, slack, not case.rounds).sum())
            wrong = wrong & wrong_at(x, other, slack, not case.rounds)
        if wrong.any():
            at = tuple(wrong.nonzero()[0].tolist())
            said = " or ".join(dict.fromkeys(repr(t[at].item()) for t in (y, *others)))
            zeros = wrong_at(x, y, slack, False) & wrong
            kind = "differ" if zeros.any() else "differ in the sign of zero"
            return (f"[{i}]: {int(wrong.sum())} of {wrong.numel()} {kind}, at {list(at)} ({given_at(case, at, y)}): "
                    f"{x[at].item()!r}, eager {said}"), undecided
    return None, undecided


@dataclasses.dataclass
class Expected:
    """A line `KIND PATTERN BACKEND reason` of edges_expected.txt: what is allowed to differ, and has to unless it is `order`."""
    kind: str  # zero: the sign of zeros; value: anything; order: anything, on some processors
    pattern: str
    backend: str  # or *
    reason: str
    met: bool = False

    def excuses(self, name, backend, text):
        fits = fnmatch.fnmatch(name, self.pattern) and self.backend in (backend, "*")
        return fits and (self.kind in ("value", "order") or "differ in the sign of zero" in text)


def read_expected():
    lines = (HERE / "edges_expected.txt").read_text().splitlines()
    return [Expected(*text.split(maxsplit=3)) for text in lines if text and not text.startswith("#")]


def compare(cases, ours, answers, expected):
    """(failures, elements on which eager disagrees with itself)"""
    failures, undecided = [], 0
    for case in cases:
        for backend in BACKENDS:
            said = [y for by_name in answers for y in by_name[case.name]]
            text, count = judge(case, ours[case.name, backend], said)
            undecided += count
            excuses = [e for e in expected if text and e.excuses(case.name, backend, text)]
            for entry in excuses:
                entry.met = True
            if text and not excuses:
                failures.append(f"{case.name} {backend} {text}")
    return failures, undecided


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("patterns", nargs="*")
    options = parser.parse_args()
    every = edge_cases.all_cases()
    names = [n for n in every if not options.patterns or any(p in n for p in options.patterns)][::options.every]
    answers = oracle.answers(eager_answers, names)
    taken = [every[n] for n in names if not isinstance(answers[0][n], str)]
    ours, expected = {}, read_expected()
    with tempfile.TemporaryDirectory() as folder:
        for batch in batches(taken):
            ours.update(through_the_chain(batch, folder))
    failures, undecided = compare(taken, ours, answers, expected)
    if len(names) == len(every):
        failures += unswept(taken)
        failures += [f"{e.pattern} {e.backend} is as eager now: take it out of edges_expected.txt"
                     for e in expected if not e.met and e.kind != "order"]
    print("\n".join(failures))
    print(f"{len(taken)} cases on {' and '.join(BACKENDS)}, {len(names) - len(taken)} that eager refuses, {undecided} elements on "
          f"which eager disagrees with itself, {len(expected)} lines of expected differences, {len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
