"""Captures of a program whose extents vary: at the sizes that show how it depends on them, and at sizes that are only checked."""

import torch

from lazyrt import _tracer
from lazyrt.driver import results
from lazyrt.errors import ExportError
from lazyrt.state.settling import share_initial_contents

_MOST_REMEMBERED = 1000  # sizes


class SizedCaptures:
    """The program of `capture`, whose step `first` has extents that vary. keep_reference(step) is called for steps that are checked."""

    def __init__(self, capture, first, more_samples, keep_reference, progress):
        self.capture, self.first, self.sizes = capture, first, capture.sizes
        self.more_samples, self.keep_reference, self.progress = more_samples, keep_reference, progress
        self.remembered = []  # (example, phase after it): what the program keeps of other sizes

    def run(self, steps):
        """Captures the steps at the sizes that show how the program depends on them, then at sizes that are only checked."""
        if len(steps) > 1:
            places = ", ".join(f"'{path}'" for path in self.capture.phases.changed()[:3])
            raise ExportError(f"the program changes what its later calls do, in {places}: where extents vary it cannot be followed from call to call, and a state "
                              "has one shape: make what it keeps an input and a result, or a buffer of the largest size into which it writes")
        target = self.capture.program.target
        self.capture.notes += self.sizes.find_relations(lambda point: self._refusal(self.sizes.resized(target, self.first.sample, point)))
        given = [self.sizes.point_of_another(sample, f"sample {i}") for i, sample in enumerate(self.more_samples, 1)]
        fit, checked = self.sizes.fit_points(), self.sizes.check_points()
        checked += [point for i, point in enumerate(given) if point not in [self.sizes.sample, *checked, *given[:i]]]
        points = [*fit, *(point for point in checked if point not in fit)]
        captured = []
        for i, point in enumerate(points):
            if self.progress:
                self.progress("capture at other sizes", i, len(points))
            captured.append(SizedCall(*self._capture_at(point), point in checked))
        at = {tuple(point): step for point, step in [(self.sizes.sample, self.first), *zip(points, captured)]}
        captured += [_of_sample(at[tuple(point)], sample, i) for i, (sample, point) in enumerate(zip(self.more_samples, given), 1)]
        self._check_remembered()
        _tracer.note_untried(self.first.trace, self.sizes.native(), [self.sizes.sample, *points])
        return captured

    def _capture_at(self, point):
        """(example, trace, run) of the first step's program at other sizes."""
        example = self.sizes.resized(self.capture.program.target, self.first.sample, point)
        where = f"at {self.sizes.text(point)} "
        trace, run = self._captured_settled(example, where)
        if inside(run.description) != inside(self.first.run.description) or results.constants_of(run.description) != results.constants_of(self.first.run.description):
            raise ExportError(f"{where}the program's results are nested differently, or hold other texts or constants, than with the sample")
        errors = [finding for finding in trace.findings if finding["severity"] == "error"]
        if errors:
            raise ExportError(f"{where}the bundle would be wrong for other inputs: " + "; ".join(finding["message"] for finding in errors), "baked")
        return example, trace, run

    def more(self, point, is_compared):
        """Makes a trace at sizes that were not captured before."""
        before, drawn = len(self.remembered), set(self.capture.moved)
        step = SizedCall(*self._capture_at(point), is_compared)
        for example, phase in self.remembered[before:]:
            self._check_kept(example, phase, self.first.sample)
        if self.capture.moved != drawn:
            raise ExportError(f"at {self.sizes.text(point)} the program draws random numbers, and at the other sizes it does not: make them an input")
        if is_compared:
            self.keep_reference(step)
        return step.trace

    def _captured_settled(self, example, where):
        """(trace, run) of a call that leaves the program's state as it is, or changes only what does not matter at other sizes, and that computes the
        same as a first call."""
        known = self.capture.phases.known
        trace, run = self._captured(example, known[-1])
        same = self.capture.phases.find(run.after) == len(known) - 1 or self._is_remembered(example, trace, run)
        if same and len(known) > 1:
            same = _tracer.compute_the_same(self.capture(example, known[0], second_trace=False)[0], trace, set()) or self._same_in(known[0], known[-1], example)
        if not same:
            self._refuse_what_is_kept(where)
        return trace, run

    def _captured(self, example, phase):
        """Captures without places that are only written at these sizes, as at the sample's."""
        trace, run = self.capture(example, phase, second_trace=False)
        state = self.capture.phases
        trace.forget_asked(sorted(run.call.fixed - state.computed))
        share_initial_contents(state, [SizedCall(example, trace, run, False)], lambda name: name not in run.call.fixed)
        only_written = {state.names.of(path, tensor) for path, tensor in run.after.snapshot.tensors if path in state.unread}
        _tracer.drop_unread_states([trace], [name for name in trace.states if name in only_written])
        return trace, run

    @staticmethod
    def _refuse_what_is_kept(where):
        raise ExportError(f"{where}the program changes what its later calls do, or does something else in its first call: this is not supported "
                          f"yet where extents vary")

    def _is_remembered(self, example, trace, run):
        """Whether the state that a call leaves behind (such as a table of this size) only saves the next call work. _check_remembered compares other
        sizes."""
        registered = {*self.capture.program.parameters(), *self.capture.program.buffers()}
        if len(self.remembered) >= _MOST_REMEMBERED or any(name not in registered for name in trace.states):
            return False
        again, later = self._captured(example, run.after)
        names = self.capture.phases.names
        if later.after.key(names) != run.after.key(names):
            return False
        if not (_tracer.compute_the_same(trace, again, set()) or self._same_in(self.capture.phases.known[-1], run.after, example)):
            return False
        self.remembered.append((example, run.after))
        return True

    def _check_remembered(self):
        """What the smallest and the largest sizes leave behind must not matter at each other's sizes, nor at the sample's."""
        kept = sorted(self.remembered, key=lambda item: sum(tensor.numel() for _, tensor in item[0].inputs))
        ends = [kept[0], kept[-1]] if len(kept) > 1 else kept
        for i, (example, phase) in enumerate(ends):
            for other in (self.first.sample, ends[1 - i][0] if len(ends) > 1 else example):
                self._check_kept(example, phase, other)

    def _check_kept(self, kept, phase, example):
        if not self._same_in(self.capture.phases.known[-1], phase, example):
            at, seen = (self.sizes.text(self.sizes.point_of(which)) for which in (kept, example))
            self._refuse_what_is_kept(f"at {at} " + (f"(as calls at {seen} show) " if seen != at else ""))

    def _same_in(self, one, other, example):
        """Whether eager returns the same in two phases, on the example and with other numbers in it. Registered tensors have the same values in both
        phases: they are state."""
        other = _WithRegistered(self.capture.program, one, other)
        for given in _altered([tensor for _, tensor in example.inputs]):
            ours, theirs = (self._given_in(phase, example, given) for phase in (one, other))
            if len(ours) != len(theirs) or not all(map(_is_same, ours, theirs)):
                return False
        return True

    def _given_in(self, phase, example, tensors):
        """Results of eager in a phase."""
        try:
            with self.capture.eager.beginning_in(phase):
                return torch.utils._pytree.tree_leaves(self.capture.eager(example, [tensor.detach().clone() for tensor in tensors]))
        except Exception as error:
            return [type(error)]

    def _refusal(self, example):
        """Why the program does not accept an example; "" if it does."""
        try:
            self.capture.eager(example)
        except Exception as error:
            return f"{type(error).__name__}: {error}".partition("\n")[0]
        return ""


