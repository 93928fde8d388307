"""Programs that try to make a bundle lie: exported, run call after call beside eager, and judged.

A Case is a program and the calls that a user would make of it after the export. Each call of the bundle has to be what eager
gives in the same place of the sequence, or be refused. Verdicts of a case:

  right     every call gave what eager gave
  refused   some calls were refused by a guard, a check or the contract of the arguments; the others were right
  failed    the export failed with a message of LazyRT's own
  silent    some call gave another answer without a word, or the export broke eager: what must never be
  crashed   an exception that is none of LazyRT's
"""

import copy
import dataclasses
import json
import logging
import os
import random
import re
import subprocess
import sys
import tempfile
import traceback
from typing import Any, Callable

import numpy as np
import torch

import lazyrt


@dataclasses.dataclass
class Call:
    """One call: positional and keyword arguments. `mode()` is the context that it is made in."""

    args: tuple
    kwargs: dict = dataclasses.field(default_factory=dict)
    mode: Callable[[], Any] = torch.no_grad


@dataclasses.dataclass
class Case:
    """`make()` gives the program afresh; `sample` is the call of the export, `calls` those made of the bundle, in a row."""

    name: str
    make: Callable[[], Any]
    sample: Call
    calls: list
    expect: tuple = ("right", "refused", "failed")  # outcomes that do
    tolerance: float = 2e-4
    front: str = "python"  # or "torchscript", "pt2": what make() gives is saved and goes through lazy-export
    dynamic: Any = None  # see lazyrt.export
    more: tuple = ()  # further samples: tuples of arguments
    floor: float = 1e-30  # least of a result's largest element that the tolerance is a share of

    def prepare(self):
        """Makes what is made late."""


@dataclasses.dataclass
class SizedCase(Case):
    """Whose calls are made when it is judged: the capture searches all tensors of the process."""

    arguments: Any = None
    sizes: list = ()

    def prepare(self):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.calls = [Call(tuple(self.arguments(**size))) for size in self.sizes]
        self.sample = self.calls[0]


CASES = {}


def case(sample, calls, expect=("right", "refused", "failed"), tolerance=2e-4, front="python"):
    """Decorates the function that makes the program. Arguments are tuples, or Calls."""

    def as_call(item):
        return item if isinstance(item, Call) else Call(tuple(item) if isinstance(item, (tuple, list)) else (item,))

    def take(make):
        name = make.__name__
        assert name not in CASES, name
        CASES[name] = Case(name, make, as_call(sample), [as_call(c) for c in calls], expect, tolerance, front)
        return make

    return take


def people(who, samples, rows, expect=("right", "refused", "failed"), tolerance=2e-4):
    """Cases of a program and who would write it. samples() are the tuples of the export, rows() rows of calls, each from the exported state and a case of its
    own: its name has its number."""
    def take(make):
        first, *more = samples()
        for i, row in enumerate(rows()):
            name = f"{make.__name__}_{i}" if i else make.__name__
            assert name not in CASES, name
            CASES[name] = Case(name, make, Call(first), [Call(call) for call in row], expect, tolerance, more=tuple(more))
        return make

    return take


def sized(arguments, ranges, dims, points=(), also=(), count=24, expect=("right",), front="python"):
    """A case whose extents vary: `ranges` are {symbol: (least, most, the sample's)}, `dims` {argument: {dim: symbol, or "2*n + 1"}}; arguments(**sizes) makes those
    of a call. The calls are at both ends, at `points`, at each of `also` (of the first symbol), beside 1, and at sizes that are drawn."""
    def point(choose):
        return {name: choose(name, *bounds) for name, bounds in ranges.items()}

    draw = random.Random(7)
    first = next(iter(ranges))
    sample = point(lambda name, least, most, start: start)
    sizes = [point(lambda name, least, most, start: least), point(lambda name, least, most, start: most), *points]
    sizes += [{**sample, name: bounds[0]} for name, bounds in ranges.items()]
    sizes += [{**sample, first: size} for size in also]
    sizes += [point(lambda name, least, most, start: draw.randint(least, most)) for _ in range(count)]
    bounds_of = {symbol: ranges[re.search("[a-z]+", symbol)[0]][:2] for places in dims.values() for symbol in places.values()}
    dynamic = {name: {dim: (symbol, *bounds_of[symbol]) for dim, symbol in places.items()} for name, places in dims.items()}

    def take(make):
        name = make.__name__
        assert name not in CASES, name
        CASES[name] = SizedCase(name, make, None, None, expect, front=front, dynamic=dynamic, arguments=arguments, sizes=[sample, *sizes])
        return make

    return take


