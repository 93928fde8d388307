"""Checks each call of a loaded bundle against the arguments of the exported call.

The interface, JSON in the bundle's info, has a list "parameters" in the order of the program's signature, each a dict:
  name
  kind     "positional", "either", "open positional" (*args), "keyword", "open keyword" (**kwargs)
  item     the description of what was given at export, or of the default that stood in for it (see trees.py)
  default  the description of the signature's default; {"kind": "default"} of one that cannot be compared
and "results", if the variants have different constants in their results: a list of descriptions; a variant's literal "lazyrt.result" is its index there.

Inputs are values: only dtype, shape and elements count, not strides, identity or attributes."""

from lazyrt.bundles import fixed, trees
from lazyrt.errors import InputError

MISSING = object()
_TAKES_POSITION = ("positional", "either")
_TAKES_NAME = ("either", "keyword")
_PLAIN_ARRAYS = (("numpy", "ndarray"), ("torch", "Tensor"))


def upgrade(interface):
    """Returns an interface in the newest form: bundles of version 1 have no defaults and no kinds."""
    if interface.get("version") == 1:
        parameters = [{"name": name, "kind": "either", "item": item} for name, item in interface["arguments"]]
        for parameter in parameters:
            if not trees.tensor_names(parameter["item"]):
                parameter["default"] = parameter["item"]
        interface = {**interface, "parameters": parameters}
    return interface


def bind(parameters, args, kwargs):
    """Returns a value or MISSING for each parameter. Raises InputError where Python would raise TypeError."""
    values = _bind_positional(parameters, args)
    by_name = {p["name"]: i for i, p in enumerate(parameters) if p["kind"] in _TAKES_NAME}
    more = next((i for i, p in enumerate(parameters) if p["kind"] == "open keyword"), None)
    extra = {}
    for name, value in kwargs.items():
        index = by_name.get(name)
        if index is None and more is None:
            known = ", ".join(p["name"] for p in parameters)
            raise InputError(f"there is no argument '{name}'; there are {known or 'none'} (run() takes arrays by the names of the inputs)")
        if index is None:
            extra[name] = value
        elif values[index] is not MISSING:
            raise InputError(f"argument '{name}' is given twice")
        else:
            values[index] = value
    if more is not None:
        values[more] = extra
    return values


def _bind_positional(parameters, args):
    values = [MISSING] * len(parameters)
    places = [i for i, p in enumerate(parameters) if p["kind"] in _TAKES_POSITION]
    rest = next((i for i, p in enumerate(parameters) if p["kind"] == "open positional"), None)
    for place, value in zip(places, args):
        values[place] = value
    if rest is not None:
        values[rest] = tuple(args[len(places):])
    elif len(args) > len(places):
        raise InputError(f"{len(args)} positional arguments, the program takes {len(places)}")
    return values


def match(parameters, values):
    """Returns the arrays by input name. Raises InputError that names the first fixed argument whose value differs from the export."""
    found = {}
    for parameter, value in zip(parameters, values):
        item, name = parameter["item"], parameter["name"]
        if value is MISSING:
            _match_missing(parameter)
            continue
        path = "" if parameter["kind"] == "open keyword" else name
        if item["kind"] == "default":
            raise InputError(f"argument '{name}' was left out when the bundle was exported; {_shown(value)} needs an export of its own")
        given = {}
        try:
            trees.match(item, value, given, path, arguments=True)
        except trees.Mismatch as other:
            raise InputError(other.text) if other.text else _changed(other.path, other.was, _shown(other.value)) from None
        for tensor in trees.tensors_of(item):
            if tensor["name"] in given:
                found[tensor["name"]] = _array(tensor, given[tensor["name"]])
    return found


def _match_missing(parameter):
    item, name = parameter["item"], parameter["name"]
    default = parameter.get("default")
    if item["kind"] == "default" or default is not None and fixed.canonical(default) == fixed.canonical(item):
        return
    if default is None and item["kind"] == "tensor":
        raise InputError(f"no array for input '{item['name']}'")
    was = "given" if trees.tensor_names(item) else fixed.text_of(item)
    now = "" if default is None else f", and its default is {fixed.text_of(default)}" if default["kind"] != "default" else ""
    raise InputError(f"argument '{name}' is missing{now}; it was {was} when the bundle was exported")


# -------------------------------------------------------------------- arrays

def is_array(value):
    """True for tensors, arrays of NumPy and other arrays that NumPy can read."""
    return _is_numpy(value) or not type(value).__module__.startswith("numpy") and hasattr(type(value), "__array__")


def _is_numpy(value):
    return ("numpy", "ndarray") in [(base.__module__, base.__name__) for base in type(value).__mro__]


def _array(item, value):
    name = item["name"]
    if value is None or not is_array(value):
        raise _changed(name, "an array" if item.get("numpy") else "a tensor", _shown(value))
    bases = [(base.__module__, base.__name__) for base in type(value).__mro__]
    if bases[0] not in _PLAIN_ARRAYS and set(_PLAIN_ARRAYS).intersection(bases):
        raise InputError(f"'{name}' is a {fixed.type_name(value)}: give a plain array or tensor")
    if item.get("numpy") and not _is_numpy(value):
        raise _changed(name, "an array of NumPy", _shown(value))
    return value


# -------------------------------------------------------------------- texts

def _changed(path, was, now):
    return InputError(f"'{path}' was {was} when the bundle was exported and is fixed; {now} needs an export of its own")


def _shown(value):
    if is_array(value):
        return f"an array of shape {list(getattr(value, 'shape', ()))}"
    return fixed.short_repr(value)
