"""Runs the program itself, as eager does, from the state at export, and restores the program and the process."""

import contextlib
import random

import numpy
import torch

from lazyrt.record import gradients
from lazyrt.state.memory import Contents, TensorEntry
from lazyrt.state.snapshot import Snapshot

SEED = 0x6C617A79_52540001  # of torch's generator during an export: if it has another seed, the program has set it


class Generators:
    """The random number generators of torch, Python and NumPy. While active, restore() gives them one state; at the end they get back their own."""

    def __enter__(self):
        self.before = torch.get_rng_state()
        torch.default_generator.manual_seed(SEED)
        self._torch, self._python, self._numpy = torch.get_rng_state(), random.getstate(), numpy.random.get_state(legacy=False)
        return self

    def __exit__(self, *error):
        self.restore()
        torch.set_rng_state(self.before)

    def restore(self):
        torch.set_rng_state(self._torch)
        random.setstate(self._python)
        numpy.random.set_state(self._numpy)

    def used(self):
        """Names of the generators of Python and NumPy from which numbers were drawn."""
        used = {"random": random.getstate() != self._python, "numpy.random": repr(numpy.random.get_state(legacy=False)) != repr(self._numpy)}
        return [name for name, has_moved in used.items() if has_moved]


class Eager:
    """Calls the program. A single call begins in the state at export, or in a phase, and restores everything afterwards."""

    def __init__(self, program, phases, samples, generators):
        self.program, self._phases, self._generators = program, phases, generators
        self._arguments = Snapshot([(f"argument {i}", value) for i, sample in enumerate(samples) for value in (sample.args, sample.kwargs)], Contents())
        self._contents = Contents()  # copies parameters, too
        self._lent = None
        self.calls = 0
        self.takes_gradients = False  # of its own results: autograd is on while it runs
        self.begins_in = None  # the phase from which it is run; None: the first

    def restore(self):
        if self._lent is not None:
            self._lent.put_back()
            self._lent = None
        self._phases.restore()
        self._arguments.restore()
        self._phases.first.snapshot.restore_random()
        self._generators.restore()

    def restore_arguments(self):
        """Restores containers and objects among the arguments, such as a cache that the last call has filled."""
        self._arguments.restore()

    def __call__(self, sample, tensors=None, mode=None, phase=None, arrange=None):
        """Returns the results of one call, under a mode, on clones of the sample's tensors or on `tensors`, after arrange(args, kwargs). Its buffers, and the
        parameters that calls write, are clones; other parameters are new objects with the same memory."""
        written = self._may_write()

        def run():
            self.restore()
            (phase or self.begins_in or self._phases.first).restore()
            given = {name: _as_another(tensor, name in written) for name, tensor in self.program.registered().items()}
            args, kwargs = sample.call(tensors or sample.clones())
            args, kwargs = (args, kwargs) if arrange is None else arrange(args, kwargs)
            return self._run(lambda: self.program.call(given, args, kwargs), mode)

        try:
            return run()
        except RuntimeError as error:
            if self.takes_gradients or not gradients.are_missing(error):
                raise
            self.takes_gradients = True
            return run()
        finally:
            self.restore()

    @contextlib.contextmanager
    def in_a_row(self):
        """While active, each next_call() begins in the state after the last one."""
        self.begin()
        try:
            yield
        finally:
            self.restore()

    def begin(self):
        """Restores the first state: next_call() begins in it."""
        self.restore()
        (self.begins_in or self._phases.first).restore()
        self._lent = _Lent(self.program, self._may_write().values(), self._contents)

    @property
    def is_begun(self):
        """Whether begin() was called since the last restore()."""
        return self._lent is not None

    def next_call(self, sample, tensors=None, mode=None):
        """A call with the program's own parameters and buffers, which it may write, on clones of `tensors` or of the sample's."""
        self._arguments.restore()
        given = sample.clones() if tensors is None else [tensor.detach().clone() for tensor in tensors]
        args, kwargs = sample.call(given)
        return self._run(lambda: self.program.shell(*args, **kwargs), mode)

    def _run(self, call, mode):
        self.calls += 1
        with torch.set_grad_enabled(self.takes_gradients), mode or contextlib.nullcontext(), gradients.open_to(mode):
            return call()

    def _may_write(self):
        """{name: tensor} of the parameters and buffers that calls may write."""
        known = self._phases.written if self._phases.is_traced else None
        return {**self.program.buffers(), **{name: tensor for name, tensor in self.program.parameters().items() if known is None or name in known}}

    @contextlib.contextmanager
    def beginning_in(self, phase):
        """While active, calls begin in this phase."""
        self.begins_in = phase
        try:
            yield
        finally:
            self.begins_in = None


class _Lent:
    """Keeps the module tables and tensors of the program before a row of calls on its own tensors; put_back() restores them."""

    def __init__(self, program, tensors, contents):
        self._tables = [(table, dict(table.items())) for module in program.shell.modules() for table in (module._parameters, module._buffers)]
        self._entries = [TensorEntry(tensor, contents) for tensor in tensors]

    def put_back(self):
        for table, saved in self._tables:
            if not isinstance(table, dict):  # TorchScript's: its names stay, and each access returns another object
                for name, tensor in saved.items():
                    table[name] = tensor
            elif list(table) != list(saved) or any(table[name] is not tensor for name, tensor in saved.items()):
                table.clear()
                table.update(saved)
        for entry in self._entries:
            entry.restore(None)


def _as_another(tensor, copied):
    """A new object for the tensor, as in a capture: parameters stay parameters."""
    content = tensor.detach().clone() if copied else tensor.detach()
    if not isinstance(tensor, torch.nn.Parameter):
        return content.requires_grad_(tensor.requires_grad)
    made = torch.Tensor._make_subclass(type(tensor), content, tensor.requires_grad)
    made.__dict__.update(tensor.__dict__)
    return made
