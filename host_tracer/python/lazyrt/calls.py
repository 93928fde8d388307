"""One call of a program on symbolic tensors, and what it leaves behind for the next one (see phases.py)."""

import collections

import torch

from lazyrt import _tracer, kept_numbers
from lazyrt.arrays import LazyArray, targets_of_writes
from lazyrt.entries import extent_of, overlap
from lazyrt.errors import ExportError
from lazyrt.phases import Phase, like, owner_of, refuse_one_way, replacing
from lazyrt.reach import TupleAt
from lazyrt.sparse_products import is_sparse
from lazyrt.tensors import is_lazy


class Call:
    """One call inside a capture: puts lazy tensors where the phase's symbolic ones are, and takes from the program what it
    left."""

    def __init__(self, phases, phase, lifted):
        """`lifted`: name -> lazy tensor of the registered parameters and buffers."""
        self.phases, self.phase, self.lifted = phases, phase, lifted
        self.left = []  # (path, tensor) of all that the program holds when it is done
        program = phases.program
        self.registered = {**program.parameters(), **program.buffers()}
        self.registered_ids = {id(tensor) for tensor in self.registered.values()}
        self.originals = phase.hidden(phases.names, phases.now_symbolic, self.registered_ids)
        self.leaves, self.types = {}, {}
        self.views = {}  # name -> (name of its state, lazy view) of tensors that share their memory
        self._add_leaves()
        for name, lazy in lifted.items():
            _pass_for(lazy, self.registered[name])
        for name, tensor in self.originals.items():
            _pass_for(self.lazy_of(name), tensor)
        self.numbers = {path: self._add_number(path, number) for path, number in phase.picture.numbers
                        if path in phases.now_numbers}
        self.plain_numbers = {path for path, _ in phase.picture.numbers} - self.numbers.keys()
        self.plain_paths = self._plain_paths()
        self.arrays = {}  # id -> what stands for an array of NumPy
        self.plain_arrays = {path for path, _ in phase.picture.arrays} - phases.now_arrays
        for path, array in phase.picture.arrays:
            if path in phases.now_arrays:
                if any(step < 0 for step in array.strides):
                    raise ExportError(f"the program writes into '{path}', an array of NumPy that lies backwards in memory: copy() it")
                tensor = torch.tensor(array)
                self.arrays[id(array)] = LazyArray(self.add_leaf(phases.names.of(path, tensor), tensor).clone())
        self.written, self.entangled = set(), set()  # names of states: written in place; sharing memory with others
        self.passed = set()  # (name, name afterwards) of states whose memory is known by another name afterwards
        self.moved = set()  # names of registered tensors that are called otherwise afterwards
        self.wrote, self.fixed = set(), set()  # given values that depend on inputs or states; that do not
        self.plain_written = set()  # paths of tensors that the program got as they are and wrote into
        self._as_given = []  # (path, tensor, version, content or None) of these

    def _add_leaves(self):
        """One state for each symbolic tensor, or for the memory that several of them share."""
        sharing = {}
        for name, tensor in self.originals.items():
            sharing.setdefault(tensor.untyped_storage().data_ptr() or id(tensor), []).append((name, tensor))
        for group in sharing.values():
            name, tensor = group[0]
            if len(group) == 1:
                self.add_leaf(name, tensor)
                continue
            self.add_leaf(name, memory_of(tensor))
            for other, view in group:
                lazy = self.leaves[name].as_strided(view.shape, view.stride(), view.storage_offset())
                self.views[other] = (name, lazy)

    def _add_number(self, path, number):
        """The lazy tensor that the number at this path is the value of in this call."""
        tensor = kept_numbers.as_tensor(number)
        return self.add_leaf(self.phases.names.of(path, tensor), tensor)

    def kept(self):
        """The lazy tensors that stand for what is kept from call to call."""
        return [*self.lifted.values(), *(self.lazy_of(name) for name in self.originals)]

    def lazy_of(self, name):
        return self.views[name][1] if name in self.views else self.leaves[name]

    def add_leaf(self, name, tensor):
        """A state: `tensor` is what it holds before the call."""
        self.leaves[name] = _tracer.add_state(name, tensor)
        self.types[name] = (tensor.shape, tensor.dtype)
        return self.leaves[name]

    def leaf(self, name, like):
        """The state of that name; one that no call has read so far begins with zeros."""
        found = self.leaves.get(name, self.lifted.get(name))
        return self.add_leaf(name, torch.zeros(like.shape, dtype=like.dtype)) if found is None else found

    def _plain_paths(self):
        """Paths of the tensors that the program got as they are."""
        taken = self.registered_ids.union(id(tensor) for tensor in self.originals.values())
        return {path for path, tensor in self.phase.picture.tensors if id(tensor) not in taken}

    def begin(self):
        stands_for = {id(tensor): self.lazy_of(name) for name, tensor in self.originals.items()}
        stands_for.update(self.arrays)
        targets_of_writes.clear()
        picture, plain = self.phase.picture, dict(self.numbers)
        given_numbers = dict(picture.numbers)
        places_of = collections.Counter(id(number) for _, number in picture.numbers)
        for path, number in picture.numbers:  # one that lies in several places is a state of its own in each
            if kept_numbers.is_kept(number) and path in plain and (places_of[id(number)] == 1 or not kept_numbers.can_put(owner_of(picture, path))):
                if id(number) in stands_for:
                    raise ExportError(f"the program keeps one number in several places, of which '{path}' takes no other one: keep it in an attribute", "unsupported")
                stands_for[id(number)] = kept_numbers.carrier(plain.pop(path).clone())
        given = replacing(stands_for)
        tuples = self._with_carriers(plain, given_numbers, given)
        if tuples:
            given = replacing({**stands_for, **tuples})
        if stands_for or tuples:
            self.phase.restore(given)
        for path, lazy in plain.items():
            owner, name = picture.owners[path]
            kept_numbers.put(given(owner), name, kept_numbers.carrier(lazy.clone()))
        self._as_given = [(path, tensor, tensor._version, tensor.detach().clone() if path in self.phase.apart else None)
                          for path, tensor in picture.tensors if path in self.plain_paths and not tensor.is_inference()]

    def _with_carriers(self, plain, given_numbers, given):
        """{id of a tuple: what stands for it} of those in which some of the numbers lie, which are taken out of `plain`: a tuple may lie in several places."""
        picture, items = self.phase.picture, {}
        inside = [path for path in plain if isinstance(picture.owners[path][0], TupleAt)]
        if inside:
            self.phase.restore()
        for path in inside:
            at, index = picture.owners[path]
            if at.path not in picture.owners:
                raise ExportError(f"the program keeps a number that its calls compute in the tuple '{at.path}', where nothing can be put in its place: keep it in an "
                                  "attribute or a list", "unsupported")
            whole = kept_numbers.get(*picture.owners[at.path])
            _, made = items.setdefault(id(whole), (whole, [given(item) for item in whole]))
            made[index] = kept_numbers.carrier(plain.pop(path).clone())
        return {here: like(whole, made) for here, (whole, made) in items.items()}

    @torch.no_grad()
    def as_returned(self, output):
        """A result as it is now: what lies in the memory of a state will have another value when the call has ended."""
        if not is_lazy(output) or _tracer.memory_of(output) not in {_tracer.memory_of(tensor) for tensor in self.kept()}:
            return output
        return output.clone()

    @torch.no_grad()
    def end(self, tensors, mode):
        """Writes what the program left into states. Gives the Phase that follows. `tensors`: the registered ones as the program
        left them."""
        self.plain_written = {path for path, tensor, version, content in self._as_given
                              if tensor._version != version or content is not None and not torch.equal(tensor, content)}
        self._as_given = []
        given = [*self.lifted.items(), *((name, self.lazy_of(name)) for name in self.originals)]
        self.written |= {name for name, lazy in given if _tracer.was_written(lazy)}
        self._put_back_registered(tensors)
        self.moved = self._find_moved()
        picture = self.phases.look()
        names = {id(lazy): name for name, lazy in given}
        self._entangle_plain([(names[id(lazy)], tensor) for lazy, tensor in mode.memory_taken if id(lazy) in names], picture)
        self.left = picture.tensors
        refuse_one_way(picture)
        mode.outlive([*(tensor for _, tensor in picture.tensors), *(array.tensor for _, array in picture.lazy_arrays)])
        self.phases.names.arrays.update(path for path, array in self.phase.picture.arrays if any(array is other for other in targets_of_writes))
        left = _Left(self, picture, mode)
        left.write()
        following = left.phase()
        self.leaves, self.lifted = {}, {}  # nothing lazy outlives the capture
        return following

    def _find_moved(self):
        """Names of registered tensors that have another name now: modules took each other's places."""
        program = self.phases.program
        names = {id(tensor): name for name, tensor in self.registered.items()}
        now = {**program.parameters(), **program.buffers()}
        moved = [(name, names[id(tensor)]) for name, tensor in now.items() if names.get(id(tensor), name) != name]
        return {name for pair in moved if now.get(pair[1]) is not now[pair[0]] for name in pair}

    def _put_back_registered(self, tensors):
        """self.buffer = value: into the buffer where it has its type, else into its place."""
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
                owner, _, attribute = name.rpartition(".")
                module = self.phases.program.shell.get_submodule(owner)
                table = module._buffers if attribute in module._buffers else module._parameters
                table[attribute] = tensor

    def _keep_old(self, written, replaced):
        """Whoever else holds what registered places held goes on to hold it: `written` are about to get other values. What is `replaced` by
        something that others hold, too, is entangled with them, and they with it."""
        picture = self.phases.look()
        others = [(name, lazy) for name, lazy in self.lifted.items() if name not in replaced]
        held = [(path, tensor, _tracer.memory_of(tensor)) for path, tensor in (*replaced.items(), *picture.tensors) if is_lazy(tensor)]
        in_places = [(name, _tracer.memory_of(lazy)) for name, lazy in others]
        self._entangle_plain(replaced.items(), picture)
        counts = collections.Counter([*(memory for *_, memory in held), *dict.fromkeys(memory for _, memory in in_places)])
        old = {_tracer.memory_of(lazy) for lazy in written}
        shared = {memory for path, _, memory in held if counts[memory] > 1 and (path in replaced or memory in old)}
        self.entangled |= {path if path in replaced else self.phases.names.of(path, tensor) for path, tensor, memory in held if memory in shared}
        self.entangled |= {name for name, memory in in_places if memory in shared}
        stands_for = {id(tensor): tensor.clone() for path, tensor, memory in held if memory in old and path not in replaced}
        if stands_for:
            picture.restore(replacing(stands_for))

    def _entangle_plain(self, taken, picture):
        """What takes a state's place, or gives it its memory, and is no tensor of the graph, may be something else's, too: writes into the one are writes into both."""
        for name, tensor in taken:
            if is_lazy(tensor) or not tensor.numel():
                continue
            others = [self.phases.names.of(path, other) for path, other in picture.tensors if not is_lazy(other) and overlap(tensor, other)
                      and self.phases.program.at(path) is not other]
            if others or _lies_in_buffers(tensor, picture):
                self.entangled |= {name, *others}


class _Left:
    """What a call left behind, place by place."""

    def __init__(self, call, picture, mode):
        self.call, self.picture, self.names = call, picture, call.phases.names
        self.before = call.phase.picture.tensors
        self.stands_for = {}  # id of a tensor -> what stands for it in the next phase
        self.keep, self.unfilled = [], set()
        self.writes, self.fill, self.apart = [], [], {}
        self.by_memory = None  # see _sharing
        self.original_of = {id(lazy): call.registered[name] for name, lazy in call.lifted.items()}
        self.replaced = {id(tensor) for tensor in call.originals.values()}  # by lazy tensors as the call began
        self.written_in_place = _written_in_place(mode)
        self.names_of_memory = collections.defaultdict(set)  # as the call began
        for name in call.originals:
            self.names_of_memory[_tracer.memory_of(call.lazy_of(name))].add(name)
        self._refuse_buffers()
        self._refuse_overlaps()
        for name, lazy in call.lifted.items():
            self._take_registered(name, lazy)
        self._take_views()
        for path, tensor in picture.tensors:
            if is_lazy(tensor):
                self._take_lazy(path, tensor)
            else:
                self._take_plain(path, tensor)
        for path, number in picture.numbers:
            if path in self.names.numbers:
                tensor = kept_numbers.as_tensor(number)
                self.writes.append((self.call.leaf(self.names.of(path, tensor), tensor), _tracer.lift(tensor)))
        for path, number in picture.carriers:
            self._take_number(path, number)
        for path, array in picture.arrays:
            if path in self.names.arrays:
                if any(overlap(array, other) for _, other in (*picture.arrays, *picture.tensors) if other is not array):
                    raise ExportError(f"the program keeps an array of NumPy in '{path}', and an array or tensor in the same memory: copy() one of them", "unsupported")
                self._take_constant(path, torch.tensor(array))
        for path, array in picture.lazy_arrays:
            self._take_array(path, array)
        for path, tensor in picture.aside_tensors:
            if is_lazy(tensor):
                original = self.original_of.get(id(tensor))
                self.stands_for[id(tensor)] = torch.zeros(tensor.shape, dtype=tensor.dtype) if original is None else original

    def _refuse_buffers(self):
        """Memory that the program holds otherwise than in a tensor is compared as it is: lazy values are never seen in it."""
        buffers = [*self.call.phase.picture.buffers, *self.picture.buffers]
        written = self._written_memory() if buffers else ()
        for path, begin, end in buffers:
            if any(begin <= address < end for address in written):
                raise ExportError(f"the program's calls write values that are computed from inputs or states into the memory of '{path}' by way of a tensor, "
                                  "where LazyRT cannot follow them: keep the tensor itself", "unsupported")

    def _written_memory(self):
        """Addresses of the memory of tensors, into which this call wrote lazy values."""
        call = self.call
        tensors = [(call.registered[name], lazy) for name, lazy in call.lifted.items()]
        tensors += [(tensor, call.lazy_of(name)) for name, tensor in call.originals.items()]
        return self.written_in_place.union(tensor.untyped_storage().data_ptr() for tensor, lazy in tensors if _tracer.was_written(lazy))

    def _refuse_overlaps(self):
        """Tensors of one memory are known by where it begins, which tensors made of parts of an array do not share."""
        call, ends = self.call, {}
        kept = [*call.registered.items(), *call.originals.items(), *call.phase.picture.tensors, *self.picture.tensors]
        for name, tensor in kept:
            if not is_lazy(tensor) and tensor.layout == torch.strided and tensor.device.type == "cpu" and tensor.numel():
                storage = tensor.untyped_storage()
                ends[storage.data_ptr()] = storage.data_ptr() + storage.nbytes(), name
        ordered, end, owner = sorted(ends), 0, None
        overlapping = []
        for begin in ordered:
            if begin < end:
                overlapping.append((owner, begin))
            if ends[begin][0] > end:
                end, owner = ends[begin][0], begin
        written = self._written_memory() if overlapping else ()
        for one, other in overlapping:
            if one in written or other in written:
                raise ExportError(f"the program's calls write values that are computed from inputs or states into memory that '{ends[one][1]}' and '{ends[other][1]}' have "
                                  "in common by way of NumPy or DLPack, where LazyRT cannot follow them: make one a view of the other (whole[4:])", "unsupported")

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
        if path in self.picture.aside:  # nobody reads it there
            self.stands_for.setdefault(id(number), kept_numbers.kept(_tracer.sample_of(kept_numbers.tensor_of(number)).item()))
            return
        self.names.numbers.add(path)
        lazy = kept_numbers.tensor_of(number)
        name = self.names.of(path, lazy)
        self.writes.append((self.call.leaf(name, lazy), lazy))
        self.call.wrote.add(name)
        value = self.stands_for.get(id(number))
        if value is None:
            value = self.stands_for[id(number)] = kept_numbers.kept(_tracer.sample_of(lazy).item())
        self.picture.places[path] = (number.__class__.__name__, value)
        self.picture.numbers.append((path, value))

    def _take_array(self, path, array):
        """An array of NumPy that is computed from inputs or states."""
        self.names.arrays.add(path)
        name = self.names.of(path, array.tensor)
        self.writes.append((self.call.leaf(name, array.tensor), array.tensor))
        self.call.wrote.add(name)
        memory = _tracer.memory_of(array.tensor)
        others = [other.tensor for _, other in self.picture.lazy_arrays if other is not array]
        others += [other for _, other in self.picture.tensors if is_lazy(other)]
        if any(_tracer.memory_of(other) == memory for other in others):
            raise ExportError(f"the program keeps an array of NumPy in '{path}' and an array or tensor that lies in the same memory: copy() one "
                              "of them")
        self.stands_for[id(array)] = self._content_of(array.tensor).numpy()
        self.picture.arrays.append((path, array))

    def _take_views(self):
        """Views of one memory stay views of one, as long as they stay where they are."""
        places, made = dict(self.picture.tensors), {}
        for name, (base, lazy) in self.call.views.items():
            original = self.call.originals[name]
            if places.get(name) is not lazy:
                self.call.entangled.add(base)
                self.call.written.add(base)
                continue
            if base not in made:
                made[base] = self._content_of(self.call.leaves[base])
                if _tracer.was_written(self.call.leaves[base]):
                    self.call.wrote.add(base)
            view = made[base].as_strided(original.shape, original.stride(), original.storage_offset())
            self._stand(lazy, view)
            self.original_of[id(lazy)] = view
            self.keep.append(view)
            self.unfilled.add(id(view))

    def _take_lazy(self, path, tensor):
        original = self.original_of.get(id(tensor))
        if original is not None:
            self.stands_for[id(tensor)] = original
        elif path in self.names.symbolic or _tracer.is_dynamic(tensor):
            self._take_symbolic(path, tensor)
        else:
            self._stand(tensor, _tracer.sample_of(tensor))
            sharing = self._sharing(tensor) | ({path} if _tracer.overlaps_itself(tensor) else set())
            if sharing:
                self.apart[path] = sharing

    def _stand(self, tensor, other):
        """The other takes its place, with the attributes that it was given."""
        self.stands_for[id(tensor)] = other
        self.stands_for[id(tensor.__dict__)] = other.__dict__

    def _take_symbolic(self, path, tensor):
        self.names.symbolic.add(path)
        self._stand(tensor, self._content_of(tensor))
        name = self.names.of(path, tensor)
        if name in self.call.lifted:
            raise ExportError(f"a call puts another tensor, computed from buffers or inputs, in the place of '{name}' (modules that are fused or made anew "
                              "in a call): let the program do that before the export, by a first call", "unsupported")
        leaf = self.call.leaf(name, tensor)
        if _tracer.was_written(leaf):
            self.call.written.add(name)
        if tensor is not leaf:
            self.writes.append((leaf, tensor))
        if tensor is not leaf or name in self.call.written:
            self.call.wrote.add(name)
        self.call.passed.update((other, name) for other in self.names_of_memory.get(_tracer.memory_of(tensor), ()) if other != name)
        self._look_for_others(name, tensor)
        if _tracer.overlaps_itself(tensor):
            self.call.entangled.add(name)

    def _look_for_others(self, name, tensor):
        """Tensors that share memory see each other's writes: states do not."""
        sharing = self._sharing(tensor)
        if sharing:
            self.call.entangled |= {name, *sharing.intersection(self.call.lifted)}

    def _sharing(self, tensor):
        """Names of registered tensors and paths of others that lie in its memory."""
        if self.by_memory is None:
            self.by_memory = collections.defaultdict(list)
            for name, other in (*self.call.lifted.items(), *self.picture.tensors):
                if is_lazy(other):
                    self.by_memory[_tracer.memory_of(other)].append((name, other))
        return {name for name, other in self.by_memory[_tracer.memory_of(tensor)] if other is not tensor}

    def _take_plain(self, path, tensor):
        before = dict(self.before).get(path)
        if id(tensor) in self.call.registered_ids or self.picture.owners.get(path, ("", ""))[1] == "grad":
            return
        if is_sparse(tensor):  # compared as it is
            if path in self.names.symbolic:
                raise ExportError(f"the program keeps sparse tensors and computed ones by turns in '{path}': a state is a dense tensor", "unsupported")
            return
        if self._has_array(tensor):
            self.call.entangled |= {self.names.of(path, tensor)} if path in self.names.symbolic else set()
            return
        if id(tensor) in self.replaced:
            raise ExportError(f"the program's calls change the tensor '{path}', which lies where LazyRT cannot put another one in its place: keep it in an "
                              "attribute, a list or a dict", "unsupported")
        written = tensor.numel() and tensor.untyped_storage().data_ptr() in self.written_in_place
        places = {at for at, other in self.before if other is tensor} - self.names.symbolic if written else ()
        if places:  # from where it may have come here
            self.names.symbolic.update(places)
        elif path in self.names.symbolic:
            self._take_constant(path, tensor)
        elif written:
            self.names.symbolic.add(path)
        elif before is not None and _same_type(before, tensor) and self._differs(path, before, tensor):
            self.names.symbolic.add(path)

    def _has_array(self, tensor):
        """Whether an array of NumPy lies in its memory: both are compared as they are."""
        storage = tensor.untyped_storage()
        begin = storage.data_ptr()
        return tensor.numel() > 0 and any(begin <= array.ctypes.data < begin + storage.nbytes() for _, array in self.picture.arrays)

    def _differs(self, path, before, tensor):
        then, now = self.call.phase.picture.places[path], self.picture.places[path]
        return then.content != now.content and (before is tensor or not torch.equal(before, tensor))

    def _take_constant(self, path, tensor):
        """A constant where a state is: the run writes it there."""
        name = self.names.of(path, tensor)
        leaf = self.call.leaf(name, tensor)
        self.writes.append((leaf, _tracer.lift(tensor.detach().clone())))
        others = [self.names.of(at, other) for at, other in self.picture.tensors if other is not tensor and overlap(tensor, other)]
        self.call.entangled |= {name, *others} if others or _lies_in_buffers(tensor, self.picture) else set()

    def _content_of(self, lazy):
        """The tensor that a state is in the next phase: phase() fills it with the sample's values."""
        made = torch.zeros(lazy.shape, dtype=lazy.dtype)
        self.fill.append((made, lazy))
        self.unfilled.add(id(made))
        return made

    def write(self):
        """All values are read before the first is written: states may change places."""
        values = [value.clone() for _, value in self.writes]
        for (leaf, _), value in zip(self.writes, values):
            if leaf.shape != value.shape:
                names = sorted(name for name, (base, _) in self.call.views.items() if self.call.leaves[base] is leaf)
                raise ExportError(f"the program keeps tensors in one memory ({', '.join(map(repr, names))}), and a call puts another one in the place of one of them: clone() one",
                                  "unsupported")
            leaf.copy_(value)

    def phase(self):
        """The phase that follows; its tensors hold the sample's values when it is a new one."""
        self.picture.replace(replacing(self.stands_for), self.unfilled)
        following = Phase(self.picture, self.apart)
        if self.call.phases.is_new(following):
            for made, lazy in self.fill:
                made.data.copy_(_tracer.sample_of(lazy))
            self.picture.keep_contents([made for made, _ in self.fill])
        return following


def _lies_in_buffers(tensor, picture):
    """Whether it lies in memory that the program holds otherwise than as a tensor: an array, a bytearray, a map, a storage."""
    first, last = extent_of(tensor)
    return any(first < end and begin < last for _, begin, end in picture.buffers)


def memory_of(tensor):
    """All of the memory that a tensor lies in, in one dimension."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (storage.nbytes() // tensor.element_size(),))


def _pass_for(lazy, original):
    """Makes a lazy tensor look like the one that it stands for: attributes that it was given, class, what autograd knows of it."""
    lazy.__dict__ = original.__dict__
    if isinstance(original, torch.nn.Parameter):
        lazy.__class__ = type(original)
    if not original.is_leaf or original.requires_grad == lazy.requires_grad:
        return
    lazy.requires_grad_(original.requires_grad)
    if original.grad is not None:
        lazy.grad = _tracer.lift(original.grad.detach())


def _written_in_place(mode):
    """Addresses of CPU memory that the program wrote lazy values into."""
    return {address for address, (_, lifted) in mode.lifted.items() if _tracer.was_written(lifted)}


def _same_type(a, b):
    return isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape
