"""From the traced calls of a program to the variants of a bundle."""

import torch

from lazyrt import _tracer
from lazyrt.calls import memory_of
from lazyrt.entries import is_plain_tensor
from lazyrt.errors import ExportError

_EDIT = "keep it as a tensor (register_buffer, and tensor arithmetic on it), or make it an input"


def settle(phases, steps):
    """The steps that the bundle needs, in the order in which a session tries them, made ready for it."""
    fixed = set().union(*(step.run.call.fixed for step in steps)) - phases.computed
    for step in steps:
        step.trace.forget_asked(sorted(fixed))  # a phase is of what these hold
    share_initial_contents(phases, steps, lambda name: name not in fixed)
    if phases.restless:
        return _blame(phases, steps)
    if not phases.first.picture.complete:
        _find(steps[0], "warning", "state", "the program reaches more objects than are looked at: what its calls change in the others is not "
              "seen")
    explored = steps
    if len(phases.known) > 1:
        steps = _settled(phases, steps, sorted(fixed)) or _in_phases(phases, steps, sorted(fixed))
    for finding in (*_tangles(explored), *_torn(phases, explored), *_moves(phases, explored), *_held_elsewhere(phases, explored), *_aliases(phases, explored)):
        _find(steps[0], "error", *finding)
    _drop_unread(phases, steps)
    return steps


def _blame(phases, steps):
    """The first phase alone, which is wrong from the second call on."""
    for path in phases.restless:
        place = phases.reads.get(path) or {}
        where = "is read by later calls" if place else "may be read by later calls"
        _find(steps[0], "error", "changing-attribute", f"'{path}' changes with every call and {where}: the bundle would repeat its "
              "first call", _EDIT, place)
    return [step for step in steps if step.phase == 0]


def _find(step, severity, name, text, suggestion="", place=None):
    place = place or {}
    step.trace.add_finding(severity, name, text, suggestion, place.get("file", ""), place.get("line", 0))


def _tangles(steps):
    """States that the program writes in place while something else shares their memory."""
    tangled = set().union(*(step.run.call.entangled for step in steps))
    for name in sorted(tangled & set().union(*(step.run.call.written for step in steps))):
        yield ("shared-memory", f"the program writes in place into '{name}', which it keeps between calls and which shares memory with another tensor: the graph "
               "does not see the write there", "clone() one of them")


def _torn(phases, steps):
    """Constants of the graph that one call leaves in the memory of others, and of which a later one writes either."""
    torn = {}
    for step in steps:
        written = step.run.call.written | step.run.call.plain_written
        for path, others in phases.known[step.phase].apart.items():
            if path in written or written & others:
                torn.setdefault(path, sorted(others)[0])
    for path, other in torn.items():
        yield ("shared-memory", f"a call leaves '{path}' in the memory of '{other}', and a later one writes into it: the graph does not see the write in the other",
               "clone() one of them")


def _held_elsewhere(phases, steps):
    """Registered tensors that calls write or replace and that the program has in other places, too: there no call puts the graph's tensor."""
    names, found = phases.program.by_all_names().keys(), {}
    written = phases.written.union(*(step.run.call.written for step in steps))
    for step in steps:
        registered = step.run.call.registered
        touched = sorted(written & registered.keys())
        paths = step.run.phase.picture.paths_by_tensor() if touched else {}
        for name in touched:
            for path in sorted(paths[id(registered[name])] - names - {name}):
                found.setdefault(path, name)
    for path, name in found.items():
        yield ("shared-memory", f"the program writes into '{name}', or puts another tensor in its place, and has the same tensor as '{path}': the graph does not see "
               "that there",
               f"use '{name}' in both places, or clone() one of them")


