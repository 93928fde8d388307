"""The program as the capture calls it: on lazy tensors, with its modules' tensors in their places, whatever it asks and keeps written down."""

import contextlib
import os

import torch

from lazyrt import _tracer, fast_paths, gradients, results
from lazyrt.arguments import Watch
from lazyrt.arrays import LazyArray
from lazyrt.calls import Call
from lazyrt.errors import ExportError
from lazyrt.modes import CaptureMode
from lazyrt.recipes import Recipes
from lazyrt.sources import module_paths


class LazyRun:
    """The program as capture calls it, once or more: lazy inputs in, lazy outputs out."""

    def __init__(self, job, sample, phase, tensors):
        self._job, self._sample, self.phase, self._tensors = job, sample, phase, tensors
        self.after, self.call = None, None
        self.description, self.entries = None, []
        self.differences = []  # of the later runs' constant results
        self.written = None  # see Watch.changed: of the first run
        self.interrupt = None
        self.numbers, self.copies = None, None  # set by capture_following_numbers and capture_with_copies
        self.recipes = None

    def forget(self):
        """The program is captured anew."""
        self.description, self.entries = None, []
        self.after, self.call, self.written = None, None, None

    def __call__(self, inputs):
        try:
            return self._run(inputs)
        except Exception:
            raise
        except BaseException as interrupt:
            self.interrupt = interrupt
            raise

    def _run(self, inputs):
        job = self._job
        job.takes_gradients = torch.is_grad_enabled()  # as the capture has found
        lifted = {name: _tracer.lift(tensor) for name, tensor in self._tensors.items()}
        call = Call(job.state, self.phase, lifted)
        tensors = dict(lifted)
        args, kwargs = self._sample.call(inputs, array=LazyArray)
        watch = Watch(job.program.target, args, kwargs)
        self.numbers.begin()
        self.copies.begin()
        with contextlib.ExitStack() as stack:
            stack.callback(self.copies.end)
            call.begin()
            stack.enter_context(module_paths(job.program.module_paths(), job.sources))
            stack.enter_context(fast_paths.open_to_modes())
            self.recipes = Recipes(job.sources.current)
            stack.enter_context(job.globals.keeping_denormals())
            draws = stack.enter_context(job.draws.watched())
            mode = CaptureMode(self, call.kept(), draws, job.leaks.note, job.sizes is not None, job.follows_factories)
            stack.enter_context(self.numbers.active(self.phase.picture.namespaces))
            stack.enter_context(mode)
            stack.enter_context(gradients.open_to(mode))
            result = job.program.call(tensors, args, kwargs)
        _refuse_lost(job.program)
        if mode.missing_gradients and not job.takes_gradients:
            raise RuntimeError(mode.missing_gradients)
        if mode.takes_gradients:
            gradients.refuse_hooks(job.program.parameters(), mode.variables)
        self._note_texts()
        self.numbers.selections.check()
        if self.written is None:
            self.written = watch.changed(result)
        outputs = [call.as_returned(output) for output in self._take(result, mode)]
        after = call.end(tensors, mode)
        draws.look_at_kept((path, tensor) for path, tensor in call.left if path not in job.state.ignored)
        call.left = []
        if self.call is None:
            self.call, self.after = call, after
        job.moved.update(job.globals.used())
        mode.let_go()
        return outputs

    def recipe_of(self, constant):
        """See recipes.py."""
        return self.recipes.of(constant)

    def _take(self, result, mode):
        description, leaves = results.describe(result, numbers_vary=self._job.sizes is not None)
        if self.description is None:
            self.description = description
            self.entries = list(_entries(description))
        tensors = {name: mode.current(results.tensor_of(leaf)) for name, leaf in leaves}
        self.differences += results.differences(self.description, description)
        return [tensors[name] if number is None else number for name, number in _entries(description)]

    def note(self, text):
        place = self._job.sources.current()
        self._job.notes.append(f"{text} ({os.path.basename(place['file'])}:{place['line']})" if place["file"] else text)

    def _note_texts(self):
        """Where values leave the graph for people to look at."""
        for file, line in self.numbers.audience.heard:
            self._job.notes.append(f"a value is shown by print, logging or a warning, which the bundle leaves out ({os.path.basename(file)}:{line})")


def _refuse_lost(program):
    """All places of one registered tensor hold the same from call to call, and are where they were."""
    for name in sorted(program.strayed):
        raise ExportError(f"a call puts another tensor in the place of '{name}', and its module in another place: write into it in place (copy_()), or leave modules where "
                          "they are", "unsupported")
    for name in sorted(program.parted):
        raise ExportError(f"a call puts another tensor in the place of '{name}', and leaves it in other modules that share it: write into it in place (copy_()), or give each "
                          "module its own", "unsupported")


def _entries(description, path=""):
    """(name, None) for each tensor and (name, number) for each number of a result, in order. Names the numbers."""
    value = description.get("value")
    if description["kind"] == "tensor":
        yield description["name"], None
    elif isinstance(value, (bool, int, float)) and abs(value) < 2**63 and str(value) != "-0.0":  # a literal has no sign of zero
        description["name"] = path or "output"
        yield description["name"], value
    keys = description.get("keys") or range(len(description.get("items", ())))
    for key, item in zip(keys, description.get("items", ())):
        yield from _entries(item, f"{path}.{key}" if path else str(key))
