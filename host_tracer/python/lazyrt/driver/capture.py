"""The captures of one export: the program on lazy tensors, with its modules' tensors in their places."""

import contextlib
import os

import torch

from lazyrt import _tracer
from lazyrt.driver import results
from lazyrt.driver.arguments import ArgumentChanges
from lazyrt.driver.error_texts import names_tensor, said_of, statement_of, writes_in_script
from lazyrt.driver.sources import make_sources, module_paths
from lazyrt.errors import Error, ExportError
from lazyrt.numbers.arrays import LazyArray
from lazyrt.numbers.following import capture_following_numbers
from lazyrt.record import fast_paths, gradients, meta_kernels, statements
from lazyrt.record.copies import capture_with_copies
from lazyrt.record.draws import Draws
from lazyrt.record.modes import CaptureMode
from lazyrt.state.calls import Call
from lazyrt.state.leaks import Leaks


class Capture:
    """Captures calls of a program. `sizes`: a Sizes if extents vary; `follows_factories`: tensors that the program makes from sizes are part of the graph."""

    def __init__(self, eager, phases, generators, *, allow, second_trace, sizes=None, follows_factories=False):
        self.eager, self.phases, self.generators = eager, phases, generators
        self.program = eager.program
        self.allow, self.second_trace, self.sizes, self.follows_factories = allow, second_trace, sizes, follows_factories
        self.sources = make_sources()
        self.draws = Draws(self.sources.current)
        self.leaks = Leaks()
        self.notes = []
        self.moved = set()  # names of Python's generators that the program draws from
        self.runs = 0  # of the program on lazy tensors

    def __call__(self, sample, phase, second_trace=None):
        """Captures a call in a phase. Returns (trace, run)."""
        self.eager.restore()
        phase.restore()
        request = _tracer.Request()
        request.inputs = list(sample.inputs)
        request.parameters, request.buffers = list(self.program.parameters().items()), list(self.program.buffers().items())
        request.sources, request.allow = self.sources, self.allow
        request.second_trace = self.second_trace if second_trace is None else second_trace
        request.varying, request.held = sorted(self.phases.computed), sorted(self.phases.held)
        run = LazyRun(self, sample, phase, dict([*request.parameters, *request.buffers]))
        request.program = run
        request.before_trace = lambda: self._before_trace(run)
        request.check_of, request.is_caught = statements.check_of, statements.is_caught
        try:
            with meta_kernels.without_dynamo():
                trace = capture_with_copies(run, lambda: capture_following_numbers(request, run, self.notes.append),
                                            lambda mode: self.eager(sample, mode=mode, phase=phase))
        except Exception as error:
            request.inputs = request.parameters = request.buffers = []  # a reference to the error holds the request, too
            self._raise_own(sample, error)
        self._stop_if_interrupted(run)
        self.eager.restore()
        self.leaks.refuse()
        trace.producer = f"torch {torch.__version__} eager"
        trace.name_outputs([name for name, _ in run.entries])
        for name, is_returned in run.written or ():  # who gets it back in the result misses nothing
            trace.add_finding("note" if is_returned else "warning", "input-written", f"the program changes what argument '{name}' holds; the bundle does not change its "
                              "caller's objects", "return what the caller needs, and pass it to the next call")
        for message in dict.fromkeys(run.differences):
            trace.add_finding("error", "baked-output", message, "return it as a tensor, or compute it outside of the program")
        return trace, run

    def _before_trace(self, run):
        """Restores the state before each trace. Generators are restored before the first one only: in the second trace the model has to draw other numbers,
        so that the comparison of the two sees them."""
        self._stop_if_interrupted(run)
        if run.description is None:
            self.generators.restore()
        self.phases.restore()
        self.eager.restore_arguments()
        run.phase.restore()

    @staticmethod
    def _stop_if_interrupted(run):
        """Raises an interrupt: the capture would take it for an error of a later trace, which is another path of the program."""
        if run.interrupt is not None:
            raise run.interrupt

    def _raise_own(self, sample, error):
        """Raises the model's error if eager raises as well, else the capture's."""
        if isinstance(error, ExportError):
            raise error
        self.eager.restore()
        self.leaks.refuse()
        if isinstance(error, KeyError) and names_tensor(error):
            raise ExportError("the program uses a parameter, buffer or input as the key of a dict, but a capture calls it with other tensors in "
                              "their place: use names as keys") from error
        if not isinstance(error, Error):
            self.eager(sample)
        for message, suggestion, file, line in self.draws.findings():
            raise ExportError(f"{file}:{line}: {message}: {suggestion}", "baked") from error
        if writes_in_script(error):
            raise ExportError("TorchScript code writes in place into a tensor that is no registered buffer, which cannot be followed there: register it as a "
                              f"buffer, or assign a new tensor instead of writing into it\n{statement_of(error)}") from error
        raise ExportError(f"the capture failed: {said_of(error)}", getattr(error, "kind", "unsupported")) from error


class LazyRun:
    """The program as one capture calls it, once or more: lazy inputs in, lazy outputs out."""

    def __init__(self, capture, sample, phase, tensors):
        self._capture, self._sample, self.phase, self._tensors = capture, sample, phase, tensors
        self.interrupt = None
        self.numbers, self.copies = None, None  # set by capture_following_numbers and capture_with_copies
        self.differences = []  # of the later runs' constant results
        self.forget()

    def forget(self):
        """Prepares for another capture of the program."""
        self.description, self.entries = None, []
        self.after, self.call = None, None  # of the first run: the phase that follows
        self.written = None  # see ArgumentChanges.changed: of the first run

    def __call__(self, inputs):
        try:
            return self._run(inputs)
        except Exception:
            raise
        except BaseException as interrupt:
            self.interrupt = interrupt
            raise

    def _run(self, inputs):
        capture, program = self._capture, self._capture.program
        capture.runs += 1
        capture.eager.takes_gradients = torch.is_grad_enabled()  # as the capture has found
        lifted = {name: _tracer.lift(tensor) for name, tensor in self._tensors.items()}
        call, tensors = Call(capture.phases, self.phase, lifted), dict(lifted)
        args, kwargs = self._sample.call(inputs, array=LazyArray)
        watch = ArgumentChanges(program.target, args, kwargs)
        self.numbers.begin()
        self.copies.begin()
        with contextlib.ExitStack() as stack:
            stack.callback(self.copies.end)
            call.begin()
            stack.enter_context(module_paths(program.module_paths(), capture.sources))
            stack.enter_context(fast_paths.open_to_modes())
            draws = stack.enter_context(capture.draws.watched())
            mode = CaptureMode(self, call.kept(), draws, capture.leaks.note, capture.sizes is not None, capture.follows_factories)
            stack.enter_context(self.numbers.active(self.phase.snapshot.namespaces))
            stack.enter_context(mode)
            stack.enter_context(gradients.open_to(mode))
            result = program.call(tensors, args, kwargs)
        if mode.missing_gradients and not capture.eager.takes_gradients:
            raise RuntimeError(mode.missing_gradients)
        if mode.takes_gradients:
            gradients.refuse_hooks(program.parameters(), mode.variables)
        for file, line in self.numbers.audience.heard:
            capture.notes.append(f"a value is shown by print, logging or a warning, which the bundle does not do ({os.path.basename(file)}:{line})")
        self.numbers.selections.check()
        if self.written is None:
            self.written = watch.changed(result)
        outputs = [call.as_returned(output) for output in self._take(result, mode)]
        after = call.end(tensors, mode)
        draws.look_at_kept((path, tensor) for path, tensor in call.left if path not in capture.phases.ignored)
        call.left = []
        if self.call is None:
            self.call, self.after = call, after
        capture.moved.update(capture.generators.used())
        mode.let_go()
        return outputs

    def _take(self, result, mode):
        description, leaves = results.describe(result, numbers_vary=self._capture.sizes is not None)
        entries = list(results.entries(description))
        if self.description is None:
            self.description, self.entries = description, entries
        tensors = {name: mode.current(results.tensor_of(leaf)) for name, leaf in leaves}
        self.differences += results.differences(self.description, description)
        return [tensors[name] if number is None else number for name, number in entries]

    def note(self, text):
        place = self._capture.sources.current()
        self._capture.notes.append(f"{text} ({os.path.basename(place['file'])}:{place['line']})" if place["file"] else text)
