"""Values that are no tensors: described as JSON so that equal descriptions mean equal values, and made again.

An argument that is compared at each call, and a result that is the same in each, is one of these descriptions (a dict with "kind"):
  value   {"value"}             None, bool, int, finite float, text; 1, 1.0 and true differ, 0.0 and -0.0 too
  fixed   {"type", "text"}      an enum's member, a dtype, a range, a function by its qualified name, ...; "parts" of a set
  digest  {"type", "sha256"}    of the description of something large

Neither torch nor numpy is imported here: their values are recognised by the names of their classes."""

import datetime
import decimal
import enum
import fractions
import hashlib
import json
import math
import pathlib
import sys
import types
import uuid

from lazyrt.state.code_names import is_python_class

_LARGEST = 4096  # characters of JSON; a longer description is replaced by its digest
VALUE_TYPES = (decimal.Decimal, fractions.Fraction, datetime.date, datetime.time, datetime.timedelta, uuid.UUID, pathlib.PurePath)
_BY_TEXT = (float, complex, bytes, bytearray, range, type(Ellipsis), type(NotImplemented), *VALUE_TYPES)  # repr() has all of their value
_ROUTINES = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
             types.MethodWrapperType, types.ClassMethodDescriptorType)
_OF_TORCH = ("torch.dtype", "torch.device", "torch.layout", "torch.memory_format")


class Opaque(Exception):
    """A value that cannot be compared with another one. `path` names it, `why` is for the error's text."""

    def __init__(self, path, why):
        super().__init__(path, why)
        self.path, self.why = path, why


def is_plain(value):
    """Whether it is None or exactly a bool, int, float or str, not of a class derived from them."""
    return value is None or type(value) in (bool, int, float, str)


def type_name(value):
    """Where a value's class was defined, and the class's name."""
    cls = type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def same_type(described, given):
    """Whether two names of classes (type_name) or functions mean the same one; what is defined in __main__ may be imported under the script's name
    elsewhere."""
    for ours, other in ((described, given), (given, described)):
        module, _, name = ours.partition(".")
        if ours == other or module == "__main__" and other.endswith(f".{name}"):
            return True
    return False


def canonical(described):
    """A text that is equal only for equal descriptions."""
    return json.dumps(described, sort_keys=True, separators=(",", ":"))


def shorten(described, type_name):
    """The description, or a digest of it where it is large."""
    text = canonical(described)
    return described if len(text) <= _LARGEST else {"kind": "digest", "type": type_name, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def text_of(described):
    """A description as people read it."""
    if described["kind"] == "value":
        return short_repr(described.get("value", described.get("text")))
    if described["kind"] == "digest":
        return f"another {described['type']}"
    return described["text"] if described["kind"] == "fixed" else f"a {described.get('type', described['kind'])}"


def short_repr(value):
    """repr(), shortened; the name of the class where repr() raises."""
    try:
        text = repr(value)
    except Exception:  # the user's own __repr__
        text = f"a {type_name(value)}"
    return text if len(text) <= 80 else text[:60] + "…" + text[-15:]


# -------------------------------------------------------------------- kinds of values


def describe(value, path):
    """The description of a value that holds nothing else. Raises Opaque."""
    if is_plain(value) and not (type(value) is float and not math.isfinite(value)):
        return {"kind": "value", "value": value}
    name = type_name(value)
    if isinstance(value, enum.Enum):
        return _describe_enum(value)
    if isinstance(value, (type, types.ModuleType, *_ROUTINES)):
        return _describe_named(value, path)
    if name.startswith("numpy."):
        numpy = sys.modules["numpy"]
        if isinstance(value, numpy.dtype):
            return _fixed("numpy.dtype", repr(value))
        if isinstance(value, numpy.generic) and value.dtype.kind in "biuf":
            return _fixed("numpy.generic", f"{value.dtype.name}({value.item()!r})")
    if name in _OF_TORCH:
        return _fixed(name, str(value))
    if isinstance(value, getattr(getattr(sys.modules.get("torch"), "nn", None), "Module", ())):
        raise Opaque(path, "a module cannot be an argument: make it a part of the exported module, or export a function that calls it")
    found = _describe_builtin(value, name, path)
    if found is None:
        raise Opaque(path, f"a {name} cannot be compared from call to call")
    return found


def _fixed(type_name, text, **more):
    return {"kind": "fixed", "type": type_name, "text": text, **more}


def _describe_builtin(value, name, path):
    if isinstance(value, _BY_TEXT) and type(value).__module__ in ("builtins", "decimal", "fractions", "datetime", "uuid", "pathlib"):
        return _fixed(name, repr(value))
    if name == "slice":
        return _fixed(name, repr(value), parts=[describe(part, path) for part in (value.start, value.stop, value.step)])
    if name in ("set", "frozenset"):
        return _fixed(name, f"a set of {len(value)}", parts=sorted((describe(item, path) for item in value), key=canonical))
    return None


def _describe_enum(value):
    name = value.name if value.name is not None else repr(value._value_)
    return _fixed(type_name(value), f"{type(value).__qualname__}.{name}")


def _describe_named(value, path):
    """Classes, functions and modules, compared by name."""
    if isinstance(value, types.ModuleType):
        return _fixed("module", value.__name__)
    owner = getattr(value, "__self__", None) if isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)) else None
    if owner is not None and not isinstance(owner, (types.ModuleType, type)):
        raise Opaque(path, f"a method of a {type_name(owner)} cannot be compared from call to call")
    name = f"{getattr(value, '__module__', None) or 'builtins'}.{value.__qualname__}"
    if "<" in name or getattr(value, "__closure__", None):
        raise Opaque(path, f"a function or class without a name of its own ({value.__qualname__}) cannot be compared from call to call; "
                           "define it at the top of a module")
    return _fixed("class" if isinstance(value, type) else "function", name)


