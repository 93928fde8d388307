"""lazyrt.export: from any eager module or function to a bundle, in stages that pass values on.

example calls -> (captures, a TracedCall each) -> explored phases -> settled steps -> captures at other sizes -> traces with references -> checked bundle"""

import collections
import contextlib
import contextvars
import gc
import json
import os
import sys
import threading
import time

import torch

from lazyrt import _tracer
from lazyrt.bundles import trees
from lazyrt.bundles.fixed import text_of
from lazyrt.bundles.session import load
from lazyrt.driver import checking, results
from lazyrt.driver.arguments import Example
from lazyrt.driver.capture import Capture
from lazyrt.driver.eager import Eager, Generators
from lazyrt.driver.programs import Program
from lazyrt.errors import Error, ExportError
from lazyrt.record import meta_kernels
from lazyrt.record.draws import draws_matter
from lazyrt.report import ExportReport
from lazyrt.sizes.sized_captures import SizedCaptures, inside
from lazyrt.sizes.sizes import Sizes
from lazyrt.state.only_written import places_that_are_read
from lazyrt.state.phases import Phases
from lazyrt.state.settling import settle

INTERFACE_KEY = "lazyrt.interface"
RESULT_NUMBER = "lazyrt.result"  # see contract.py
_one_at_a_time = threading.RLock()

# The captures of a program: `steps` at the samples, `sized` at other sizes, made by `sizes_of` (a SizedCaptures or None); `descriptions` of the results, several if
# samples have other constants.
Captured = collections.namedtuple("Captured", "capture steps sized sizes_of descriptions seconds")


def export(model, args=(), path=None, *, kwargs=None, dynamic=None, allow=(), second_trace=True, check="full", keep_samples=True, report=None, progress=None):
    """Implements lazyrt.export."""
    if path is None:
        raise TypeError("lazyrt.export(model, args, path) needs the path of the bundle")
    path, check, allow = os.fspath(path), checking.level_name(check), [allow] if isinstance(allow, str) else list(allow)
    _check_path(path)
    _tracer.check_allow(allow)

    def run(follows_factories=False):
        program = Program(model)
        samples = [example_of(program, *call) for call in _calls(args, kwargs)]
        sizes = None
        if dynamic:
            for i, sample in enumerate(samples):
                _check_arguments(samples[0], sample, f"sample {i}")
            sizes = Sizes(dynamic, samples)
        with capturing(program, samples, allow=allow, second_trace=second_trace, sizes=sizes, follows_factories=follows_factories) as capture:
            captured = _capture_all(capture, samples, progress)
            done = ExportReport([step.trace for step in captured.steps], path)
            if done.errors:
                raise ExportError("the bundle would be wrong for other inputs:\n" + "\n".join(map(str, done.errors)), "baked", done)
            return _write(captured, done, path, check, keep_samples, report, progress)

    try:
        return exclusively(run)
    except ExportError as error:
        if not dynamic or error.failure != "differs at sizes":
            raise
        first = error
    try:
        return exclusively(lambda: run(follows_factories=True))
    except ExportError as error:
        more = "" if str(error) == str(first) else f"\nWith what torch makes of sizes on the CPU taken into the graph: {error}"
        raise ExportError(f"{first}{more}", first.kind, first.report, first.failure) from None


def exclusively(run):
    """Returns run(), while no other export of the process runs and functions of torch.compile run their original code."""
    with _one_at_a_time, torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else contextlib.nullcontext():
        try:
            return contextvars.copy_context().run(run)
        finally:
            gc.collect()  # frees the captures, which are cycles and refer to the weights: torch.utils.swap_tensors refuses tensors with other references


# -------------------------------------------------------------------- arguments


def _calls(args, kwargs):
    """[(args, kwargs)] of the samples: a list of tuples is one for each."""
    if not isinstance(args, list):
        return [(args, kwargs)]
    if not args or not all(isinstance(item, tuple) for item in args):
        raise TypeError("args has to be a tuple of the positional arguments, or a list of such tuples, one for each sample")
    each = kwargs if isinstance(kwargs, list) else [kwargs] * len(args)
    if len(each) != len(args):
        raise TypeError(f"{len(args)} samples, but {len(each)} kwargs")
    return list(zip(args, each))


