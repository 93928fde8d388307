"""What is taken for only written must not be read: eager runs once with it emptied, and once with it filled (`if len(self.past) > 100`)."""

import collections

import torch

from lazyrt.driver.results import leaves, same_leaves
from lazyrt.state.phases import put
from lazyrt.state.snapshot import can_replace

_MANY = 1000
_TABLES = (collections.OrderedDict, dict, list, collections.deque)


def places_that_are_read(eager, phases, sample):
    """Paths in phases.ignored whose content before a call matters: all of them if it cannot be attributed to one."""
    paths = sorted(phases.ignored)
    plain = _second_call(eager, phases, sample, (), None) if paths else None
    if plain is None or not _are_same(plain, _second_call(eager, phases, sample, (), None)):  # eager differs from itself: the check finds that
        return []
    for change in (_empty, _fill):
        if not _are_same(plain, _second_call(eager, phases, sample, paths, change)):
            return [path for path in paths if len(paths) > 1 and not _are_same(plain, _second_call(eager, phases, sample, [path], change))] or paths
    return []


def _are_same(a, b):
    return a == b if isinstance(a, str) or isinstance(b, str) else same_leaves(a, b)


def _second_call(eager, phases, sample, paths, change):
    """What a second call returns, or the error that it raises, if the content at the paths is changed before it. The first call uses other values,
    because state kept for the same values may make no difference. None if the first call raises."""
    with eager.in_a_row():
        try:
            eager.next_call(sample, [tensor * -1.7 if tensor.is_floating_point() else tensor.flip(*range(tensor.dim())) for _, tensor in sample.inputs])
        except Exception:
            return None
        try:
            snapshot = phases.look() if paths else None
            for path in paths:
                if path in snapshot.containers:
                    container = snapshot.containers[path]
                    change(container, next(base for base in _TABLES if isinstance(container, base)))
                elif path in snapshot.owners and can_replace(*snapshot.owners[path]):
                    owner, name = snapshot.owners[path]
                    put(owner, name, _other(owner.__dict__[name], change is _fill))
            return leaves(eager.next_call(sample))
        except Exception as error:
            return f"{type(error).__name__} is raised"


def _empty(container, base):
    base.clear(container)


def _fill(container, base):
    if not container:
        return
    if not issubclass(base, dict):
        base.extend(container, [container[-1]] * _MANY)
        return
    key, item = list(base.items(container))[-1]
    for i in range(_MANY):
        more = f"{key}~{i}" if isinstance(key, str) else key + i + 1 if isinstance(key, int) else object()
        base.__setitem__(container, more, item)


def _other(value, more):
    """Another value of the same kind: texts longer or emptied, numbers far away."""
    kind = type(value)
    if kind in (int, float):
        return (value if more else -value) + kind(1_000_003 if more else -1_000_003)
    if kind in (str, bytes, tuple):
        return value + value[-1:] * _MANY if more else value[:0]
    if not isinstance(value, torch.Tensor):
        return not value if kind is bool and more else value
    if value.dtype == torch.bool:
        return ~value.detach()
    return value.detach() + (1000 if more else -1000) if not value.is_quantized and value.dtype != torch.uint8 else value