def _moves(phases, steps):
    """A state is known by the name of its tensor."""
    calls = [step.run.call for step in steps]
    moved = set().union(*(call.moved for call in calls)) & phases.written.union(*(call.written | call.wrote | call.fixed for call in calls))
    if moved:
        yield ("changing-attribute", "the program puts modules or tensors in other places, and writes into them: in later calls "
               + ", ".join(f"'{name}'" for name in sorted(moved)) + " is another one than before", "copy values from one into the other")


def _aliases(phases, steps):
    """Attributes that lie in the memory of a registered tensor, where either is written."""
    of_program = phases.program.registered()
    registered = {id(tensor): name for name, tensor in of_program.items()}
    written = phases.written.union(*(step.run.call.written | step.run.call.plain_written for step in steps))
    found, passed = set(), set().union(*(step.run.call.passed for step in steps))
    for phase in phases.known:
        groups = {}
        for path, tensor in (*of_program.items(), *phase.picture.tensors):  # pictures have none of TorchScript's registered ones
            if is_plain_tensor(tensor, inference=True) and tensor.numel():
                groups.setdefault(tensor.untyped_storage().data_ptr(), {})[id(tensor)] = registered.get(id(tensor), path)
        found.update(tuple(sorted(names.values())) for names in groups.values()
                     if len(names) > 1 and registered.keys() & names.keys() and written & _reached_from(set(names.values()), passed))
    for names in sorted(found):
        yield ("shared-memory", "the program writes into memory that several of its tensors share, one of them a registered one: "
               + ", ".join(f"'{name}'" for name in names) + "; the graph does not see the write in the others",
               "make the views where they are used, or clone() one of them")


def _reached_from(names, passed):
    """These and the names by which later calls know their memory; `passed` are pairs (name before a call, name after it)."""
    while more := {after for before, after in passed if before in names} - names:
        names |= more
    return names


def _settled(phases, steps, fixed):
    """`fixed`: states that a call sets to what no input changes. The steps of the last phase, made the first; None where they do not stand for all."""
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
    _note_initialisation(steps, lasting)
    return steps


def _note_initialisation(steps, lasting):
    """States that the calls before phase `lasting` write, and later ones only read."""
    written = set().union(*(step.run.call.wrote for step in steps if step.phase < lasting))
    kept = set().union(*(step.run.call.wrote for step in steps if step.phase >= lasting))
    for name in sorted(written - kept):
        _find(steps[0], "note", "data-dependent-init", f"'{name}' gets its value from the input of the first call and keeps it: "
              "so it is in the bundle, after each reset of its states")


def _drop_unread(phases, steps):
    phases.restore()
    registered = {*phases.program.parameters(), *phases.program.buffers()}
    hidden = [name for step in steps for name in step.trace.states if name not in registered and name != "lazyrt.phase"]
    unread = [*phases.ignored, *_tracer.drop_unread_states([step.trace for step in steps], hidden)]
    phases.unread = set(unread)
    for name in sorted(phases.unread):
        _find(steps[0], "note", "only-written", f"what the program keeps in '{name}' is never read: the bundle leaves it out")


def share_initial_contents(phases, steps, wanted):
    """The traces begin with the wanted states as they are before the first call."""
    phases.restore()
    first = {**phases.program.parameters(), **phases.program.buffers()}
    first.update(phases.first.hidden(phases.names, phases.names.symbolic, {id(tensor) for tensor in first.values()}))
    first.update({**phases.first.numbers(phases.names), **phases.first.arrays(phases.names)})
    types = {}
    for step in steps:
        types.update(step.run.call.types)
    for name in {name for step in steps for name in step.trace.states if wanted(name)}:
        if name not in first and name not in types:
            raise ExportError(f"the program adds or moves the buffer '{name}' in a later call, and writes into it: make all buffers before the export, "
                              "and leave them where they are", "unsupported")
        content = first[name].detach() if name in first else torch.zeros(types[name][0], dtype=types[name][1])
        if name in types and content.shape != types[name][0]:
            content = memory_of(content)
        for step in steps:
            step.trace.set_initial(name, content)
