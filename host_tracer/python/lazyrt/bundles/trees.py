"""Nested arguments and results: taken apart into named tensors, described as JSON, made again.

A description is a dict with "kind"; those of single values are in fixed.py:
  tensor   {"name"}                        an input or output of the bundle; with "number" it is a "float" or "int" for the caller, with
                                           "numpy" an array of NumPy ("scalar": one of its numbers)
  value, fixed, digest                     a constant. A number of the result has a "name": that of the bundle's literal
  tuple, list   {"items"}
  dict     {"keys", "items"}               keys are as JSON has them, or descriptions
  object   {"type", "keys", "items", "absent"}  dataclass, named tuple, ModelOutput, other object with attributes; `absent` are fields that
                                           were None
"class" is given for subclasses of tuple, list and dict and for objects. Results come back as tuples, lists, dicts, OrderedDicts and Records."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from lazyrt.bundles import fixed
from lazyrt.bundles.fixed import Opaque

DEEPEST = 24
_SIZE = "torch.Size"
_NUMBERS = {"float": float, "int": int, True: float}


class _Node:
    """One level of nesting: `items` under `keys`; make(items) builds its like."""

    def __init__(self, kind, keys, items, make, **more):
        self.kind, self.keys, self.items, self.make, self.more = kind, list(keys), list(items), make, more


def flatten(value, name, is_tensor, names=None, arguments=False):
    """Returns (description, [(name, tensor)]). Names are unique; `names` are already in use. Raises Opaque for values that cannot be described. In
    arguments everything has to be comparable; in results, attributes of an object that becomes a Record may be left out."""
    leaves, taken = [], set() if names is None else names

    def visit(item, path, depth):
        if is_tensor(item):
            unique = _unique(path or "output", taken)
            leaves.append((unique, item))
            return {"kind": "tensor", "name": unique}
        node = open_node(item, path, arguments)
        if node is None:
            return _describe_leaf(item, path, arguments)
        if depth == DEEPEST:
            raise Opaque(path, f"it is nested more than {DEEPEST} levels deep")
        keys, items = [], []
        for key, child in zip(node.keys, node.items):
            try:
                items.append(visit(child, join(path, key), depth + 1))
                keys.append(key)
            except Opaque:
                if arguments or node.kind != "object" or "absent" in node.more or isinstance(item, tuple):
                    raise
        described = {"kind": node.kind, "items": items, **node.more}
        if node.kind in ("dict", "object"):
            described["keys"] = [describe_key(key, path) for key in keys]
        return described

    try:
        described = visit(value, name, 0)
    finally:
        del visit  # it refers to itself, and to the tensors: they would live until the garbage is collected
    return (_shorten(described) if arguments else described), leaves


def replace(value, is_tensor, make):
    """Returns the same nesting with make(tensor) for each tensor, in flatten's order; containers of tensors are copied, everything else is kept. An
    object in several places stays one object, and holds what was made for the first of them."""
    known = {}

    def visit(item, depth):
        if is_tensor(item):
            return make(item), True
        node = open_node(item, "", False) if depth < DEEPEST else None
        if node is None:
            return item, False
        made = [visit(child, depth + 1) for child in node.items]
        if not any(changed for _, changed in made):
            return item, False
        if id(item) not in known:
            known[id(item)] = node.make([child for child, _ in made])
        return known[id(item)], True

    try:
        return visit(value, 0)[0]
    finally:
        del visit  # as in flatten


def mark(description, names, **marks):
    """Adds marks to the tensors of these names."""
    if description["kind"] == "tensor" and description["name"] in names:
        description.update(marks)
    for item in description.get("items", ()):
        mark(item, names, **marks)


def tensors_of(description):
    """The descriptions of the tensors in a description, in order."""
    if description["kind"] == "tensor":
        return [description]
    return [tensor for item in description.get("items", ()) for tensor in tensors_of(item)]


def tensor_names(description):
    """Names of the tensors in a description, in order."""
    return [tensor["name"] for tensor in tensors_of(description)]


def build(description, tensors):
    """Makes the value of a description, with tensors[name] for its tensors. Objects become Records: no class that
    the file names is looked up."""
    kind = description["kind"]
    if kind == "tensor":
        return _build_tensor(description, tensors[description["name"]])
    if kind in ("value", "fixed"):
        name = description.get("name") if kind == "value" else None
        return tensors[name] if name in tensors else fixed.rebuild(description)
    items = [build(item, tensors) for item in description["items"]]
    if kind == "tuple":
        return fixed.size_of(items) if description.get("class") == _SIZE else tuple(items)
    if kind == "list":
        return items
    keys = [build(key, {}) if isinstance(key, dict) else key for key in description["keys"]]
    if kind == "dict":
        return (collections.OrderedDict if description.get("class") == "collections.OrderedDict" else dict)(zip(keys, items))
    return Record(description["type"], dict(zip(keys, items)), description.get("absent", ()))


def _build_tensor(description, tensor):
    if description.get("number"):
        return _NUMBERS[description["number"]](tensor)
    return tensor[()] if description.get("numpy") == "scalar" else tensor


class Record:
    """Replaces a dataclass, named tuple or object of the model: its fields are read by attribute, key or index. It may also be given as an
    argument where the class itself cannot be imported: Record("Options", {"scale": 2.0})."""

    def __init__(self, type_name: str, fields: Mapping[str, Any], absent: Iterable[str] = ()) -> None:
        self.__dict__.update({name: None for name in absent})
        self.__dict__.update(fields)
        object.__setattr__(self, "_type", type_name)
        object.__setattr__(self, "_fields", dict(fields))

    def __getitem__(self, key: str | int) -> Any:
        if isinstance(key, str):
            return self._fields[key]
        return tuple(self._fields.values())[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._fields.values())

    def __len__(self) -> int:
        return len(self._fields)

    def __contains__(self, key: object) -> bool:
        return key in self._fields

    def keys(self) -> KeysView[str]:
        """The names of the fields."""
        return self._fields.keys()

    def values(self) -> ValuesView[Any]:
        """The fields' values."""
        return self._fields.values()

    def items(self) -> ItemsView[str, Any]:
        """(name, value) of each field."""
        return self._fields.items()

    def to_tuple(self) -> tuple[Any, ...]:
        """The fields' values, as a tuple."""
        return tuple(self._fields.values())

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a {self.__dict__.get('_type', 'Record')} of a bundle has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"{self._type}({', '.join(f'{k}={v!r}' for k, v in self._fields.items())})"


