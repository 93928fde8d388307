"""Places that are taken for only written must not be read: eager is run with other things in them."""

import collections
import types

import torch

from lazyrt.code_names import attributes_of
from lazyrt.reach import can_replace
from lazyrt.results import same_results

_MANY = 1000
_FEW = 12  # places that are tried one by one


def places_that_are_read(job, sample):
    """Paths among job.state.ignored where it matters what lies there before a call."""
    paths = sorted(job.state.ignored)
    if not paths:
        return []
    plain = _second_call(job, sample, (), None)
    if plain is None or not _are_same(plain, _second_call(job, sample, (), None)):  # told elsewhere
        return []
    found = set()
    for how in (_more_of, _less_of):
        left = [path for path in paths if path not in found]
        if not left or _are_same(plain, _second_call(job, sample, left, how)):
            continue
        one_by_one = left if len(left) <= _FEW else []
        single = [path for path in one_by_one if not _are_same(plain, _second_call(job, sample, [path], how))]
        found.update(single or left)
    return sorted(found)


def _are_same(a, b):
    return a == b if isinstance(a, str) or isinstance(b, str) else same_results(a, b)


def _second_call(job, sample, paths, how):
    """What a second call gives, or the error that it raises, where how(...) lies at the paths before it. None where the first one raises."""
    buffers = job.fresh_buffers()
    try:
        try:
            job.call_again(sample, buffers)
        except Exception:
            return None
        _alter(job.state.look() if paths else None, paths, how)
        return job.call_again(sample, buffers)
    except Exception as error:
        return f"{type(error).__name__} is raised"
    finally:
        job.restore()


def _alter(picture, paths, how):
    for path in paths:
        if path in picture.containers:
            how(picture.containers[path])
        elif path in picture.owners and can_replace(*picture.owners[path]):
            owner, name = picture.owners[path]
            owner.__dict__[name] = how(owner.__dict__[name])


def _more_of(value, depth=0):
    """A larger one of its kind; containers are enlarged themselves."""
    kind = type(value)
    if kind is bool or value is None:
        return not value if kind is bool else None
    if kind in (int, float):
        return value + kind(1_000_003)
    if kind in (str, bytes):
        return value + (value[-1:] or ("a" if kind is str else b"a")) * _MANY
    if isinstance(value, torch.Tensor):
        return _other(value, 1000)
    if depth > 3:
        return value
    if kind is tuple:
        items = [_more_of(item, depth + 1) for item in value]
        return (*items, *(items[-1:] * _MANY))
    if isinstance(value, dict):
        _change_items(value, _more_of, depth)
        if value and not depth and all(isinstance(key, (str, int)) for key in value):
            last, item = next(reversed(list(value))), list(value.values())[-1]
            for i in range(_MANY):
                _table_of(value).__setitem__(value, f"{last}~{i}" if isinstance(last, str) else last + i + 1, item)
        elif value and not depth:
            item = list(value.values())[-1]
            for _ in range(_MANY):
                _table_of(value).__setitem__(value, object(), item)
    elif isinstance(value, (list, collections.deque)):
        items = [_more_of(item, depth + 1) for item in value]
        _refill(value, items + (items[-1:] * _MANY if not depth else []))
    elif _is_simple(value):
        _change_items(value.__dict__, _more_of, depth)
    return value


def _less_of(value, depth=0):
    """A smaller one of its kind; containers are emptied themselves."""
    kind = type(value)
    if kind is bool or value is None:
        return value
    if kind in (int, float):
        return -value - kind(1_000_003)
    if kind in (str, bytes, tuple):
        return value[:0]
    if isinstance(value, torch.Tensor):
        return _other(value, -1000)
    if isinstance(value, (dict, list, collections.deque)):
        _refill(value, ())
    elif _is_simple(value) and depth <= 3:
        _change_items(value.__dict__, _less_of, depth)
    return value


def _is_simple(value):
    return type(value).__module__ not in ("builtins", "torch") and type(attributes_of(value)) is dict and not isinstance(
        value, (type, types.ModuleType, types.FunctionType, torch.nn.Module))


def _change_items(names, how, depth):
    table = _table_of(names)
    for key, item in list(table.items(names)):
        other = how(item, depth + 1)
        if other is not item:
            table.__setitem__(names, key, other)


def _table_of(names):
    """The class whose methods keep a dict whole."""
    return collections.OrderedDict if isinstance(names, collections.OrderedDict) else dict


def _refill(value, items):
    base = next(base for base in (collections.OrderedDict, dict, list, collections.deque) if isinstance(value, base))
    base.clear(value)
    if items:
        base.extend(value, items)


def _other(tensor, by):
    """A new tensor of its kind: the old one may be a part of something that is read."""
    if tensor.dtype == torch.bool:
        return ~tensor.detach()
    return tensor.detach() + by if not tensor.is_quantized and tensor.dtype != torch.uint8 else tensor
