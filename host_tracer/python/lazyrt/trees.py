"""Nested arguments and results: taken apart into named tensors, described as JSON, made again.

A description is a dict with "kind":
  tensor   {"name"}                        an input or output of the bundle; with "number" it is a float for the caller
  value    {"value"} or {"text"}           a number, string or None; or the repr of something else. A number of the result has a
                                           "name": the literal of the bundle
  tuple, list   {"items"}
  dict     {"keys", "items"}               keys are numbers or strings
  object   {"type", "keys", "items", "absent", "mapping"}  dataclass, named tuple, ModelOutput, other object with
                                           attributes; `absent` are fields that were None
"""

import collections
import copy
import dataclasses
import types

_PLAIN = (bool, int, float, str, type(None))
_DEEPEST = 24


class _Node:
    """One level of nesting: `items` under `keys`; make(items) builds its like."""

    def __init__(self, kind, keys, items, make, **more):
        self.kind, self.keys, self.items, self.make, self.more = kind, keys, items, make, more


def flatten(value, name, is_tensor, names=None):
    """(description, [(name, tensor)]). Names are unique; `names` are taken already."""
    leaves, taken = [], set() if names is None else names

    def visit(item, path, depth):
        if is_tensor(item):
            unique = _unique(path or "output", taken)
            leaves.append((unique, item))
            return {"kind": "tensor", "name": unique}
        node = _open(item, is_tensor) if depth < _DEEPEST else None
        if node is None:
            return _describe_value(item)
        items = [visit(child, _join(path, key), depth + 1) for key, child in zip(node.keys, node.items)]
        described = {"kind": node.kind, "items": items, **node.more}
        if node.kind in ("dict", "object"):
            described["keys"] = list(node.keys)
        return described

    return visit(value, name, 0), leaves


def replace(value, is_tensor, make):
    """The same nesting with make(tensor) for each tensor, in flatten's order; containers are new."""

    def visit(item, depth):
        if is_tensor(item):
            return make(item)
        node = _open(item, is_tensor) if depth < _DEEPEST else None
        return item if node is None else node.make([visit(child, depth + 1) for child in node.items])

    return visit(value, 0)


def mark_numbers(description, names):
    """The tensors of these names are floats for the caller."""
    if description.get("name") in names:
        description["number"] = True
    for item in description.get("items", ()):
        mark_numbers(item, names)


def tensor_names(description):
    """Names of the tensors in a description, in order."""
    if description["kind"] == "tensor":
        return [description["name"]]
    return [name for item in description.get("items", ()) for name in tensor_names(item)]


def build(description, tensors):
    """The value that a description tells of, with tensors[name] for its tensors. Objects become Records: no class that
    the file names is looked up."""
    kind = description["kind"]
    if kind == "tensor":
        tensor = tensors[description["name"]]
        return float(tensor) if description.get("number") else tensor
    if kind == "value":
        return tensors.get(description.get("name"), description.get("value", description.get("text")))
    items = [build(item, tensors) for item in description["items"]]
    if kind == "tuple":
        return tuple(items)
    if kind == "list":
        return items
    if kind == "dict":
        return dict(zip(description["keys"], items))
    return Record(description["type"], dict(zip(description["keys"], items)), description.get("absent", ()))


class Record:
    """Stands for a dataclass, named tuple or object of the model: attributes, keys and indices give its fields."""

    def __init__(self, type_name, fields, absent=()):
        self.__dict__.update({name: None for name in absent})
        self.__dict__.update(fields)
        object.__setattr__(self, "_type", type_name)
        object.__setattr__(self, "_fields", fields)

    def __getitem__(self, key):
        if isinstance(key, str):
            return self._fields[key]
        return tuple(self._fields.values())[key]

    def __iter__(self):
        return iter(self._fields.values())

    def __len__(self):
        return len(self._fields)

    def __contains__(self, key):
        return key in self._fields

    def keys(self):
        return self._fields.keys()

    def values(self):
        return self._fields.values()

    def items(self):
        return self._fields.items()

    def to_tuple(self):
        return tuple(self._fields.values())

    def __repr__(self):
        return f"{self._type}({', '.join(f'{k}={v!r}' for k, v in self._fields.items())})"