class Mismatch(Exception):
    """A value that is not as described: at `path` there is `value` instead of `was`; or `text` says what is wrong."""

    def __init__(self, path, text="", was="", value=None):
        super().__init__(path, text, was)
        self.path, self.text, self.was, self.value = path, text, was, value


def match(description, value, found, path="", arguments=False):
    """Collects the tensors of a value in found[name]. Raises Mismatch where the value is nested differently than described, or holds other constants;
    a result's description may lack attributes of its objects."""
    kind = description["kind"]
    if kind == "tensor":
        found[description["name"]] = value
    elif kind in ("value", "fixed", "digest"):
        _match_constant(description, value, path, arguments)
    else:
        _match_node(description, value, found, path, arguments)


def _match_constant(description, value, path, arguments):
    if arguments and description["kind"] == "value" and "text" in description:  # version 1 has only its text, which cannot be compared
        return
    wanted = {key: item for key, item in description.items() if key != "name"}
    try:
        now = flatten(value, path, lambda item: False, arguments=True)[0] if arguments else fixed.describe(value, path)
    except Opaque as opaque:
        raise Mismatch(opaque.path, was=fixed.text_of(wanted), value=value) from None
    same = wanted == now and fixed.canonical(wanted) == fixed.canonical(now)  # 1 == True
    if not same and wanted["kind"] == now["kind"] == "fixed":
        name = "text" if wanted["type"] in ("class", "function") and wanted["type"] == now["type"] else "type"
        same = fixed.same_type(wanted[name], now[name]) and fixed.canonical({**wanted, name: ""}) == fixed.canonical({**now, name: ""})
    if not same:
        raise Mismatch(path, was=fixed.text_of(wanted), value=value)


