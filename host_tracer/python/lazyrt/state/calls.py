"""One call of a program on symbolic tensors, and what it leaves behind for the next one (see phases.py)."""

import collections

import torch

from lazyrt import _tracer
from lazyrt.errors import ExportError
from lazyrt.numbers.carriers import LazyFloat, LazyInt
from lazyrt.record.sparse_products import is_sparse
from lazyrt.record.tensors import is_lazy
from lazyrt.state.memory import memory_of
from lazyrt.state.phases import Phase, as_tensor, can_put, put, refuse_one_way, replacing
from lazyrt.state.snapshot import CARRIERS

CARRIERS.update([LazyInt, LazyFloat])


def _carrier(lazy):
    """The number of a 0-dim lazy tensor, int64 or float64."""
    return LazyFloat(lazy) if lazy.dtype == torch.float64 else LazyInt(lazy)


class Call:
    """One call inside a capture: replaces the phase's symbolic tensors by lazy ones, and collects what the program leaves behind."""

    def __init__(self, phases, phase, lifted):
        """`lifted`: name -> lazy tensor of the registered parameters and buffers."""
        self.phases, self.phase, self.lifted = phases, phase, lifted
        self.left = []  # (path, tensor) of all that the program holds when it is done
        self.registered = phases.program.registered()
        self.registered_ids = {id(tensor) for tensor in self.registered.values()}
        self.originals = phase.hidden(phases.names, phases.now_symbolic, self.registered_ids)
        self.leaves, self.types = {}, {}
        self.written, self.entangled = set(), set()  # names of states: written in place; sharing memory with others
        self.wrote, self.fixed = set(), set()  # given values that depend on inputs or states; that do not
        for name, tensor in self.originals.items():
            self.add_leaf(name, tensor)
        self._entangle((name, memory_of(tensor).data_ptr()) for name, tensor in self.originals.items() if tensor.numel())
        for name, tensor in (*((name, self.registered[name]) for name in lifted), *self.originals.items()):
            _pass_for(self.lifted.get(name, self.leaves.get(name)), tensor)
        taken = self.registered_ids.union(map(id, self.originals.values()))
        self.plain_paths = {path for path, tensor in phase.snapshot.tensors if id(tensor) not in taken}  # of tensors that the program gets as they are
        self.plain_numbers = {path for path, _ in phase.snapshot.numbers} - phases.now_numbers

    def kept(self):
        """The lazy tensors that stand for what is kept from call to call."""
        return [*self.lifted.values(), *(self.leaves[name] for name in self.originals)]

    def add_leaf(self, name, tensor):
        """Adds a state; `tensor` is its content before the call."""
        self.leaves[name] = _tracer.add_state(name, tensor)
        self.types[name] = (tensor.shape, tensor.dtype)
        return self.leaves[name]

    def leaf(self, name, like):
        """The state of that name; one that no call has read so far begins with zeros."""
        found = self.leaves.get(name, self.lifted.get(name))
        return self.add_leaf(name, torch.zeros(like.shape, dtype=like.dtype)) if found is None else found

    def begin(self):
        given = replacing({id(tensor): self.leaves[name] for name, tensor in self.originals.items()})
        if self.originals:
            self.phase.restore(given)
        for path, number in self.phase.snapshot.numbers:
            if path in self.phases.now_numbers:
                tensor = as_tensor(number)
                owner, name = self.phase.snapshot.owners[path]
                put(given(owner), name, _carrier(self.add_leaf(self.phases.names.of(path, tensor), tensor).clone()))

    @torch.no_grad()
    def as_returned(self, output):
        """A result with its current value: if it shares memory with a state, its value will have changed when the call has ended."""
        if not is_lazy(output) or _tracer.memory_of(output) not in {_tracer.memory_of(tensor) for tensor in self.kept()}:
            return output
        return output.clone()

    @torch.no_grad()
    def end(self, tensors, mode):
        """Writes what the program left behind into states. Returns the Phase that follows. `tensors`: the registered tensors as the program left
        them."""
        given = [*self.lifted.items(), *((name, self.leaves[name]) for name in self.originals)]
        self.written |= {name for name, lazy in given if _tracer.was_written(lazy)}
        self._put_back_registered(tensors)
        snapshot = self.phases.look()
        names = {id(lazy): name for name, lazy in given}
        self.entangled |= {names[id(lazy)] for lazy, _ in mode.memory_taken if id(lazy) in names}
        self.left = snapshot.tensors
        refuse_one_way(snapshot)
        mode.outlive([tensor for _, tensor in snapshot.tensors])
        following = _Left(self, snapshot, mode).phase()
        self.phases.is_traced = True
        self.leaves, self.lifted = {}, {}  # nothing lazy outlives the capture
        return following

    def _put_back_registered(self, tensors):
        """self.buffer = value: writes the value into the buffer if the types agree, else puts it in the buffer's place."""
        for name in tensors:
            before, original = self.lifted[name], self.registered[name]
            if before.is_leaf and original.is_leaf and before.requires_grad != original.requires_grad:
                original.requires_grad_(before.requires_grad)
        replaced = {name: tensor for name, tensor in tensors.items() if tensor is not self.lifted[name]}
        values = {name: tensor.clone() for name, tensor in replaced.items() if _same_type(tensor, self.lifted[name])}
        if values:
            self._keep_old([self.lifted[name] for name in values], replaced)
        for name, tensor in replaced.items():
            if name in values:
                self.lifted[name].copy_(values[name])
            else:
                self.phases.program.put(name, tensor)

    def _keep_old(self, written, replaced):
        """Other holders of a registered tensor keep its old value: `written` are about to get new ones. A tensor that takes such a place and has
        other holders, too, is entangled with them."""
        snapshot = self.phases.look()
        held = [(path, tensor, _tracer.memory_of(tensor)) for path, tensor in (*replaced.items(), *snapshot.tensors) if is_lazy(tensor)]
        self._entangle([*((self.phases.names.of(path, tensor), memory) for path, tensor, memory in held),
                        *((name, _tracer.memory_of(lazy)) for name, lazy in self.lifted.items() if name not in replaced)])
        old = {_tracer.memory_of(lazy) for lazy in written}
        stands_for = {id(tensor): tensor.clone() for path, tensor, memory in held if memory in old and path not in replaced}
        if stands_for:
            snapshot.restore(replacing(stands_for))

    def _entangle(self, memories):
        """Notes (name, memory) of states: states that share memory see each other's writes in eager, but not in the graph."""
        sharing = collections.defaultdict(set)
        for name, memory in memories:
            sharing[memory].add(name)
        self.entangled.update(*(names for names in sharing.values() if len(names) > 1))


