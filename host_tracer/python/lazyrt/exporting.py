"""lazyrt.export: any eager module or function to a bundle."""

import contextlib
import contextvars
import functools
import gc
import json
import os
import re
import sys
import threading
import time

import torch

from lazyrt import _tracer, checking, gradients, meta_kernels, poison, results, statements, trees
from lazyrt.arguments import Example
from lazyrt.copies import EagerAnswers, capture_with_copies
from lazyrt.draws import Draws, draws_matter
from lazyrt.error_texts import names_tensor, said_of, statement_of, writes_in_script
from lazyrt.errors import Error, ExportError
from lazyrt.fixed import text_of
from lazyrt.following import capture_following_numbers
from lazyrt.lazy_runs import LazyRun
from lazyrt.leaks import Leaks
from lazyrt.phases import Phases, calls_until_repeat
from lazyrt.programs import Clones, Lent, Program
from lazyrt.reach import Contents, Reach
from lazyrt.report import ExportReport
from lazyrt.session import load
from lazyrt.settling import settle
from lazyrt.sized_captures import SizedCaptures, inside
from lazyrt.sizes import Sizes
from lazyrt.sources import make_sources
from lazyrt.state import GlobalState

INTERFACE_KEY = "lazyrt.interface"
RESULT_NUMBER = "lazyrt.result"  # see contract.py
_one_at_a_time = threading.RLock()


def _uncompiled():
    """What torch.compile has made runs the program's own code meanwhile."""
    return torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else contextlib.nullcontext()


def export(model, args=(), path=None, *, kwargs=None, dynamic=None, allow=(), second_trace=True, check="full", keep_samples=True,
           report=None, progress=None):
    """What lazyrt.export does, and says."""
    if path is None:
        raise TypeError("lazyrt.export(model, args, path) needs the path of the bundle")
    path = os.fspath(path)
    check = checking.level_name(check)
    _check_path(path)
    meta_kernels.load()

    def run(follows_factories):
        job = _Export(Program(model), allow, second_trace, progress)
        samples = [_example(job.program, *call) for call in _calls(args, kwargs)]
        if dynamic:
            for i, sample in enumerate(samples):
                _check_arguments(samples[0], sample, f"sample {i}")
            job.sizes, job.follows_factories = Sizes(dynamic, samples), follows_factories
            samples, job.more_samples = samples[:1], samples[1:]
        try:
            return contextvars.copy_context().run(job.run, samples, path, check, keep_samples, report)
        finally:
            vars(job).clear()
            gc.collect()  # its parts refer to one another: until then they have the weights, which swap_tensors minds

    with _one_at_a_time, _uncompiled():
        try:
            return run(follows_factories=False)
        except ExportError as error:
            if not dynamic or not _tracer.differs_at_sizes(str(error)):
                raise
            first = error
        try:
            return run(follows_factories=True)
        except ExportError as error:
            more = "" if str(error) == str(first) else f"\nWith what torch makes of sizes on the CPU taken into the graph: {error}"
            raise ExportError(f"{first}{more}", first.kind, first.report) from None


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


def _entries_of(allow):
    """`allow` as a list that the capture understands. Raises InputError for an id that no finding has."""
    entries = [allow] if isinstance(allow, str) else list(allow)
    _tracer.check_allow(entries)
    return entries


def _check_path(path):
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"cannot write {path}: there is no folder {folder}")
    if os.path.isdir(path):
        raise IsADirectoryError(f"cannot write {path}: it is a folder")


def _example(program, args, kwargs):
    if isinstance(args, torch.Tensor):
        args = (args,)
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args has to be a tuple of the positional arguments, not a {type(args).__name__}")
    return Example(program.target, args, kwargs)