def _match_node(description, value, found, path, arguments):
    try:
        node = _open_record(value, description) if isinstance(value, Record) else open_node(value, path, arguments)
    except Opaque as opaque:
        raise Mismatch(opaque.path, f"'{opaque.path}': {opaque.why}") from None
    wanted = description["type"] if isinstance(value, Record) else description.get("class", description["kind"] if description["kind"] != "object" else None)
    if node is None or node.kind != description["kind"] or arguments and not _is_of_class(node, wanted):
        raise Mismatch(path, was=f"a {wanted or description['type']}", value=value)
    of_record, items = isinstance(value, Record), description["items"]
    ours, theirs = description.get("keys", range(len(items))), node.keys
    known = {fixed.canonical(key): item for key, item in zip(map(_described_key, theirs), node.items)}
    names = [fixed.canonical(key) for key in ours]
    more = [key for key, name in zip(theirs, known) if name not in names]
    if "keys" not in description and len(items) != len(node.items):
        raise Mismatch(path, f"'{path or 'result'}' has {len(node.items)} items, the bundle was exported with {len(items)}")
    if more and (arguments or node.kind != "object"):
        raise Mismatch(path, f"'{join(path, more[0])}' was not there when the bundle was exported")
    for key, name, item in zip(ours, names, items):
        if name in known:
            match(item, known[name], found, join(path, key), arguments)
        elif not of_record or tensors_of(item):  # a Record may leave out constants
            raise Mismatch(path, f"'{path}' lacks '{key}'" if path else f"argument '{key}' is missing; the bundle was exported with it" if arguments else
                           f"'result' lacks '{key}'")
    if not arguments or of_record:
        return
    if names != list(known):
        raise Mismatch(path, f"the {'keys' if node.kind == 'dict' else 'attributes'} of '{path or 'the keyword arguments'}' come in another order than when the bundle "
                             f"was exported: {list(ours)}")
    if description.get("absent", node.more.get("absent")) != node.more.get("absent"):
        raise Mismatch(path, f"'{path}' has other attributes than when the bundle was exported")


def _is_of_class(node, wanted):
    return wanted is None or fixed.same_type(wanted, node.more.get("class", node.kind))


def _open_record(record, description):
    fields = {key: item for key, item in record._fields.items() if item is not None or key in description.get("keys", ())}
    return _Node("object", fields, fields.values(), None, **{"class": record._type})


def open_node(value, path, arguments):
    """The node of a container or object; None for a leaf."""
    if fixed.is_plain(value) or isinstance(value, (type, *fixed.VALUE_TYPES)):
        return None
    names = _names_of_items(value)
    if names is not None:
        return _object(value, names, list(value), getattr(value, "_make", type(value)))
    if dataclasses.is_dataclass(value):
        return _open_dataclass(value, path) if fixed.is_simple(value) or isinstance(value, dict) else None
    if isinstance(value, (tuple, list, collections.deque)):
        if fixed.type_name(value) == _SIZE:
            return _Node("tuple", range(len(value)), value, tuple, **{"class": _SIZE})
        more = {} if type(value) in (tuple, list) else _of_subclass(value, path)
        return _Node("tuple" if isinstance(value, tuple) else "list", range(len(value)), value, type(value), **more)
    if isinstance(value, collections.abc.Mapping):
        more = {} if type(value) is dict else _of_subclass(value, path)
        return _Node("dict", value, (value[key] for key in value), lambda items: _copy_with(value, list(value), items, type(value).__setitem__), **more)
    if type(value) is functools.partial:
        return _object(value, ("func", "args", "keywords"), (value.func, value.args, value.keywords), lambda items: functools.partial(items[0], *items[1], **items[2]))
    if fixed.is_simple(value) and not hasattr(type(value), "state_dict"):
        fields = fixed.attributes(value)
        return _object(value, fields, fields.values(), lambda items: _copy_with(value, fields, items, _put))
    return None