class _Left:
    """What a call left behind, place by place."""

    def __init__(self, call, snapshot, mode):
        self.call, self.snapshot, self.names = call, snapshot, call.phases.names
        self.before = call.phase.snapshot.tensors
        self.stands_for = {}  # id of a tensor -> what stands for it in the next phase
        self.keep, self.unfilled = [], set()
        self.writes, self.fill = [], []
        self.by_memory = None  # see _sharing
        self.original_of = {id(lazy): call.registered[name] for name, lazy in call.lifted.items()}
        self.replaced = {id(tensor) for tensor in call.originals.values()}  # by lazy tensors as the call began
        self.written_in_place = {address for address, (_, lifted) in mode.lifted.items() if _tracer.was_written(lifted)}  # of CPU tensors
        for name, lazy in call.lifted.items():
            self._take_registered(name, lazy)
        for path, tensor in snapshot.tensors:
            (self._take_lazy if is_lazy(tensor) else self._take_plain)(path, tensor)
        for path, number in snapshot.numbers:
            if path in self.names.numbers:
                tensor = as_tensor(number)
                self.writes.append((self.call.leaf(self.names.of(path, tensor), tensor), _tracer.lift(tensor)))
        for path, number in snapshot.carriers:
            self._take_number(path, number)
        for path, _ in snapshot.lazy_arrays:
            raise ExportError(f"the program keeps an array of NumPy in '{path}' that is computed from its inputs: keep a tensor there")
        for path, tensor in snapshot.aside_tensors:
            if is_lazy(tensor):
                original = self.original_of.get(id(tensor))
                self.stands_for[id(tensor)] = torch.zeros(tensor.shape, dtype=tensor.dtype) if original is None else original

    def _take_registered(self, name, lazy):
        if not _tracer.was_written(lazy):
            return
        original = self.call.registered[name]
        self.call.phases.written.add(name)
        if name in self.names.symbolic or _tracer.is_dynamic(lazy):
            self.names.symbolic.update([name, *(path for path, tensor in self.before if tensor is original)])
            stand_in = self._content_of(lazy)
            self.call.wrote.add(name)
        else:
            stand_in = _tracer.sample_of(lazy)
            self.call.fixed.add(name)
        if isinstance(original, torch.nn.Parameter):
            unfilled = id(stand_in) in self.unfilled
            stand_in = torch.nn.Parameter(stand_in, original.requires_grad)
            self.keep.append(stand_in)
            if unfilled:
                self.unfilled.add(id(stand_in))
        self._stand(original, stand_in)
        self.original_of[id(lazy)] = stand_in

    def _take_number(self, path, number):
        """A number that is computed from inputs or states."""
        with torch._C.DisableTorchFunction():
            lazy = number._tensor
        value = self.stands_for.setdefault(id(number), _tracer.sample_of(lazy).item())
        if path in self.snapshot.aside:  # nobody reads it there
            return
        if not can_put(self.snapshot, path):
            raise ExportError(f"the program keeps a number that its calls compute in '{path}', where LazyRT cannot replace it: keep it in an "
                              f"attribute or a list")
        self.names.numbers.add(path)
        name = self.names.of(path, lazy)
        self.writes.append((self.call.leaf(name, lazy), lazy))
        self.call.wrote.add(name)
        self.snapshot.places[path] = (type(value).__name__, value)
        self.snapshot.numbers.append((path, value))

    def _take_lazy(self, path, tensor):
        original = self.original_of.get(id(tensor))
        if original is not None:
            self.stands_for[id(tensor)] = original
        elif path in self.names.symbolic or _tracer.is_dynamic(tensor):
            self._take_symbolic(path, tensor)
        else:
            self._stand(tensor, _tracer.sample_of(tensor))

    def _stand(self, tensor, other):
        """Puts `other` in the place of the tensor, with the attributes that the tensor was given."""
        self.stands_for[id(tensor)] = other
        self.stands_for[id(tensor.__dict__)] = other.__dict__

    def _take_symbolic(self, path, tensor):
        self.names.symbolic.add(path)
        self._stand(tensor, self._content_of(tensor))
        name = self.names.of(path, tensor)
        if name in self.call.lifted:
            raise ExportError(f"a call replaces '{name}' by another tensor, computed from buffers or inputs (as modules do that are fused or "
                              f"rebuilt in a call): call the program once before the export, so that this has happened")
        leaf = self.call.leaf(name, tensor)
        if _tracer.was_written(leaf):
            self.call.written.add(name)
        if tensor is not leaf:
            self.writes.append((leaf, tensor))
        if tensor is not leaf or name in self.call.written:
            self.call.wrote.add(name)
        sharing = self._sharing(tensor)
        if sharing or _tracer.overlaps_itself(tensor):
            self.call.entangled |= {name, *sharing.intersection(self.call.lifted)}

    def _sharing(self, tensor):
        """Names of registered tensors, and paths of others, that share its memory: they see each other's writes, states do not."""
        if self.by_memory is None:
            self.by_memory = collections.defaultdict(list)
            for name, other in (*self.call.lifted.items(), *self.snapshot.tensors):
                if is_lazy(other):
                    self.by_memory[_tracer.memory_of(other)].append((name, other))
        return {name for name, other in self.by_memory[_tracer.memory_of(tensor)] if other is not tensor}

    def _take_plain(self, path, tensor):
        before = dict(self.before).get(path)
        if id(tensor) in self.call.registered_ids or self.snapshot.owners.get(path, ("", ""))[1] == "grad":
            return
        if is_sparse(tensor):  # compared as it is
            if path in self.names.symbolic:
                raise ExportError(f"the program keeps sparse tensors and computed ones by turns in '{path}': a state is a dense tensor")
            return
        if id(tensor) in self.replaced:
            raise ExportError(f"the program's calls change the tensor '{path}', which lies where LazyRT cannot put another one in its place: keep it in an "
                              "attribute, a list or a dict")
        written = tensor.numel() and tensor.untyped_storage().data_ptr() in self.written_in_place
        places = {at for at, other in self.before if other is tensor} - self.names.symbolic if written else ()
        if places:  # from where it may have come here
            self.names.symbolic.update(places)
        elif path in self.names.symbolic:  # a constant where a state is: the run writes it there
            self.writes.append((self.call.leaf(self.names.of(path, tensor), tensor), _tracer.lift(tensor.detach().clone())))
        elif written or before is not None and _same_type(before, tensor) and self._differs(path, before, tensor):
            self.names.symbolic.add(path)

    def _differs(self, path, before, tensor):
        then, now = self.call.phase.snapshot.places[path], self.snapshot.places[path]
        return then.content != now.content and (before is tensor or not torch.equal(before, tensor))

    def _content_of(self, lazy):
        """The tensor that represents a state in the next phase: phase() fills it with the sample's values."""
        made = torch.zeros(lazy.shape, dtype=lazy.dtype)
        self.fill.append((made, lazy))
        self.unfilled.add(id(made))
        return made

    def phase(self):
        """The phase that follows; its tensors hold the sample's values when it is a new one."""
        values = [value.clone() for _, value in self.writes]  # all are read before the first is written: states may change places
        for (leaf, _), value in zip(self.writes, values):
            leaf.copy_(value)
        self.snapshot.replace(replacing(self.stands_for), self.unfilled)
        following = Phase(self.snapshot)
        if self.call.phases.find(following) is None:
            for made, lazy in self.fill:
                made.data.copy_(_tracer.sample_of(lazy))
            self.snapshot.keep_contents([made for made, _ in self.fill])
        return following


def _pass_for(lazy, original):
    """Makes a lazy tensor look like the one that it replaces: its attributes, its class, its autograd state."""
    lazy.__dict__ = original.__dict__
    if isinstance(original, torch.nn.Parameter):
        lazy.__class__ = type(original)
    if not original.is_leaf or original.requires_grad == lazy.requires_grad:
        return
    lazy.requires_grad_(original.requires_grad)
    if original.grad is not None:
        lazy.grad = _tracer.lift(original.grad.detach())


def _same_type(a, b):
    return isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape
