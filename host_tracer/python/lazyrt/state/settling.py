"""From the traced calls of a program to the variants of a bundle."""

import torch

from lazyrt import _tracer
from lazyrt.errors import ExportError
from lazyrt.state.memory import extent_of

_EDIT = "keep it as a tensor (register_buffer, and tensor arithmetic on it), or make it an input"


def settle(phases, steps):
    """The steps that the bundle needs, in the order in which a session tries them, made ready for it."""
    fixed = set().union(*(step.run.call.fixed for step in steps)) - phases.computed
    for step in steps:
        step.trace.forget_asked(sorted(fixed))  # a phase is of what these hold
    share_initial_contents(phases, steps, lambda name: name not in fixed)
    if phases.restless:
        return _blame(phases, steps)
    if not phases.first.snapshot.complete:
        _find(steps[0], "warning", "state", "the program reaches more objects than are looked at: what its calls change in the others is not seen")
    explored = steps
    if len(phases.known) > 1:
        steps = _settled(phases, steps, sorted(fixed)) or _in_phases(phases, steps, sorted(fixed))
    written = phases.written.union(*(step.run.call.written for step in explored))
    for message in (*_entangled(explored), *_held_elsewhere(phases, explored, written), *_overlapping(phases, written)):
        _find(steps[0], "error", "shared-memory", message, "clone() one of them, or make the view where it is used")
    _drop_unread(phases, steps)
    return steps


def _blame(phases, steps):
    """Reports that the first phase alone would be wrong from the second call on."""
    for path in phases.restless:
        place = phases.reads.get(path) or {}
        where = "is read by later calls" if place else "may be read by later calls"
        _find(steps[0], "error", "changing-attribute", f"'{path}' changes with every call and {where}: the bundle would repeat its "
              "first call", _EDIT, place)
    return [step for step in steps if step.phase == 0]


def _find(step, severity, name, text, suggestion="", place=None):
    place = place or {}
    step.trace.add_finding(severity, name, text, suggestion, place.get("file", ""), place.get("line", 0))


def _entangled(steps):
    """Finds states that the program writes in place while something else in the graph shares their memory."""
    entangled = set().union(*(step.run.call.entangled for step in steps))
    in_place = set().union(*(step.run.call.written for step in steps))
    for name in sorted(entangled & in_place):
        yield f"the program writes in place into '{name}', which it keeps between calls and which shares memory with another tensor: the graph does not see the write there"


def _held_elsewhere(phases, steps, written):
    """Finds registered tensors that calls write or replace and that the program also holds in other places, where no call puts the graph's tensor."""
    names, found = phases.program.by_all_names().keys(), {}
    for step in steps:
        registered = step.run.call.registered
        touched = sorted(written & registered.keys())
        paths = step.run.phase.snapshot.paths_by_tensor() if touched else {}
        for name in touched:
            for path in sorted(paths[id(registered[name])] - names - {name}):
                found.setdefault(path, name)
    for path, name in found.items():
        yield f"the program writes into '{name}', or puts another tensor in its place, and has the same tensor as '{path}': the graph does not see that there"


def _overlapping(phases, written):
    """Finds tensors and arrays of the program that share memory, if one of them is written."""
    found = {}
    registered = phases.program.registered()
    names = {id(tensor): name for name, tensor in registered.items()}
    for phase in phases.known:
        kept = {id(value): (*extent_of(value), names.get(id(value), path)) for path, value in
                (*registered.items(), *phase.snapshot.tensors, *phase.snapshot.arrays)}
        end, group = 0, []
        for begin, last, name in sorted(each for each in kept.values() if each[1]):
            group = [*group, name] if begin < end else [name]
            end = max(end, last)
            if len(group) > 1 and written.intersection(group):
                found[tuple(sorted(group))] = None
    for group in found:
        yield "the program writes into memory that it keeps as several tensors or arrays, " + ", ".join(f"'{name}'" for name in group) + ": the graph does not see the write in the others"


def _settled(phases, steps, fixed):
    """`fixed`: states that a call sets to values that no input changes. Returns the steps of the last phase, made the first; None if they do not
    represent all steps."""
    last = len(phases.known) - 1
    kept = {id(step.sample): step for step in steps if step.phase == last}
    if any(step.following != last for step in kept.values()):
        return None
    if any(name in step.trace.states for name in fixed for step in kept.values()):
        return None
    if not all(_tracer.compute_the_same(step.trace, kept[id(step.sample)].trace, fixed) for step in steps):
        return None
    for step in kept.values():
        step.phase = 0
    changed = ", ".join(f"'{path}'" for path in phases.changed()[:4])
    _find(next(iter(kept.values())), "note", "settled", f"the first call changes {changed}, and later ones compute the same with it: "
          "the bundle is the program as it is then")
    return list(kept.values())


def _in_phases(phases, steps, fixed):
    share_initial_contents(phases, steps, lambda name: True)
    lasting = min((step.following for step in steps if step.following <= step.phase), default=0)
    for step in steps:
        step.trace.drop_known_guards(fixed, sorted(phases.computed))
        step.trace.set_phase(step.phase, step.following)
        if step.phase < lasting:
            step.trace.forgive("parameter-written")
    # States that the calls before phase `lasting` write, and later ones only read.
    written, kept = (set().union(*(step.run.call.wrote for step in steps if (step.phase < lasting) == early)) for early in (True, False))
    for name in sorted(written - kept):
        _find(steps[0], "note", "data-dependent-init", f"'{name}' gets its value from the input of the first call and keeps it: "
              "so it is in the bundle, after each reset of its states")
    return steps


def _drop_unread(phases, steps):
    phases.restore()
    registered = phases.program.registered()
    hidden = [name for step in steps for name in step.trace.states if name not in registered and name != "lazyrt.phase"]
    phases.unread = {*phases.ignored, *_tracer.drop_unread_states([step.trace for step in steps], hidden)}
    for name in sorted(phases.unread):
        _find(steps[0], "note", "only-written", f"what the program keeps in '{name}' is never read: the bundle leaves it out")


def share_initial_contents(phases, steps, wanted):
    """The traces begin with the wanted states as they are before the first call."""
    phases.restore()
    first = phases.program.registered()
    first.update(phases.first.hidden(phases.names, phases.names.symbolic, {id(tensor) for tensor in first.values()}))
    first.update(phases.first.numbers(phases.names))
    types = {}
    for step in steps:
        types.update(step.run.call.types)
    for name in {name for step in steps for name in step.trace.states if wanted(name)}:
        if name not in first and name not in types:
            raise ExportError(f"the program adds or moves the buffer '{name}' in a later call, and writes into it: make all buffers before the export, "
                              "and leave them where they are")
        content = first[name].detach() if name in first else torch.zeros(types[name][0], dtype=types[name][1])
        for step in steps:
            step.trace.set_initial(name, content)
