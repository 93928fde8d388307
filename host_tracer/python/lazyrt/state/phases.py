"""Calls in a row: what a program keeps between them outside of its registered buffers.

A program's calls are traced one after the other from the state in which it was found. What it keeps is taken in two parts.
Places that hold tensors computed from inputs are *symbolic*: each is a state of the bundle, named by its path. All else (None or
not, lengths, keys, flags, numbers, constant tensors) is compared as it is, and each different form of it is a *phase*: one variant
of the bundle, which a run finds by the hidden state "lazyrt.phase". The program's code runs on symbolic tensors, and what it learns
of them is guarded; so a phase seen once goes on in one way, and when one returns the sequence is known for good."""

import collections

import torch

from lazyrt.errors import ExportError
from lazyrt.state.memory import Contents
from lazyrt.state.snapshot import Held, Snapshot, TupleAt, can_replace

MOST_PHASES = 16
PATIENCE = 3
_MOST_COUNTS = 16  # in a buffer whose values are phases
_MOST_HELD = 64  # values that such buffers take before they repeat
_CONTAINERS = (list, dict, collections.deque, collections.OrderedDict, collections.defaultdict, collections.Counter)


class Phase:
    """What a program keeps before a call. `hidden`: its symbolic tensors by the name of their state."""

    def __init__(self, snapshot):
        self.snapshot = snapshot

    def key(self, names):
        """Equal for equal phases."""
        return {path: _token(token, path in names.symbolic, path in names.numbers) for path, token in self.snapshot.places.items()}

    def hidden(self, names, symbolic, taken):
        """{name: tensor} of the symbolic tensors whose ids are not taken."""
        return {names.of(path, tensor): tensor for path, tensor in self.snapshot.tensors if path in symbolic and id(tensor) not in taken}

    def numbers(self, names):
        """{name: tensor} of the symbolic numbers."""
        found = [(path, as_tensor(number)) for path, number in self.snapshot.numbers if path in names.numbers]
        return {names.of(path, tensor): tensor for path, tensor in found}

    def restore(self, given=None):
        self.snapshot.restore(given)


def _token(token, symbolic, number):
    if type(token) is not Held:
        return ("number", token[0]) if number and type(token) is tuple else token
    return ("symbolic", token.tensor.dtype, token.tensor.shape) if symbolic else ("tensor", type(token.tensor), token.content, *token.place)


def as_tensor(number):
    """An int or float as a tensor of the type in which the graph computes with it; None for an int that is too large."""
    if isinstance(number, float):
        return torch.tensor(float(number), dtype=torch.float64)
    return torch.tensor(int(number)) if -2**62 < number < 2**62 else None


class Names:
    """Which places are symbolic, and the names of their states: the path, with a type if one path has held several."""

    def __init__(self):
        self.symbolic = set()  # paths of tensors
        self.numbers = set()  # paths of numbers
        self._types = {}

    def of(self, path, tensor):
        kind = (tensor.dtype, tuple(tensor.shape))
        first = self._types.setdefault(path, kind)
        if kind == first:
            return path
        return f"{path}:{str(kind[0]).removeprefix('torch.')}{list(kind[1])}"


class TracedCall:
    """One traced call: its phase before, its sample, and its phase afterwards."""

    name = ""  # see SizedCall

    def __init__(self, phase, sample, trace, run, following):
        self.phase, self.sample, self.trace, self.run, self.following = phase, sample, trace, run, following


class Phases:
    """The phases of a program. `capture(sample, phase)` traces a call and gives (trace, run), with run.after the Phase that it
    left behind and run.call the Call."""

    def __init__(self, program):
        self.program = program
        self.restless = []  # places that change with every call, where the phases come to no end
        self.contents = Contents(program.parameters().values())
        self.names = Names()
        self.counts = set()  # numbers that change with every call, followed as long as nothing but tensors comes of them
        self.follows_counts = True
        self.ignored = set()  # places that change with every call, as long as results do not depend on them
        self.unread = set()  # the same, and states that are written alone, when all is explored
        self.now_symbolic, self.now_numbers = frozenset(), frozenset()
        self.reads = {}  # path -> where a call decides by what an earlier one left there, None where that is not known
        self._asked = []  # names of states that calls of the last try decided by
        self.written = set()  # names of the registered parameters and buffers that calls write, as far as `is_traced`
        self.is_traced = False
        self.computed = set()  # names of all into which some call writes what depends on inputs or states
        self.held = set()  # names of small buffers of whole numbers by which calls decide: each value of them is a phase of its own
        self._never_held = set()  # the same, where that comes to no end
        self._most = MOST_PHASES
        self.first = Phase(self.look())
        self.contents.first = False
        refuse_one_way(self.first.snapshot)
        self.known = [self.first]

    def look(self):
        """A snapshot of all that the program reaches now."""
        return Snapshot(self.program.all_roots(), self.contents, self.ignored)

    def restore(self):
        self.first.restore()

    def find(self, phase):
        key = phase.key(self.names)
        for i, known in enumerate(self.known):
            if known.key(self.names) == key:
                return i
        return None

    def explore(self, samples, capture, eager):
        """Traces until no call leads to a new phase. Returns the steps, those of the first phase first. If the phases do not come to an end,
        `restless` are the places to blame."""
        self.restless, known, repeats = [], None, 0
        while True:
            self.restore()
            self.first.snapshot.restore_random()
            self.first = Phase(self.look())
            steps = self._try(samples, capture, eager)
            if steps is not None:
                return steps
            before, known = known, self._learned()
            repeats = repeats + 1 if known == before else 0
            if repeats == 2:
                raise ExportError(f"the program decides by what it computes and keeps ({', '.join(map(repr, self._asked)) or 'in attributes'}), "
                                  f"and takes a different path in every call, so the export would never end. Decide by tensor arithmetic "
                                  f"(torch.where), or by an argument")

    def _learned(self):
        """What is known about the places; the next try differs from the last one by it."""
        names = self.names
        found = (names.symbolic, names.numbers, self.ignored, self.counts, self.computed, self.reads, self.held)
        return *map(frozenset, found), self.follows_counts

    def _try(self, samples, capture, eager):
        """Returns the steps. None: something was learned about the places, so everything begins anew."""
        self.known, steps = [self.first], []
        for i, phase in enumerate(self.known):
            for sample in samples:
                trace, run = self._captured(capture, sample, phase)
                if trace is None:
                    return None
                steps.append(TracedCall(i, sample, trace, run, self._number_of(run.after)))
                self.computed |= run.call.wrote
                if self._is_misled(steps):
                    return None
            if len(self.known) > 2 and self._follow_more() or len(self.known) > PATIENCE and self._ignore_more():
                return None
            if len(self.known) > self._most and self._hold_no_more():
                return None
            if len(self.known) > self._most:
                self.restless = self._changing() or self._last_changed()
                break
        if self.held & self.computed and self._hold_no_more() or self._hold_more(steps, eager):
            return None
        self._asked = sorted(set().union(*(self.computed.intersection(step.trace.asked) for step in steps)))
        return None if self._asked else steps

    def _hold_more(self, steps, eager):
        """Treats the values of buffers that decide the path as parts of the phase if eager returns to an earlier value: a pointer into a ring, as in
        `at = int(self.at); self.ring[at] = x`."""
        seen = {id(tensor) for _, tensor in self.first.snapshot.tensors}  # TorchScript's are not
        buffers = {name: tensor for name, tensor in self.program.buffers().items() if id(tensor) in seen and _is_small_count(tensor)}
        candidates = self.written & buffers.keys() - self._never_held
        more = {name for name in candidates - self.held if any(step.trace.places_of_guards_on([name]) for step in steps)}
        if not more:
            return False
        calls = _calls_until_repeat(eager, steps[0].sample, sorted(self.held | more), _MOST_HELD)
        if calls is None:
            self._never_held |= more
            return False
        self._most = MOST_PHASES + calls
        self.held |= more
        self.names.symbolic -= more
        self.computed -= more
        return True

    def _hold_no_more(self):
        """Leaves these buffers to guards; returns whether there were any."""
        given_up, self.held, self._most = self.held, set(), MOST_PHASES
        self._never_held |= given_up
        return bool(given_up)

    def _captured(self, capture, sample, phase):
        """What capture returns; (None, None) if following numbers was a mistake, and they are taken as plain values from now on."""
        # One capture runs the program several times: all of its runs use the same symbolic places.
        self.now_symbolic, self.now_numbers = frozenset(self.names.symbolic), frozenset(self.names.numbers)
        try:
            trace, run = capture(sample, phase)
        except Exception:
            if not self.counts:
                raise
            self._stop_following(None)
            return None, None
        used = trace.places_of_guards_on(sorted(self.counts))
        if self.counts and (used or any(finding["severity"] == "error" for finding in trace.findings)):
            self._stop_following(used[0] if used else None)
            return None, None
        return trace, run

    def _stop_following(self, place):
        self.follows_counts = False
        if place:
            self.reads.update({path: place for path in self.counts})
        self.names.numbers -= self.counts
        self.counts = set()

    def _follow_more(self):
        """Makes states of numbers that change with every call, except those of other classes (such as an angle that wraps), which compute by their
        own rules."""
        if not self.follows_counts:
            return False
        snapshot = self.known[-1].snapshot
        numbers = {path for path, number in snapshot.numbers if type(number) in (int, float) and can_put(snapshot, path) and as_tensor(number) is not None}
        more = numbers.intersection(self._changing()) - self.names.numbers
        self.counts |= more
        self.names.numbers |= more
        return bool(more)

    def _is_misled(self, steps):
        """True if a call got a plain tensor or number whose place is known to be symbolic by now."""
        calls = [step.run.call for step in steps]
        return any(call.plain_paths & self.names.symbolic or call.plain_numbers & self.names.numbers for call in calls)

    def _number_of(self, phase):
        """The phase's number; a new one is added."""
        found = self.find(phase)
        if found is None:
            self.known.append(phase)
            return len(self.known) - 1
        return found

    def take_for_read(self, paths):
        """What was ignored at these paths is state: everything has to be explored again."""
        self.ignored.difference_update(paths)
        self.reads.update(dict.fromkeys(paths))

    def changed(self):
        """Places that the first call changes."""
        before, after = (phase.key(self.names) for phase in self.known[:2])
        return [path for path, token in after.items() if before.get(path, token) != token]

    def _changing(self):
        """Places that both of the last two calls changed; for a container that changed, not its items."""
        keys = [phase.key(self.names) for phase in self.known[-3:]]
        found = [path for path, token in keys[2].items()
                 if path in keys[1] and keys[1][path] != token and keys[0].get(path) != keys[1][path]]
        return [path for path in found if not any(_is_inside(path, other) for other in found if other != path)]

    def _last_changed(self):
        """Places that the last call changed."""
        before, after = (phase.key(self.names) for phase in self.known[-2:])
        return [path for path in {**before, **after} if path not in before or path not in after or before[path] != after[path]]

    def _ignore_more(self):
        """Treats places that change with every call as only written, until a trial shows that results depend on them (see only_written.py)."""
        snapshot = self.known[-1].snapshot
        more = {root for root in (_place_of(snapshot, path) for path in self._changing()) if root is not None}
        more -= self.reads.keys() | self.ignored
        self.ignored |= more
        return bool(more)


