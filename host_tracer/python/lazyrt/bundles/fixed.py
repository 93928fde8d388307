"""Values that are no tensors: described as JSON so that equal descriptions mean equal values, and made again.

An argument that is compared at each call, and a result that is the same in each, is one of these descriptions (a dict with "kind"):
  value   {"value"}             None, bool, int, finite float, text; 1, 1.0 and true differ, 0.0 and -0.0 too
  fixed   {"type", "text"}      an enum's member, a dtype, a range, a function by its qualified name, ...; "parts" where the value can
                                be made again from them
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
import re
import sys
import types
import uuid

from lazyrt.state.code_names import is_python_class

_LARGEST = 4096  # characters of JSON; a longer description is replaced by its digest
VALUE_TYPES = (decimal.Decimal, fractions.Fraction, datetime.date, datetime.time, datetime.timedelta, uuid.UUID, pathlib.PurePath)
_ROUTINES = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
             types.MethodWrapperType, types.ClassMethodDescriptorType)
_OF_TORCH = ("torch.dtype", "torch.device", "torch.layout", "torch.memory_format")
_SINGLES = {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented}


class Opaque(Exception):
    """A value that cannot be compared with another one. `path` names it, `why` is for the error's text."""

    def __init__(self, path, why):
        super().__init__(path, why)
        self.path, self.why = path, why


def is_plain(value):
    """Whether it is None or exactly a bool, int, float or str, not of a class derived from them."""
    return value is None or type(value) in (bool, int, float, str)


def type_name(value):
    """Where a value's class was defined and its name."""
    cls = type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def same_type(described, given):
    """Whether two names of classes (type_name) or functions are the same one; what is defined in __main__ may be imported under the script's name elsewhere."""
    for ours, other in ((described, given), (given, described)):
        module, _, name = ours.partition(".")
        if ours == other or module == "__main__" and other.endswith(f".{name}"):
            return True
    return False


def canonical(described):
    """Text that is the same for equal descriptions only."""
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
        return _describe_enum(value, path)
    if isinstance(value, (type, types.ModuleType, *_ROUTINES)):
        return _describe_named(value, path)
    if name.startswith("numpy."):
        numpy = sys.modules["numpy"]
        if isinstance(value, numpy.dtype):
            return _fixed("numpy.dtype", repr(value))
        if isinstance(value, numpy.generic) and value.dtype.kind in "biuf":
            return _fixed("numpy.generic", f"{value.dtype.name}({value.item()!r})", parts=[value.dtype.name, repr(value.item())])
    if name in _OF_TORCH:
        return _fixed(name, str(value))
    if isinstance(value, getattr(getattr(sys.modules.get("torch"), "nn", None), "Module", ())):
        raise Opaque(path, "a module is no argument: make it a part of the exported module, or export a function that calls it")
    found = _describe_builtin(value, name, path)
    if found is None:
        raise Opaque(path, f"a {name} cannot be compared from call to call")
    return found


def _fixed(type_name, text, **more):
    return {"kind": "fixed", "type": type_name, "text": text, **more}


def _describe_builtin(value, name, path):
    if name == "float":
        return _fixed(name, repr(value))
    if name == "complex":
        return _fixed(name, repr(value), parts=[repr(value.real), repr(value.imag)])
    if name in ("bytes", "bytearray"):
        return _fixed(name, f"{len(value)} bytes", parts=[value.hex()])
    if name in ("range", "slice"):
        return _fixed(name, repr(value), parts=[describe(part, path) for part in (value.start, value.stop, value.step)])
    if name in ("set", "frozenset"):
        parts = sorted((describe(item, path) for item in value), key=canonical)
        return _fixed(name, f"a set of {len(parts)}", parts=parts)
    if value is Ellipsis or value is NotImplemented:
        return _fixed("single", repr(value))
    if isinstance(value, re.Pattern):
        return _fixed("re.Pattern", f"{value.pattern!r}, {value.flags}")
    if isinstance(value, VALUE_TYPES) and type(value).__module__ in ("decimal", "fractions", "datetime", "uuid", "pathlib"):
        return _fixed(name, repr(value), parts=[str(value)])
    return None


def _describe_enum(value, path):
    name = value.name if value.name is not None else repr(value._value_)
    held = value.value
    member = _fixed("tuple", repr(held), parts=[describe(item, path) for item in held]) if type(held) is tuple else describe(held, path)
    more = {"mixed": True} if isinstance(value, (int, str, float)) else {}
    return _fixed(type_name(value), f"{type(value).__qualname__}.{name}", enum=True, label=name, member=member, **more)


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
    """The value of a description of kind "value" or "fixed". The export refuses values that cannot be made again."""
    if described["kind"] == "value":
        return described["value"] if "value" in described else described.get("text")
    if described.get("enum"):
        return Member(described)
    make = _MAKERS.get(described.get("type"), _named_of_torch)
    return make(described)


def can_rebuild(described):
    """Whether rebuild() gives an equal value."""
    if described["kind"] == "value" or described.get("enum"):
        return True
    return described["kind"] == "fixed" and (described["type"] in _MAKERS or described["type"].startswith("torch."))


class Member:
    """A member of an enum among the results: has its name and value and is equal to the member itself."""

    def __init__(self, described):
        self._class, self.name = described["type"], described["label"]
        self.value = rebuild(described["member"])
        self._mixed = described.get("mixed", False)

    def __eq__(self, other):
        if isinstance(other, (Member, enum.Enum)):
            return same_type(self._class, other._class if isinstance(other, Member) else type_name(other)) and self.name == other.name
        return self._mixed and self.value == other

    def __hash__(self):
        return hash(self.value if self._mixed else self.name)

    def __repr__(self):
        return f"{self._class.rpartition('.')[2]}.{self.name}"


def _make_generic(described):
    import numpy

    name, text = described["parts"]
    return numpy.dtype(name).type({"True": True, "False": False}.get(text, text))


def _named_of_torch(described):
    """A dtype or device, where torch is loaded; else its name."""
    torch = sys.modules.get("torch")
    if torch is None or not described.get("type", "").startswith("torch."):
        return described["text"]
    if described["type"] == "torch.device":
        return torch.device(described["text"])
    # The name comes from the file: nothing else that torch has under it is returned.
    found = getattr(torch, described["text"].removeprefix("torch."), None)
    return found if isinstance(found, (torch.dtype, torch.layout, torch.memory_format)) else described["text"]


def size_of(items):
    """A torch.Size, where torch is loaded; else a tuple."""
    torch = sys.modules.get("torch")
    return tuple(items) if torch is None else torch.Size(items)


def _of_parts(kind):
    return lambda described: kind(map(rebuild, described["parts"]))


_MAKERS = {
    "float": lambda described: float(described["text"]),
    "complex": lambda described: complex(*map(float, described["parts"])),
    "bytes": lambda described: bytes.fromhex(described["parts"][0]),
    "bytearray": lambda described: bytearray.fromhex(described["parts"][0]),
    "range": lambda described: range(*map(rebuild, described["parts"])),
    "slice": lambda described: slice(*map(rebuild, described["parts"])),
    "set": _of_parts(set),
    "frozenset": _of_parts(frozenset),
    "tuple": _of_parts(tuple),
    "single": lambda described: _SINGLES[described["text"]],
    "numpy.generic": _make_generic,
    "decimal.Decimal": lambda described: decimal.Decimal(described["parts"][0]),
    "fractions.Fraction": lambda described: fractions.Fraction(*map(int, described["parts"][0].split("/"))),
    "datetime.date": lambda described: datetime.date.fromisoformat(described["parts"][0]),
    "uuid.UUID": lambda described: uuid.UUID(described["parts"][0]),
}

# -------------------------------------------------------------------- objects with attributes


def is_simple(value):
    """Whether it is an object of a Python class all of whose content is in its attributes."""
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