class _Export:
    """One export. All that it changes meanwhile is put back, whatever happens."""

    def __init__(self, program, allow, second_trace, progress):
        self.program = program
        self.allow, self.second_trace, self.progress = _entries_of(allow), second_trace, progress
        self.sources = make_sources()
        self.globals = GlobalState()
        self.draws = Draws(self.sources.current)
        self.notes = []
        self.moved = set()
        self.takes_gradients = False  # of its own results: autograd is on while it runs
        self.plain_results = {}  # what eager did, by id of the sample
        self.begins_in = None  # the phase from which eager is run; None: the first
        self.sizes = None  # a Sizes where extents vary
        self.more_samples = []  # the caller's, at which the program of all sizes is compared
        self.follows_factories = False  # what the program makes of sizes is in the graph, too
        self.lent = None  # what an eager call may have changed of the registered tensors
        self.is_explored = False  # the captures at the samples are made

    def run(self, samples, path, check, keep_samples, report_path):
        self.globals.begin()
        try:
            materialised = self._materialise(samples[0])
            return self._run(samples, path, check, keep_samples, report_path, materialised)
        finally:
            self.globals.end()

    def _run(self, samples, path, check, keep_samples, report_path, materialised):
        self.leaks = Leaks()
        self.state, self.written = Phases(self.program), None
        self.gradients = gradients.Kept(self.program.parameters().values())
        values = [value for sample in [*samples, *self.more_samples] for value in (sample.args, sample.kwargs)]
        self.arguments = Reach([(f"argument {i}", value) for i, value in enumerate(values)], Contents())
        start = time.perf_counter()
        try:
            steps = self._explore(samples)
            steps = settle(self.state, steps)
            self.written = self.state.written
            captured = [(step.trace, step.run) for step in steps]
            self.is_explored = True
            traces = [trace for trace, _ in captured]
            self._check_interfaces(steps)
            captures = SizedCaptures(self, steps[0]) if self.sizes else None
            sized = captures.run(steps) if captures else []
            self._note(traces[0], samples[0], materialised)
            self._find_draws(traces[0], samples[0])
            self._allow(traces)
            report = ExportReport(traces, path)
            self._refuse_errors(report)
            if check != "none" or keep_samples:
                for step in steps:
                    if step.phase == 0:
                        self._add_samples(step.trace, step.sample, step.run)
            self._number_results(captured)
            traces += [step.trace for step in sized]
            seconds = time.perf_counter() - start
        finally:
            self.restore()
        self._refuse_unseen_writes()
        options = self._options(samples[0], captured[0][1], path, report_path)
        options.check, options.keep_samples, options.trace_seconds = check, keep_samples, seconds
        options.checked = lambda bundle: self._check_structure(bundle, samples[0])
        if sized:
            sizes = self.sizes
            options.set_dynamic(sizes.native(), sizes.dims, sizes.sample, sizes.fit_points(), captures.more, captures.numbers)
        for step in [*steps, *(step for step in sized if step.is_checked)]:
            if step.phase == 0:
                self.keep_reference(step)
        try:
            self._complete(report, traces, options)
        except Error as error:
            raise ExportError(str(error), error.kind, report) from None
        finally:
            self.restore()
        return report

    def _complete(self, report, traces, options):
        report.complete(*_tracer.export(traces, options, self.progress))

    def _explore(self, samples):
        """The steps of the program, none of which reads what is taken for only written."""
        while True:
            steps = self.state.explore(samples, self.capture, functools.partial(calls_until_repeat, self))
            read = set().union(*(poison.places_that_are_read(self, sample) for sample in samples)) if self.second_trace else ()
            if not read:
                return steps
            self.state.take_for_read(read)

    def keep_reference(self, step):
        """What the check compares the bundle with."""
        step.trace.set_reference(checking.Reference(self, step.sample, step.run, self.results), step.name)

    @staticmethod
    def _check_interfaces(steps):
        """All samples have to be nested alike, and their results, too."""
        one, described = steps[0].sample, inside(steps[0].run.description)
        for i, step in enumerate(steps):
            which = "a later call" if step.phase > 0 else f"sample {i}"
            _check_arguments(one, step.sample, which)
            if inside(step.run.description) != described:
                raise ExportError(f"{which} has other results than sample 0, or nested otherwise", "invalid argument")

    def _number_results(self, captured):
        """Where samples gave other constants (texts, None), each variant says by a number which of the descriptions is its own."""
        texts = [results.constants_of(outputs.description) for _, outputs in captured]
        self.results = [captured[texts.index(text)][1].description for text in dict.fromkeys(texts)]
        if len(self.results) > 1:
            for (trace, _), text in zip(captured, texts):
                trace.add_literal(RESULT_NUMBER, list(dict.fromkeys(texts)).index(text))

    @contextlib.contextmanager
    def beginning_in(self, phase):
        """While active, eager begins in this phase; None: in the first."""
        self.begins_in = phase
        try:
            yield
        finally:
            self.begins_in = None

    def plain_result(self, sample):
        """Eager's result on a sample, which may take long: it is run once."""
        if id(sample) not in self.plain_results:
            self.plain_results[id(sample)] = self.eager(sample)
        return self.plain_results[id(sample)]

    def restore(self):
        if self.lent is not None:
            self.lent.put_back()
            self.lent = None
        self.state.restore()
        self.gradients.restore()
        self.arguments.restore()
        self.state.restore_random()
        self.globals.restore()

    def _refuse_unseen_writes(self):
        """Into large tensors, whose content is not compared in each picture."""
        for tensor in self.state.contents.put_back_unseen():
            name = next((path for path, held in self.state.first.picture.tensors if held is tensor), "")
            raise ExportError(f"the program writes into '{name}', which is large, by way of .data, NumPy or the like, where LazyRT cannot see it: write into the tensor itself",
                              "changing-attribute")

    # ---------------------------------------------------------------- before

    def _materialise(self, sample):
        """Lazy modules (LazyLinear, ...) get their parameters from a first forward, as in eager."""
        lazy = self.program.uninitialized()
        if not lazy:
            return []
        known = {name: b.clone() for name, b in self.program.buffers().items() if type(b) is torch.Tensor}
        before = Reach([*self.program.roots.items(), (self.program.name, self.program.target)], Contents())
        before.leave_out([self.program.shell.get_submodule(path) for path in lazy])
        try:
            with torch.no_grad():
                torch.set_rng_state(self.globals.before)
                args, kwargs = sample.call([t.detach().clone() for _, t in sample.inputs])
                self.program.shell(*args, **kwargs)
        finally:
            with torch.no_grad():
                buffers = self.program.buffers()
                for name, content in known.items():
                    buffers[name].copy_(content)
            before.restore()
            self.globals.restore()
        return lazy

    # ---------------------------------------------------------------- capture

    def capture(self, sample, phase):
        self.restore()
        phase.restore()
        request = _tracer.Request()
        request.inputs = [(name, tensor) for name, tensor in sample.inputs]
        request.parameters = list(self.program.parameters().items())
        request.buffers = list(self.program.buffers().items())
        request.sources = self.sources
        request.second_trace = self.second_trace and (self.sizes is None or not self.is_explored)
        request.allow = self.allow
        request.varying = sorted(self.state.computed)
        request.held = sorted(self.state.held)
        run = LazyRun(self, sample, phase, dict([*request.parameters, *request.buffers]))
        self.draws.begin()
        request.program = run
        request.before_trace = lambda: self._before_trace(run)
        request.check_of = statements.check_of
        request.recipe_of = run.recipe_of
        request.is_caught = statements.is_caught
        try:
            with meta_kernels.without_dynamo():
                eager = lambda mode: self.eager(sample, mode=mode, run=run)  # noqa: E731
                trace = capture_with_copies(run, lambda: capture_following_numbers(request, run, eager, self.notes.append),
                                            lambda: self._answers(sample, run))
        except Exception as error:
            request.inputs = request.parameters = request.buffers = []  # whoever keeps the error keeps the request
            self._raise_own(sample, error)
        self._stop_if_interrupted(run)
        self.restore()
        self.leaks.refuse()
        trace.producer = f"torch {torch.__version__} eager"
        trace.name_outputs([name for name, _ in run.entries])
        for name, is_returned in run.written or ():  # who gets it back in the result misses nothing
            trace.add_finding("note" if is_returned else "warning", "input-written", f"the program changes what argument '{name}' holds; the bundle leaves its "
                              "caller's objects as they are", "return what the caller needs, and give it at the next call")
        for message in dict.fromkeys(run.differences):
            trace.add_finding("error", "baked-output", message, "return it as a tensor, or compute it outside of the program")
        return trace, run

    def _answers(self, sample, run):
        """Eager's in the call that is captured; None where it raises."""
        log = EagerAnswers()
        try:
            self.eager(sample, [t.detach().clone(memory_format=torch.contiguous_format) for _, t in sample.inputs], log, run)
        except Exception:
            return None
        return log.answers

    def _before_trace(self, run):
        """The generators go on from the first trace to the next: what the model draws from them has to differ in order to be
        seen."""
        self._stop_if_interrupted(run)
        if run.description is None:
            self.globals.restore()
        self.state.restore()
        self.arguments.restore()
        run.phase.restore()

    @staticmethod
    def _stop_if_interrupted(run):
        """Capture takes exceptions of later traces for another path of the program; an interrupt is none."""
        if run.interrupt is not None:
            raise run.interrupt

    def _raise_own(self, sample, error):
        """An error that eager has too is the model's; else the capture's."""
        if isinstance(error, ExportError):
            raise error
        self.restore()
        self.leaks.refuse()
        if isinstance(error, KeyError) and names_tensor(error):
            raise ExportError("the program looks a parameter, buffer or input up among the keys of a dict, and LazyRT calls it with others in "
                              "their place: use names as keys", "unsupported") from error
        if not isinstance(error, Error):
            self.eager(sample)
        for message, suggestion, file, line in self.draws.findings():
            raise ExportError(f"{file}:{line}: {message}: {suggestion}", "baked") from error
        if writes_in_script(error):
            raise ExportError("TorchScript code writes in place into a tensor that is no registered buffer, which cannot be followed there: register it as a "
                              f"buffer, or assign a new tensor instead of writing into it\n{statement_of(error)}", "unsupported") from error
        if "lift() it first" in str(error):
            name = re.search(r"writes into ('\S+')", str(error))
            raise ExportError(f"the program writes into the memory of {name[1] if name else 'a tensor that it keeps'} by way of another tensor that it keeps there (a view, "
                              "detach(), .data, NumPy): the graph does not see the write. clone() one of them, or make the view where it is used", "unsupported") from error
        raise ExportError(f"the capture failed: {said_of(error)}", getattr(error, "kind", "unsupported")) from error

    def eager(self, sample, tensors=None, mode=None, run=None, arrange=None):
        """The model's own results, under a mode, in the phase of a run. Its buffers and the parameters that it writes are clones, and
        the inputs, too, where they are not given. arrange(args, kwargs) gives them another form."""
        try:
            return self._eager_once(sample, tensors, mode, run, arrange)
        except RuntimeError as error:
            if self.takes_gradients or not gradients.are_missing(error):
                raise
            self.takes_gradients = True
            return self._eager_once(sample, tensors, mode, run, arrange)
        finally:
            self.restore()

    def _eager_once(self, sample, tensors, mode, run, arrange):
        buffers = self.fresh_buffers(run)
        tensors = tensors or [tensor.detach().clone() for _, tensor in sample.inputs]
        return self.call_eagerly(sample, tensors, buffers, mode, arrange)

    def fresh_buffers(self, run=None):
        """Clones of the model's buffers and of the parameters that it writes; all else of it is as in the phase of a run, or as it was
        before the export."""
        self.restore()
        (run.phase if run else self.begins_in or self.state.first).restore()
        return Clones(self._changing_tensors(run), self.program.parameters())

    def lend_buffers(self):
        """The program itself, until the next restore(): what lies in its tensors' memory sees what is written into them."""
        self.restore()
        (self.begins_in or self.state.first).restore()
        self.lent = Lent(self.program, self._changing_tensors().values())

    def _changing_tensors(self, run=None):
        known = self.state.written if run and run.call else self.written
        written = {name: tensor for name, tensor in self.program.parameters().items() if known is None or name in known}
        return {**self.program.buffers(), **written}

    def call_eagerly(self, sample, tensors, buffers, mode=None, arrange=None, **more):
        """The model's own results, under a mode. `tensors` and `buffers` may be written; what else changes stays changed. `more`: see
        Example.call."""
        args, kwargs = sample.call(tensors, **more)
        if arrange is not None:
            args, kwargs = arrange(args, kwargs)
        with torch.set_grad_enabled(self.takes_gradients), mode or contextlib.nullcontext(), gradients.open_to(mode):
            return buffers.call(self.program, args, kwargs)

    def call_again(self, sample, buffers, tensors=None):
        """The same on fresh clones of the sample's tensors, or of these, with the other arguments as they were at export."""
        self.arguments.restore()
        tensors = tensors or [tensor for _, tensor in sample.inputs]
        return self.call_eagerly(sample, [tensor.detach().clone() for tensor in tensors], buffers)

    def _check_structure(self, bundle, sample):
        """The loaded bundle gives what the model gives, nested alike."""
        self.restore()
        args, kwargs = sample.call([tensor.detach().clone() for _, tensor in sample.inputs])
        with torch.set_grad_enabled(self.takes_gradients):
            given = load(bundle)(*args, **kwargs)
        difference = checking.structure_difference(given, self.plain_result(sample))
        if difference:
            raise ExportError(f"the bundle does not give what the program gives: {difference}")

    def _add_samples(self, trace, sample, outputs):
        found = {}
        try:
            trees.collect(outputs.description, self.plain_result(sample), found)
        except ValueError as error:
            raise ExportError(f"the model's results are others when it is captured: {error}") from None
        trace.set_samples([_sample_tensor(found.get(name)) for name, _ in outputs.entries])

    # ---------------------------------------------------------------- report

    def _note(self, trace, sample, materialised):
        notes = list(trace.notes)
        if materialised:
            notes.append("a first forward made the parameters of " + ", ".join(materialised))
        notes += [f"argument '{name}' is fixed at {text_of(value)}" for name, value in sample.fixed().items()]
        trace.notes = [*notes, *dict.fromkeys(self.notes)]

    def _find_draws(self, trace, sample):
        """Random numbers that the traces do not show."""
        reaches = bool(self.moved) and draws_matter(self, sample)
        for name in sorted(self.moved):
            what = ", and its results depend on what it draws" if reaches else ""
            trace.add_finding("error" if reaches else "note", "random", f"the model draws from Python's generator {name}{what}",
                              "numbers that the bundle should draw anew have to be inputs")
        for message, suggestion, file, line in self.draws.findings(self.state.unread):
            trace.add_finding("error", "random", message, suggestion, file, line)

    def _allow(self, traces):
        """What was found after the captures is let through as well; entries that did nothing are named."""
        for trace in traces:
            trace.allow(self.allow)
        traces[0].notes = [*traces[0].notes, *_tracer.idle_allowances(self.allow, traces)]

    @staticmethod
    def _refuse_errors(report):
        errors = [finding for finding in report.findings if finding.severity == "error"]
        if errors:
            raise ExportError("the bundle would be wrong for other inputs:\n" + "\n".join(map(str, errors)), "baked", report)

    def _options(self, sample, outputs, path, report_path):
        options = _tracer.ExportOptions()
        options.path, options.model = path, self.program.name
        options.report_path = os.fspath(report_path) if report_path else ""
        interface = {"version": 2, "parameters": sample.parameters, "result": outputs.description}
        if len(self.results) > 1:
            interface["results"] = self.results
        options.info = [(INTERFACE_KEY, json.dumps(interface, separators=(",", ":")))]
        return options


def _check_arguments(first, sample, which):
    """A sample has to have the arguments of the first, tensors that differ in their elements excepted."""
    if [name for name, _ in sample.inputs] != [name for name, _ in first.inputs]:
        raise ExportError(f"{which} has other arguments than sample 0, or nested otherwise", "invalid argument")
    if sample.parameters != first.parameters:
        before, now = first.fixed(), sample.fixed()
        other = next((name for name in {**before, **now} if before.get(name) != now.get(name)), "an argument")
        raise ExportError(f"'{other}' is fixed, and {which} has another one than sample 0: a bundle has one value of what is "
                          "no tensor. Make a bundle for each", "invalid argument")


def _sample_tensor(value):
    """A result of eager as capture takes it; None stays None."""
    if value is None or isinstance(value, torch.Tensor):
        return value
    return torch.as_tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