def _names_of_items(value):
    """Names of the items of a named tuple, or of a struct sequence of C (torch.return_types.sort); else None."""
    if not isinstance(value, tuple):
        return None
    return getattr(value, "_fields", type(value).__match_args__ if hasattr(type(value), "n_sequence_fields") else None)


def _object(value, keys, items, make, **more):
    return _Node("object", keys, items, make, type=type(value).__name__, **{"class": fixed.type_name(value)}, **more)


def _copy_with(value, keys, items, put):
    made = copy.copy(value)
    for key, item in zip(keys, items):
        put(made, key, item)
    return made


def _put(made, key, item):
    """Sets an attribute without calling a property of that name; in a dataclass that is also a dict, sets the item, too."""
    if isinstance(made, dict) and key in made:
        dict.__setitem__(made, key, item)
    held = getattr(made, "__dict__", None)
    if isinstance(held, dict) and key in held and held is not made:
        held[key] = item
    else:
        object.__setattr__(made, key, item)


def _of_subclass(value, path):
    """Marks of a container's class. Raises Opaque for contents that would get lost."""
    name = fixed.type_name(value)
    if getattr(value, "maxlen", None) is not None or getattr(value, "default_factory", None) is not None:
        raise Opaque(path, f"is a {name} with a maxlen or default_factory, which would get lost: give a list or dict")
    if not isinstance(value, collections.UserDict):
        _refuse_loss(value, path, fixed.attributes(value))
    return {"class": name}


def _refuse_loss(value, path, beside):
    if beside:
        raise Opaque(path, f"a {fixed.type_name(value)} that holds '{next(iter(beside))}' beside its items would lose it: give that by itself")


def _open_dataclass(value, path):
    """All attributes of a dataclass, its fields first; those that are None are `absent`."""
    held = fixed.attributes(value)
    names = [f.name for f in dataclasses.fields(value) if hasattr(value, f.name)]
    fields = {**{name: getattr(value, name) for name in names}, **{name: item for name, item in held.items() if name not in names}}
    if isinstance(value, dict):
        _refuse_loss(value, path, {key for key, item in dict.items(value) if key not in fields or fields[key] is not item})
    keys = [name for name in fields if fields[name] is not None]
    return _object(value, keys, [fields[key] for key in keys], lambda items: _copy_with(value, keys, items, _put), absent=[name for name in fields if name not in keys])


def _describe_leaf(value, path, arguments):
    described = fixed.describe(value, path)
    if not arguments and not fixed.can_rebuild(described):
        raise Opaque(path, f"{fixed.text_of(described)} cannot be given back by a bundle")
    return described


def describe_key(key, path):
    """A key that JSON can hold as it is; else its description."""
    if key is None or type(key) in (bool, int, float, str):
        return key
    if type(key) is tuple:
        return {"kind": "tuple", "items": [fixed.describe(item, path) for item in key]}
    return fixed.describe(key, path)


def _described_key(key):
    try:
        return describe_key(key, "")
    except Opaque:
        return {"kind": "opaque"}


def _shorten(described):
    """Replaces large parts without tensors by their digests, the innermost ones first."""
    if "items" in described:
        described = {**described, "items": [_shorten(item) for item in described["items"]]}
    if tensors_of(described):
        return described
    return fixed.shorten(described, described.get("class", described.get("type", described["kind"])))


def join(path, key):
    """The path of an item."""
    return f"{path}.{key}" if path else str(key)


def _unique(name, taken):
    candidate, i = name, 0
    while candidate in taken:
        i += 1
        candidate = f"{name}_{i}"
    taken.add(candidate)
    return candidate