def gradient_of(energy):
    """The program that gives the gradient of `energy`, one number, of its input."""
    def program(x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(energy(x), x)[0]

    return program


def _copy(value):
    """A copy for one call; tensors that are one object or share memory stay so."""
    return copy.deepcopy(value)


def _seed():
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)


def _eager(program, call, gradients=False):
    """(result or exception) of eager, on copies of the arguments; with autograd on where the program takes gradients and does not say so itself,
    as TorchScript cannot."""
    given = _copy(call)
    _seed()
    try:
        with torch.enable_grad() if gradients else call.mode():
            return program(*given.args, **given.kwargs)
    except Exception as error:  # the program's own
        missing = not gradients and isinstance(program, torch.jit.ScriptModule) and "does not require grad" in str(error)
        return _eager(program, call, gradients=True) if missing else error


def _is_of_torch(value):
    """Whether it is one of torch.return_types, named tuples of C."""
    return hasattr(type(value), "n_sequence_fields")


def _fields(value):
    """Named parts of an object result."""
    if _is_of_torch(value):
        return {name: getattr(value, name) for name in type(value).__match_args__}
    if hasattr(value, "_fields"):
        fields = value._fields
        return dict(fields) if isinstance(fields, dict) else dict(zip(fields, value))
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return vars(value) if hasattr(value, "__dict__") else None


def _flat(value):
    """A result as lazy-export's bundles of .pt2 files give it: its tensors and numbers, in order."""
    leaves = torch.utils._pytree.tree_leaves(value)
    leaves = tuple(leaf for leaf in leaves if isinstance(leaf, (torch.Tensor, bool, int, float)))
    return leaves[0] if len(leaves) == 1 else leaves


def _plain(value):
    if isinstance(value, torch.Tensor):
        value = value.detach()
        return (value.float() if value.dtype in (torch.bfloat16, torch.float16) else value).resolve_conj().numpy()
    return value


def difference(ours, eager, tolerance, path="result", floor=1e-30):
    """Where the results differ as a user would say it, or None."""
    ours, eager = _plain(ours), _plain(eager)
    if isinstance(eager, np.ndarray) or isinstance(ours, np.ndarray):
        return _array_difference(ours, eager, tolerance, path, floor)
    if isinstance(eager, (bool, np.bool_)) or eager is None or isinstance(eager, str):
        return None if type(ours) in (type(eager), bool, np.bool_) and ours == eager else f"{path} is {ours!r}, not {eager!r}"
    if isinstance(eager, (int, float, np.generic)):
        same = isinstance(ours, (int, float, np.generic)) and np.allclose(ours, eager, tolerance, tolerance, equal_nan=True)
        return None if same else f"{path} is {ours!r}, not {eager!r}"
    if isinstance(eager, dict):
        if not hasattr(ours, "keys") or list(ours.keys()) != list(eager.keys()):
            return f"{path} has the keys {list(getattr(ours, 'keys', list)())}, not {list(eager)}"
        return _first(difference(ours[key], eager[key], tolerance, f"{path}[{key!r}]", floor) for key in eager)
    if isinstance(eager, (list, tuple)) and not hasattr(eager, "_fields") and not _is_of_torch(eager):
        if not isinstance(ours, (list, tuple)) or len(ours) != len(eager):
            return f"{path} is {type(ours).__name__} of {len(ours) if hasattr(ours, '__len__') else '?'}, not of {len(eager)}"
        return _first(difference(a, b, tolerance, f"{path}[{i}]", floor) for i, (a, b) in enumerate(zip(ours, eager)))
    fields = _fields(eager)
    if fields is None:
        return None if ours == eager or repr(ours) == repr(eager) else f"{path} is {ours!r}, not {eager!r}"
    return _first(difference(getattr(ours, key, None), item, tolerance, f"{path}.{key}", floor) for key, item in fields.items())