def _check_path(path):
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"cannot write {path}: there is no folder {folder}")
    if os.path.isdir(path):
        raise IsADirectoryError(f"cannot write {path}: it is a folder")


def example_of(program, args, kwargs):
    if isinstance(args, torch.Tensor):
        args = (args,)
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args has to be a tuple of the positional arguments, not a {type(args).__name__}")
    return Example(program.target, args, kwargs)


def _check_arguments(first, sample, which):
    """Raises ExportError if a sample has other arguments than the first; elements of tensors may differ."""
    if [name for name, _ in sample.inputs] != [name for name, _ in first.inputs]:
        raise ExportError(f"{which} has other arguments than sample 0, or they are nested differently", "invalid argument")
    if sample.parameters != first.parameters:
        before, now = first.fixed(), sample.fixed()
        other = next((name for name in {**before, **now} if before.get(name) != now.get(name)), "an argument")
        raise ExportError(f"'{other}' is fixed, and {which} has another value for it than sample 0: a bundle has one value for each argument that "
                          f"is not a tensor. Export a bundle for each value", "invalid argument")


# -------------------------------------------------------------------- captures


@contextlib.contextmanager
def capturing(program, samples, **options):
    """Yields a Capture of the program, and restores the program afterwards."""
    meta_kernels.load()
    with Generators() as generators:
        phases = Phases(program)
        eager = Eager(program, phases, samples, generators)
        try:
            yield Capture(eager, phases, generators, **options)
        finally:
            eager.restore()


def explore(capture, samples):
    """Returns the steps that the bundle needs. Places that are ignored as only written are tried in eager; those that are read are explored as state."""
    phases = capture.phases
    while True:
        steps = phases.explore(samples, capture, capture.eager)
        read = set().union(*(places_that_are_read(capture.eager, phases, sample) for sample in samples)) if capture.second_trace else ()
        if not read:
            return settle(phases, steps)
        phases.take_for_read(read)


def _capture_all(capture, samples, progress):
    """Makes all captures and adds the findings to their traces. Returns a Captured."""
    start = time.perf_counter()
    more_samples = samples[1:] if capture.sizes else []
    steps = explore(capture, samples[:1] if capture.sizes else samples)
    _check_interfaces(steps)
    descriptions = _number_results(steps)
    captures = None
    if capture.sizes:
        captures = SizedCaptures(capture, steps[0], more_samples, lambda step: _keep_reference(capture, step, descriptions), progress)
    sized = captures.run(steps) if captures else []
    traces = [step.trace for step in steps]
    _note(capture, traces[0], samples[0])
    _find_draws(capture, traces[0], samples[0])
    _let_through(traces, capture.allow)
    return Captured(capture, steps, sized, captures, descriptions, time.perf_counter() - start)


def _check_interfaces(steps):
    """Raises ExportError unless the arguments and results of all samples are nested alike."""
    one, described = steps[0].sample, inside(steps[0].run.description)
    for i, step in enumerate(steps):
        which = "a later call" if step.phase > 0 else f"sample {i}"
        _check_arguments(one, step.sample, which)
        if inside(step.run.description) != described:
            raise ExportError(f"{which} has other results than sample 0, or they are nested differently", "invalid argument")


def _number_results(steps):
    """Returns the descriptions of the results. If samples have other constants (texts, None), there are several, and a literal of each variant is the index of
    its own."""
    texts = [results.constants_of(step.run.description) for step in steps]
    known = list(dict.fromkeys(texts))
    if len(known) > 1:
        for step, text in zip(steps, texts):
            step.trace.add_literal(RESULT_NUMBER, known.index(text))
    return [steps[texts.index(text)].run.description for text in known]