def _is_small_count(tensor):
    return not tensor.is_floating_point() and not tensor.is_complex() and 0 < tensor.numel() <= _MOST_COUNTS


def _is_inside(path, other):
    return path.startswith(other) and path[len(other)] in ".["


def _place_of(snapshot, path):
    """The path itself or that of the container in which it lies; None if nothing else can be put there."""
    if path in snapshot.containers:
        return path if type(snapshot.containers[path]) in _CONTAINERS else None
    owner, name = snapshot.owners.get(path, (None, None))
    for other, container in snapshot.containers.items():
        if container is owner:
            return other if type(container) in _CONTAINERS else None
    return path if can_replace(owner, name) else None


def _calls_until_repeat(eager, sample, names, most):
    """How many calls of eager in a row it takes until these buffers hold what they held before an earlier call; None if the first `most` calls do not
    reach such a point."""
    seen = []
    with eager.in_a_row():
        try:
            for calls in range(most + 1):
                held = eager.program.buffers()
                values = [held[name].tolist() for name in names]
                if values in seen:
                    return calls
                seen.append(values)
                eager.next_call(sample)
        except Exception:  # of eager on its own earlier results, or where a name means something else by now
            pass
    return None


def refuse_one_way(snapshot):
    for path, kind in snapshot.one_way:
        raise ExportError(f"the program uses the {kind} '{path}', which cannot be rewound after the export's own calls: make it a list, or an input")


def can_put(snapshot, path):
    """Whether a number can be put in this place."""
    owner, _ = snapshot.owners.get(path, (None, None))
    return owner is not None and not isinstance(owner, TupleAt)


def put(owner, name, value):
    """Puts a value into an attribute, an item, a cell or a global, bypassing the owner's class."""
    for kind in (dict, list, collections.deque):
        if isinstance(owner, kind):
            return kind.__setitem__(owner, name, value)
    if isinstance(owner, type):
        return type.__setattr__(owner, name, value)
    inner = getattr(owner, "__dict__", None)
    if inner is not None and name in inner:
        inner[name] = value
        return None
    return object.__setattr__(owner, name, value)


def replacing(stands_for):
    """given(value) for Snapshot: tensors by identity, also inside of tuples and frozen sets."""

    made = {}  # id of a tuple -> (the tuple, what is made of it): one that lies in two places stays one

    def given(value):
        found = stands_for.get(id(value))
        if found is not None:
            return found
        if isinstance(value, (tuple, frozenset)) and not isinstance(value, torch.Size):
            if id(value) in made:
                return made[id(value)][1]
            items = [given(item) for item in value]
            if any(a is not b for a, b in zip(items, value)):
                made[id(value)] = value, value._make(items) if hasattr(value, "_make") else type(value)(items)
                return made[id(value)][1]
        return value

    return given