# -------------------------------------------------------------------- from descriptions to values


def rebuild(described):
    """The value of a description of kind "value" or "fixed". The export refuses results that cannot be made again."""
    if described["kind"] == "value":
        return described["value"] if "value" in described else described.get("text")
    return _MAKERS.get(described.get("type"), _named_of_torch)(described)


def can_rebuild(described):
    """Whether rebuild() gives an equal value."""
    return described["kind"] == "value" or described["kind"] == "fixed" and (described["type"] in _MAKERS or described["type"].startswith("torch."))


def _make_generic(described):
    import numpy

    name, _, text = described["text"].rstrip(")").partition("(")
    return numpy.dtype(name).type({"True": True, "False": False}.get(text, text))


def _named_of_torch(described):
    """Returns a dtype or device if torch is loaded, else its name."""
    torch = sys.modules.get("torch")
    if torch is None or not described.get("type", "").startswith("torch."):
        return described["text"]
    if described["type"] == "torch.device":
        return torch.device(described["text"])
    # The name comes from the file: only a dtype or device of torch under that name is returned.
    found = getattr(torch, described["text"].removeprefix("torch."), None)
    return found if isinstance(found, (torch.dtype, torch.layout, torch.memory_format)) else described["text"]


def size_of(items):
    """Returns a torch.Size if torch is loaded, else a tuple."""
    torch = sys.modules.get("torch")
    return tuple(items) if torch is None else torch.Size(items)


_MAKERS = {"float": lambda described: float(described["text"]), "numpy.generic": _make_generic}

# -------------------------------------------------------------------- objects with attributes


def is_simple(value):
    """Whether it is an object of a Python class whose attributes are its whole content."""
    cls = type(value)
    if isinstance(value, (type, types.ModuleType, enum.Enum)) or cls is object:
        return False
    return cls is types.SimpleNamespace or all(map(is_python_class, cls.__mro__[:-1])) and (hasattr(value, "__dict__") or bool(_slots(cls)))


def attributes(value):
    """The attributes of an object by name, slots of its class and its bases included; not its items."""
    inner = getattr(value, "__dict__", {})
    found = {} if inner is value else dict(inner)
    for name, slot in _slots(type(value)).items():
        try:
            found.setdefault(name, slot.__get__(value))
        except AttributeError:  # nothing is in it
            pass
    return found


def _slots(cls):
    """The slots of a class and its bases, by the names that the interpreter gives them."""
    found = {}
    for base in filter(is_python_class, cls.__mro__):
        found.update((name, item) for name, item in vars(base).items() if isinstance(item, types.MemberDescriptorType) and name not in found)
    return found