def _note(capture, trace, sample):
    fixed = [f"argument '{name}' is fixed at {text_of(value)}" for name, value in sample.fixed().items()]
    trace.notes = [*trace.notes, *fixed, *dict.fromkeys(capture.notes)]


def _find_draws(capture, trace, sample):
    """Adds findings of random numbers that are not in the traces."""
    reaches = bool(capture.moved) and draws_matter(capture, sample)
    for name in sorted(capture.moved):
        what = ", and its results depend on what it draws" if reaches else ""
        trace.add_finding("error" if reaches else "note", "random", f"the model draws from Python's generator {name}{what}",
                          "numbers that the bundle should draw anew have to be inputs")
    for message, suggestion, file, line in capture.draws.findings(capture.phases.unread):
        trace.add_finding("error", "random", message, suggestion, file, line)


def _let_through(traces, allow):
    """Applies `allow` to the findings that were added after the captures, and notes the entries that allowed nothing."""
    for trace in traces:
        trace.allow(allow)
    traces[0].notes = [*traces[0].notes, *_tracer.idle_allowances(allow, traces)]


# -------------------------------------------------------------------- the bundle


def _keep_reference(capture, step, descriptions):
    """Sets what the check compares the bundle with."""
    step.trace.set_reference(checking.Reference(capture, step.sample, [name for name, _ in step.run.entries], descriptions), step.name)


def _write(captured, report, path, check, keep_samples, report_path, progress):
    """Writes and checks the bundle, and completes the report."""
    capture, steps = captured.capture, captured.steps
    sample, described = steps[0].sample, steps[0].run.description
    if check != "none" or keep_samples:
        set_samples(capture.eager, steps)
    interface = {"version": 2, "parameters": sample.parameters, "result": described}
    if len(captured.descriptions) > 1:
        interface["results"] = captured.descriptions
    asked = _tracer.Export(path=path, model=capture.program.name, report_path=os.fspath(report_path) if report_path else "",
                           info=[(INTERFACE_KEY, json.dumps(interface, separators=(",", ":")))], check=check, keep_samples=keep_samples,
                           trace_seconds=captured.seconds, counts=lambda: (capture.runs, capture.eager.calls),
                           checked=lambda bundle: _check_loaded(capture.eager, bundle, sample, described))
    if captured.sized:
        sizes = capture.sizes
        asked.set_dynamic(sizes.native(), sizes.dims, sizes.sample, sizes.fit_points(), captured.sizes_of.more)
    for step in [*steps, *(step for step in captured.sized if step.is_checked)]:
        if step.phase == 0:
            _keep_reference(capture, step, captured.descriptions)
    capture.eager.restore()
    try:
        report.complete(*_tracer.export([step.trace for step in (*steps, *captured.sized)], asked, progress))
    except Error as error:
        raise ExportError(str(error), error.kind, report, error.failure) from None
    return report


def set_samples(eager, steps):
    """Sets the outputs of the samples in the traces to eager's."""
    plain = {}  # by the sample's id: a call may take long, so each is made once
    for step in steps:
        if step.phase == 0:
            if id(step.sample) not in plain:
                plain[id(step.sample)] = eager(step.sample)
            step.trace.set_samples(_outputs(step.run, plain[id(step.sample)]))


def _outputs(run, result):
    """Eager's results as a list of tensors, None for numbers of the capture."""
    found = {}
    try:
        trees.match(run.description, result, found)
    except trees.Mismatch as other:
        raise ExportError(f"the model's results differ when it is captured: {checking.mismatch_text(other)}") from None
    values = [found.get(name) for name, _ in run.entries]
    return [value if value is None or isinstance(value, torch.Tensor) else torch.as_tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
            for value in values]


def _check_loaded(eager, bundle, sample, description):
    """Raises ExportError unless the loaded bundle takes the example and returns results that are nested as described."""
    eager.restore()
    args, kwargs = sample.call(sample.clones())
    try:
        trees.match(description, load(bundle)(*args, **kwargs), {})
    except trees.Mismatch as other:
        raise ExportError(f"the bundle does not give what the program gives: {checking.mismatch_text(other)}") from None