def _first(texts):
    return next((text for text in texts if text), None)


def _array_difference(ours, eager, tolerance, path, floor):
    ours, eager = np.asarray(ours), np.asarray(eager)
    if ours.shape != eager.shape:
        return f"{path} has the shape {ours.shape}, not {eager.shape}"
    if ours.dtype.kind != eager.dtype.kind:
        return f"{path} is {ours.dtype}, not {eager.dtype}"
    if eager.dtype.kind not in "fc":
        return None if np.array_equal(ours, eager) else f"{path}: {ours.ravel()[:4]}, not {eager.ravel()[:4]}"
    scale = np.nanmax(np.abs(np.where(np.isfinite(eager), eager, 0.0)), initial=0.0)
    if np.allclose(ours, eager, rtol=tolerance, atol=tolerance * max(scale, floor), equal_nan=True):
        return None
    return f"{path}: {ours.ravel()[:4]}, not {eager.ravel()[:4]}"


def _holds_lazy(program):
    """A lazy tensor that was left in what the program reaches."""
    seen, todo = set(), [("program", program)]
    while todo and len(seen) < 20000:
        path, value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            if value.device.type == "lazy":
                return path
        elif issubclass(type(value), dict):
            todo += [(f"{path}[{k!r}]", v) for k, v in value.items()]
        elif isinstance(value, (list, tuple, set)) or type(value).__name__ == "deque":
            todo += [(f"{path}[{i}]", v) for i, v in enumerate(value)]
        if isinstance(getattr(value, "__dict__", None), dict):
            todo += [(f"{path}.{k}", v) for k, v in vars(value).items()]
    return None


def _make(item):
    """The program; of a .pt2 what torch.export made of it, since what that loses is not ours."""
    _seed()
    made = item.make()
    if item.front != "pt2":
        return made
    return _as_exported(made, item).module()


def _fresh(item):
    """Programs as the item makes them, each another one: that which runs beside the bundle is the first, before the export."""
    while True:
        yield _make(item)


def _as_exported(program, item):
    """torch.export's."""
    given, dynamic = _copy(item.sample), item.dynamic or {}
    dims = {symbol: torch.export.Dim(symbol, min=least, max=most) for places in dynamic.values() for symbol, least, most in places.values()}
    shapes = {name: {dim: dims[symbol] for dim, (symbol, *_) in places.items()} for name, places in dynamic.items()} or None
    return torch.export.export(program, given.args, given.kwargs, dynamic_shapes=shapes, strict=False)


def _export_python(program, item, path):
    given = _copy(item.sample)
    if item.more:
        return lazyrt.export(program, [given.args, *map(_copy, item.more)], path, dynamic=item.dynamic).verdict
    return lazyrt.export(program, given.args, path, kwargs=given.kwargs, dynamic=item.dynamic).verdict


def _command(arguments):
    """The verdict of lazy-export; lazyrt.Error with what it said."""
    binary = os.path.join(os.path.dirname(lazyrt.__file__), "..", "..", "bin", "lazy-export")
    done = subprocess.run([os.environ.get("LAZY_EXPORT", binary), *arguments, "--json"], capture_output=True, text=True)
    if done.returncode < 0 or done.returncode == 6:
        raise RuntimeError(f"lazy-export ended with {done.returncode}: {done.stderr[-200:]}")
    if done.returncode:
        raise lazyrt.Error(done.stderr.strip() or done.stdout[-300:])
    return json.loads(done.stdout).get("verdict", "?")


def _input_leaves(named):
    """(name as --input takes it, leaf) of arguments and what named tuples among them hold."""
    for name, value in named:
        if hasattr(value, "_fields"):
            yield from _input_leaves((f"{name}.{key}", item) for key, item in zip(value._fields, value))
        else:
            yield name, value