class _WithRegistered:
    """A phase that has the registered tensors of another phase."""

    def __init__(self, program, one, phase):
        self._program, self._one, self._phase = program, one, phase

    def restore(self):
        self._one.restore()
        known = self._program.registered()
        self._phase.restore()
        for name, tensor in known.items():
            now = self._program.at(name)
            if now is not tensor and now is not None:
                self._program.put(name, tensor)


def _altered(tensors):
    """Yields these tensors, then tensors with other floating numbers and with integers far from theirs."""
    def other(tensor):
        if tensor.is_floating_point():
            return tensor * -1.7
        whole = not tensor.is_complex() and tensor.dtype is not torch.bool
        return tensor * 3 + (5 * torch.arange(tensor.numel())).view(tensor.shape).to(tensor.dtype) if whole else tensor

    yield tensors
    yield [other(tensor) for tensor in tensors]


def inside(described):
    """How a result is nested."""
    items = [inside(item) for item in described.get("items", ())]
    return [described["kind"], described.get("name"), list(described.get("keys", ())), items]


class SizedCall:
    """A capture of the program at other sizes. `name`: names the caller's sample that it is compared on."""

    phase = 0

    def __init__(self, sample, trace, run, is_checked, name=""):
        self.sample, self.trace, self.run, self.is_checked, self.name = sample, trace, run, is_checked, name


def _of_sample(step, sample, i):
    """The capture at a sample's sizes, to be compared on that sample's own inputs."""
    return SizedCall(sample, step.trace.with_inputs([tensor.detach() for _, tensor in sample.inputs]), step.run, True, f"sample {i}")


def _is_same(a, b):
    """Whether two results of eager are equal."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a.isnan(), b.isnan()) and torch.allclose(a, b, 1e-6, 1e-9, equal_nan=True)
    return type(a) is type(b) and (a == b or a is b or not isinstance(a, (bool, int, float, str)))