def collect(description, value, found, path="", fixed=True):
    """Fills found[name] with the arrays of `value`, which has to be nested as described. Raises ValueError where it is not, and,
    with `fixed`, where a number or string is another one."""
    kind = description["kind"]
    if kind == "tensor":
        if value is None:
            raise ValueError(f"no array for input '{description['name']}'")
        found[description["name"]] = value
    elif kind == "value":
        if fixed:
            _check_fixed(description, value, path)
    elif kind in ("tuple", "list"):
        _collect_items(description["items"], value, found, path, fixed)
    else:
        for key, item in zip(description["keys"], description["items"]):
            if tensor_names(item):
                collect(item, _member(kind, value, key, path), found, _join(path, key), fixed)


def _collect_items(items, value, found, path, fixed):
    try:
        count = len(value)
    except TypeError:
        raise ValueError(f"'{path}' has to be a sequence of {len(items)}") from None
    if count != len(items):
        raise ValueError(f"'{path}' has {count} items, the bundle was exported with {len(items)}")
    for i, item in enumerate(items):
        collect(item, value[i], found, _join(path, i), fixed)


def _member(kind, value, key, path):
    if kind == "object" and hasattr(value, key):
        return getattr(value, key)
    try:
        return value[key]
    except (KeyError, TypeError, IndexError):
        pass
    raise ValueError(f"'{path}' lacks '{key}'")


def _check_fixed(description, value, path):
    if "value" in description and isinstance(value, _PLAIN) and value != description["value"]:
        raise ValueError(f"'{path}' was {description['value']!r} when the bundle was exported and is fixed; {value!r} needs "
                         "an export of its own")


def _open(value, is_tensor):
    """The node of a container, or None for a leaf."""
    if isinstance(value, _PLAIN) or isinstance(value, (type, types.ModuleType, types.FunctionType)):
        return None
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        make = value._make if hasattr(value, "_make") else type(value)
        return _Node("object", value._fields, list(value), make, type=type(value).__name__)
    if isinstance(value, tuple):
        return _Node("tuple", range(len(value)), list(value), tuple)
    if isinstance(value, list):
        return _Node("list", range(len(value)), value, list)
    if dataclasses.is_dataclass(value):
        return _open_dataclass(value)
    if isinstance(value, collections.abc.MutableMapping) and all(isinstance(k, _PLAIN) for k in value):
        return _Node("dict", list(value), list(value.values()), lambda items: _refill(value, items))
    return _open_object(value, is_tensor)


def _open_dataclass(value):
    fields = [f.name for f in dataclasses.fields(value) if hasattr(value, f.name)]
    keys = [name for name in fields if getattr(value, name) is not None]

    def make(items):
        made = copy.copy(value)
        for key, item in zip(keys, items):
            if isinstance(made, dict):
                dict.__setitem__(made, key, item)
            object.__setattr__(made, key, item)
        return made

    absent = [name for name in fields if name not in keys]
    return _Node("object", keys, [getattr(value, k) for k in keys], make, type=type(value).__name__, absent=absent)


def _open_object(value, is_tensor):
    if not _holds_tensor(value, is_tensor, 0, set()):
        return None
    fields = {k: v for k, v in vars(value).items() if _holds_tensor(v, is_tensor, 0, set())}

    def make(items):
        made = copy.copy(value)
        made.__dict__.update(zip(fields, items))
        return made

    return _Node("object", list(fields), list(fields.values()), make, type=type(value).__name__)


def _holds_tensor(value, is_tensor, depth, seen):
    if is_tensor(value):
        return True
    if depth > 6 or id(value) in seen or isinstance(value, (*_PLAIN, type, types.ModuleType, types.FunctionType)):
        return False
    seen.add(id(value))
    if isinstance(value, (list, tuple)):
        children = value
    elif isinstance(value, collections.abc.Mapping):
        children = list(value.values())
    elif hasattr(value, "__dict__") and not hasattr(value, "state_dict"):
        children = list(vars(value).values())
    else:
        return False
    return any(_holds_tensor(child, is_tensor, depth + 1, seen) for child in children)


def _refill(mapping, items):
    made = copy.copy(mapping)
    for key, item in zip(list(mapping), items):
        made[key] = item
    return made


def _describe_value(value):
    if isinstance(value, _PLAIN):
        return {"kind": "value", "value": value}
    return {"kind": "value", "text": repr(value)[:200]}


def _join(path, key):
    return f"{path}.{key}" if path else str(key)


def _unique(name, taken):
    candidate, i = name, 0
    while candidate in taken:
        i += 1
        candidate = f"{name}_{i}"
    taken.add(candidate)
    return candidate