def _export_torchscript(program, item, path):
    given = _copy(item.sample)
    file = path.replace("m.lzb", "m.pt")
    torch.jit.save(program, file)
    arguments = [file, "-o", path]
    schema = getattr(program, "schema", None) or program.forward.schema  # of a traced function
    names = [argument.name for argument in schema.arguments if argument.name != "self"]
    for i, sample in enumerate([given.args, *item.more]):
        places = []
        for name, value in _input_leaves(zip(names, sample)):
            if isinstance(value, torch.Tensor):
                array = path.replace("m.lzb", f"{i}-{name}.npy")
                np.save(array, value.numpy())
                value = array
            places.append(f"{name}={value}")
        if i == 0:
            arguments += [part for place in places for part in ("--input", place)]
        if item.more:
            arguments += ["--sample", ",".join(places)]
    for name, places in (item.dynamic or {}).items():
        for dim, (symbol, *bounds) in places.items():
            arguments += ["--dynamic", f"{name}.{dim}={symbol.replace(' ', '')}:" + "..".join(map(str, bounds))]
    return _command(arguments)


def _export_pt2(program, item, path):
    file = path.replace("m.lzb", "m.pt2")
    torch.export.save(_as_exported(program, item), file)
    return _command([file, "-o", path])


EXPORTS = {"python": _export_python, "torchscript": _export_torchscript, "pt2": _export_pt2}


def judge(item):
    """(verdict of the case, what happened)"""
    of_process = sys.stderr, logging.lastResort
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _judge(item, os.path.join(folder, "m.lzb"))
    finally:
        sys.stderr, logging.lastResort = of_process


def _judge(item, path):
    item.prepare()
    fresh, exported = _fresh(item), _make(item)
    beside = next(fresh)
    try:
        verdict = EXPORTS[item.front](exported, item, path)
    except lazyrt.Error as error:
        left = _holds_lazy(exported)
        if left:
            return "silent", f"the export failed and left a lazy tensor in {left}"
        broken = _broken_eager(exported, beside, next(fresh), item)
        return ("silent", broken) if broken else ("failed", str(error).splitlines()[0][:200])
    except Exception as error:
        return "crashed", "".join(traceback.format_exception_only(error)).strip()[:300]
    left = _holds_lazy(exported)
    if left:
        return "silent", f"the export left a lazy tensor in {left}"
    judged, text = _run_calls(item, beside, path, verdict)
    broken = judged != "silent" and _broken_eager(exported, next(fresh), next(fresh), item)
    return ("silent", broken) if broken else (judged, text)


def _broken_eager(exported, beside, again, item):
    """The module that was exported has to go on as two that were not."""
    for i, call in enumerate(item.calls[:3]):
        ours, eager, other = _eager(exported, call), _eager(beside, call), _eager(again, call)
        if not isinstance(eager, Exception) and difference(other, eager, item.tolerance, floor=item.floor):
            return None  # two fresh ones differ: a clock, a file
        if isinstance(eager, Exception) != isinstance(ours, Exception):
            return f"after the export eager's call {i + 1} gives {ours!r}"[:200]
        text = None if isinstance(eager, Exception) else difference(ours, eager, item.tolerance, floor=item.floor)
        if text:
            return f"after the export eager itself differs at call {i + 1}: {text}"
    return None


def _run_calls(item, beside, path, verdict):
    program = lazyrt.load(path)
    refusals = []
    for i, call in enumerate(item.calls):
        given = _copy(call)
        try:
            with call.mode():
                ours = program(*given.args, **given.kwargs)
        except lazyrt.Error as error:
            refusals.append(f"call {i + 1}: {str(error)[:160]}")
            if not can_go_on(program):
                break
            continue
        eager = _eager(beside, call)
        if isinstance(eager, Exception):
            return "silent", f"{verdict}: call {i + 1} answers where eager raises {eager!r}"[:240]
        text = difference(ours, _flat(eager) if item.front == "pt2" else eager, item.tolerance, floor=item.floor)
        if text:
            return "silent", f"{verdict}: call {i + 1}: {text}"[:300]
    return ("refused", refusals[0]) if refusals else ("right", verdict)


def can_go_on(program):
    """A refused call of a bundle with state leaves its state as it was, eager's would have moved on: nothing to compare then."""
    return not program.states
