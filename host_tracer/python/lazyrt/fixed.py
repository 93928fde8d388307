"""Values that are no tensors: described as JSON so that equal descriptions mean equal values, and made again.

What an argument has to be again at each call, and what a result gives back, is one of these descriptions (a dict with "kind"):
  value   {"value"}             None, bool, int, finite float, text; 1, 1.0 and true differ, 0.0 and -0.0 too
  fixed   {"type", "text"}      an enum's member, a dtype, a range, a function by its qualified name, ...; "parts" where the value can
                                be made again from them
  digest  {"type", "sha256"}    of the description of something large

Neither torch nor numpy is imported here: what is of them is known by its class."""

import collections
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import json
import math
import operator
import os
import pathlib
import re
import sys
import types
import uuid

from lazyrt.code_names import is_file_of_library, is_python_class

_MAIN = "__main__."
_LARGEST = 4096  # characters of JSON, above which a digest stands for a description
VALUE_TYPES = (decimal.Decimal, fractions.Fraction, datetime.date, datetime.time, datetime.timedelta, uuid.UUID, pathlib.PurePath)
_ROUTINES = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
             types.MethodWrapperType, types.ClassMethodDescriptorType)
_POINTER = object.__basicsize__ // 2
_SINGLES = {Ellipsis: "Ellipsis", NotImplemented: "NotImplemented"}


class Opaque(Exception):
    """A value that cannot be compared with another one. `path` names it, `why` says it to people."""

    def __init__(self, path, why):
        super().__init__(path, why)
        self.path, self.why = path, why


def describe(value, path):
    """The description of a value that holds nothing else. Raises Opaque."""
    plain = _describe_plain(value)
    if plain is not None:
        return plain
    for describe_kind in (_describe_enum, _describe_builtin, _describe_named, _describe_numpy, _describe_torch):
        described = describe_kind(value, path)
        if described is not None:
            return described
    raise Opaque(path, f"a {type_name(value)} cannot be compared from call to call")


def is_plain(value):
    """True for None, bool, int, float and text themselves, not for what derives from them."""
    return value is None or type(value) in (bool, int, float, str)


def type_name(value):
    """Where a value's class was defined and its name."""
    cls = type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def same_type(described, given):
    """Whether two names of type_name() are one class, or two of functions one function; the main script may be imported under its own name elsewhere."""
    if described == given:
        return True
    for ours, other in ((described, given), (given, described)):
        if ours.startswith(_MAIN) and other.endswith("." + ours.removeprefix(_MAIN)):
            return _is_main_script(other.removesuffix("." + ours.removeprefix(_MAIN)), ours.removeprefix(_MAIN))
    return False


def _is_main_script(module, name):
    """Whether a module is the script that runs; where that has nothing of this name, the script may have been that of the export."""
    main = sys.modules["__main__"]
    file, other = (getattr(each, "__file__", None) for each in (main, sys.modules.get(module)))
    if module not in sys.modules:
        return bool(file) and os.path.splitext(os.path.basename(file))[0] == module.rpartition(".")[2]
    if not other or is_file_of_library(other):
        return False
    return bool(file) and os.path.realpath(file) == os.path.realpath(other) or _named(main, name) is None


def _named(module, name):
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def canonical(described):
    """Text that is the same for equal descriptions only."""
    return json.dumps(described, sort_keys=True, separators=(",", ":"))


def shorten(described, type_name):
    """The description, or a digest of it where it is large."""
    text = canonical(described)
    if len(text) <= _LARGEST:
        return described
    return {"kind": "digest", "type": type_name, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def text_of(described):
    """A description as people read it."""
    if described["kind"] == "value":
        return short_repr(described.get("value", described.get("text")))
    if described["kind"] == "digest":
        return f"another {described['type']}"
    if described["kind"] == "fixed":
        return described["text"]
    return f"a {described.get('type', described['kind'])}"


def short_repr(value):
    """repr() of what may be long, or unable to say it."""
    try:
        text = repr(value)
    except Exception:  # the user's own __repr__
        text = f"a {type_name(value)}"
    return text if len(text) <= 80 else text[:60] + "…" + text[-15:]


def rebuild(described):
    """The value of a description of kind "value" or "fixed". What cannot be made again was refused at export."""
    if described["kind"] == "value":
        return described["value"] if "value" in described else described.get("text")
    make = _MAKERS.get(described.get("type"))
    if make is not None:
        return make(described)
    if described.get("enum"):
        return Member(described)
    return _named_of_torch(described)


def can_rebuild(described):
    """Whether rebuild() gives an equal value."""
    if described["kind"] == "value" or described.get("enum"):
        return True
    return described["kind"] == "fixed" and (described["type"] in _MAKERS or described["type"].startswith("torch."))


class Member:
    """Stands for a member of an enum among the results: has its name and value and is equal to the member itself."""

    def __init__(self, described):
        self._class, self.name = described["type"], described["label"]
        self.value = rebuild(described["member"])
        self._mixed = described.get("mixed", False)

    def __eq__(self, other):
        if isinstance(other, Member):
            return (self._class, self.name) == (other._class, other.name)
        if isinstance(other, enum.Enum):
            return same_type(self._class, type_name(other)) and self.name == other.name
        return self._mixed and self.value == other

    def __hash__(self):
        return hash(self.value if self._mixed else self.name)

    def __repr__(self):
        return f"{self._class.rpartition('.')[2]}.{self.name}"


# -------------------------------------------------------------------- kinds of values

def _describe_plain(value):
    if value is None or type(value) in (bool, int):
        return {"kind": "value", "value": value}
    if type(value) is float:
        return {"kind": "value", "value": value} if math.isfinite(value) else _fixed("float", repr(value))
    return {"kind": "value", "value": value} if type(value) is str else None


def _fixed(type_name, text, **more):
    return {"kind": "fixed", "type": type_name, "text": text, **more}


def _describe_enum(value, path):
    if not isinstance(value, enum.Enum):
        return None
    name = value.name if value.name is not None else repr(value._value_)
    more = {"enum": True, "label": name, "member": _describe_member(value.value, path)}
    methods = {key: mark for key, mark in marks_of_class(value, path).get("plain", {}).items() if "()" in key}
    if methods:  # of a class that no module has by this name
        more["plain"] = methods
    if isinstance(value, (int, str, float)):
        more["mixed"] = True
    return _fixed(type_name(value), f"{type(value).__qualname__}.{name}", **more)


def _describe_member(value, path):
    if type(value) is tuple:
        return _fixed("tuple", repr(value), parts=[_describe_member(item, path) for item in value])
    return describe(value, path)


def _describe_builtin(value, path):
    kind = type(value)
    if kind is complex:
        return _fixed("complex", repr(value), parts=[repr(value.real), repr(value.imag)])
    if kind in (bytes, bytearray):
        return _fixed(kind.__name__, f"{len(value)} bytes", parts=[value.hex()])
    if kind in (range, slice):
        parts = [describe(part, path) for part in (value.start, value.stop, value.step)]
        return _fixed(kind.__name__, repr(value), parts=parts)
    if kind in (set, frozenset):
        parts = [describe(item, path) for item in value]
        if not all(map(_has_lasting_hash, value)):  # texts lie otherwise in each process
            return _fixed(kind.__name__, f"a set of {len(parts)}", parts=sorted(parts, key=canonical))
        return _fixed(kind.__name__, short_repr(value), parts=parts)
    if value is Ellipsis or value is NotImplemented:
        return _fixed("single", _SINGLES[value])
    if isinstance(value, re.Pattern):
        return _fixed("re.Pattern", f"{value.pattern!r}, {value.flags}")
    if isinstance(value, VALUE_TYPES) and kind.__module__ in ("decimal", "fractions", "datetime", "uuid", "pathlib"):
        return _fixed(type_name(value), repr(value), parts=[str(value)])
    return None


def _has_lasting_hash(item):
    return type(item) in (bool, int, float, complex) or type(item) is frozenset and all(map(_has_lasting_hash, item))


def _describe_named(value, path):
    """Classes, functions and modules: what their name says."""
    if isinstance(value, types.ModuleType):
        return _fixed("module", value.__name__)
    if not isinstance(value, (type, *_ROUTINES)):
        return None
    if isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, (types.ModuleType, type)):
            raise Opaque(path, f"a method of a {type_name(owner)} cannot be compared from call to call")
    name = f"{getattr(value, '__module__', None) or 'builtins'}.{value.__qualname__}"
    if "<" in name:
        raise Opaque(path, f"a function or class without a name of its own ({value.__qualname__}) cannot be compared from call to call; "
                           "define it at the top of a module")
    if isinstance(value, (type, types.FunctionType)) and not _is_at_home(value):
        raise Opaque(path, f"what {name} names is not this function or class, so that it cannot be compared from call to call")
    if getattr(value, "__closure__", None):
        raise Opaque(path, f"the function {value.__qualname__} has a closure, which cannot be compared from call to call")
    if isinstance(value, type):
        return _fixed("class", name)
    held = {key: describe(item, f"{path}.{key}") for key, item in getattr(value, "__dict__", {}).items()}
    return _fixed("function", name, **({"attributes": held} if held else {}))


def _describe_numpy(value, path):
    if type(value).__module__ != "numpy" and not type(value).__module__.startswith("numpy."):
        return None
    numpy = sys.modules["numpy"]
    if isinstance(value, numpy.dtype):
        if value.metadata:
            raise Opaque(path, f"a dtype of NumPy with metadata ({dict(value.metadata)}) cannot be compared from call to call")
        return _fixed("numpy.dtype", repr(value))
    if isinstance(value, numpy.generic) and value.dtype.kind in "biuf":
        return _fixed("numpy.generic", f"{value.dtype.name}({value.item()!r})", parts=[value.dtype.name, repr(value.item())])
    if isinstance(value, numpy.ufunc):
        known = [name for name in ("numpy", "scipy.special") if getattr(sys.modules.get(name), value.__name__, None) is value]
        if not known:
            raise Opaque(path, f"the ufunc {value.__name__} is none of NumPy's, and cannot be compared from call to call")
        return _fixed("function", f"{known[0]}.{value.__name__}")
    return None


def _describe_torch(value, path):
    name = type_name(value)
    if name in ("torch.dtype", "torch.device", "torch.layout", "torch.memory_format"):
        return _fixed(name, str(value))
    if isinstance(value, _of_torch("nn", "Module")):
        raise Opaque(path, "a module is no argument: make it a part of the exported module, or export a function that calls it")
    return None


def _of_torch(*names):
    """A class of torch, or an empty tuple where torch is not loaded."""
    found = sys.modules.get("torch")
    for name in names:
        found = getattr(found, name, None)
    return found if found is not None else ()


# -------------------------------------------------------------------- and back

def _make_range(described):
    return {"range": range, "slice": slice}[described["type"]](*(rebuild(part) for part in described["parts"]))


def _make_set(described):
    return {"set": set, "frozenset": frozenset}[described["type"]](rebuild(part) for part in described["parts"])


def _make_bytes(described):
    return {"bytes": bytes, "bytearray": bytearray}[described["type"]].fromhex(described["parts"][0])


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
    # The name is the file's: whatever else torch has by it is not given out.
    found = getattr(torch, described["text"].removeprefix("torch."), None)
    return found if isinstance(found, (torch.dtype, torch.layout, torch.memory_format)) else described["text"]


def size_of(items):
    """A torch.Size, where torch is loaded; else a tuple."""
    torch = sys.modules.get("torch")
    return tuple(items) if torch is None else torch.Size(items)


_MAKERS = {
    "float": lambda described: float(described["text"]),
    "complex": lambda described: complex(*map(float, described["parts"])),
    "bytes": _make_bytes,
    "bytearray": _make_bytes,
    "range": _make_range,
    "slice": _make_range,
    "set": _make_set,
    "frozenset": _make_set,
    "tuple": lambda described: tuple(map(rebuild, described["parts"])),
    "single": lambda described: {name: value for value, name in _SINGLES.items()}[described["text"]],
    "numpy.generic": _make_generic,
    "decimal.Decimal": lambda described: decimal.Decimal(described["parts"][0]),
    "fractions.Fraction": lambda described: fractions.Fraction(*map(int, described["parts"][0].split("/"))),
    "datetime.date": lambda described: datetime.date.fromisoformat(described["parts"][0]),
    "uuid.UUID": lambda described: uuid.UUID(described["parts"][0]),
}

# -------------------------------------------------------------------- objects that hold others

_OF_CLASSES = (*_ROUTINES, staticmethod, classmethod, property, functools.cached_property, functools.partialmethod, types.MemberDescriptorType,
               types.GetSetDescriptorType)


def is_simple(value):
    """An object of a Python class all of whose content is in its attributes."""
    cls = type(value)
    if isinstance(value, (type, types.ModuleType, enum.Enum)):
        return False
    if cls is types.SimpleNamespace:
        return True
    return cls is not object and not hides_content(cls) and (hasattr(value, "__dict__") or bool(_slots(cls)))


def hides_content(cls, known=(object,)):
    """Whether objects of the class may hold what no attribute shows: it, or a base that is not known, has memory for C to use."""
    return any(base not in known and (not is_python_class(base) or _has_memory_of_c(base)) for base in cls.__mro__)


def _has_memory_of_c(cls):
    shown = sum(isinstance(item, types.MemberDescriptorType) for item in vars(cls).values())
    shown += sum(name in vars(cls) for name in ("__dict__", "__weakref__"))
    return cls.__basicsize__ > cls.__base__.__basicsize__ + shown * _POINTER


def attributes(value):
    """All that an object holds beside its items, by name: attributes, and slots of its class and of each base. A dict that is its own
    __dict__ holds nothing beside its items."""
    inner = getattr(value, "__dict__", {})
    found = {} if inner is value else dict(inner)
    for name, slot in _slots(type(value)).items():
        try:
            found.setdefault(name, slot.__get__(value))
        except AttributeError:  # nothing is in it
            pass
    return found


def class_data(value):
    """Plain attributes of an object's class and its bases, that the object does not have itself, by name."""
    own, found = attributes(value), {}
    for cls in _own_classes(value):
        for name, item in vars(cls).items():
            if name not in own and name not in found and not name.startswith("__") and is_plain(item):
                found[name] = item
    return found


def marks_of_class(value, path):
    """What tells an object's class from others of its name: nothing of a class that a module has under this name, else its plain attributes and
    the defaults of its methods. Raises Opaque where it has closures, or attributes that are not plain."""
    if _is_at_home(type(value)):
        return {}
    found = class_data(value)
    for cls in _own_classes(value):
        for name, item in vars(cls).items():
            function = _function_of(item)
            if function is None:
                known = name.startswith("__") or is_plain(item) or isinstance(item, _OF_CLASSES) or isinstance(value, (enum.Enum, tuple))
                defaults = []
            else:
                known = not set(function.__code__.co_freevars) - {"__class__"}
                defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
                found.setdefault(f"{name}() itself", _digest_of_code(function.__code__))
            if not known or not all(map(is_plain, defaults)):
                raise Opaque(path, f"its class {cls.__qualname__} is none that its module has by this name, and what '{name}' in it refers to cannot be "
                                   "compared from call to call: define the class at the top of a module")
            if defaults:
                found.setdefault(f"{name}()", repr(defaults))
    return {"plain": found}


def _digest_of_code(code):
    """What tells a function's code from that of another one of its name, for one version of Python."""
    def parts(code):
        constants = [parts(each) if isinstance(each, types.CodeType) else sorted(map(repr, each)) if isinstance(each, frozenset) else repr(each)
                     for each in code.co_consts]
        return [code.co_code.hex(), code.co_names, constants]

    return hashlib.sha256(repr(parts(code)).encode()).hexdigest()[:16]


def _function_of(item):
    """The function of the program's own in what a class has under some name; None where there is none."""
    function = getattr(item, "fget", None) or getattr(item, "__func__", None) or getattr(item, "func", None) or item
    if not isinstance(function, types.FunctionType) or function.__globals__.get("__name__") in sys.stdlib_module_names:
        return None
    return None if function.__code__.co_filename == "<string>" else function  # that of a dataclass or named tuple


def _own_classes(value):
    """An object's class and bases, as far as they were made by a class statement and are no library's."""
    libraries = (*sys.stdlib_module_names, "torch", "numpy")
    return [cls for cls in type(value).__mro__ if is_python_class(cls) and cls.__module__.partition(".")[0] not in libraries
            or cls.__module__ == "__main__"]


def _is_at_home(named):
    """Whether a class or function is what its module has under its name."""
    return _named(sys.modules.get(named.__module__), named.__qualname__) is named


def _slots(cls):
    """The slots of a class and its bases, by the names that the interpreter gives them."""
    found = {}
    for base in cls.__mro__:
        if is_python_class(base):
            found.update((name, item) for name, item in vars(base).items() if isinstance(item, types.MemberDescriptorType) and name not in found)
    return found


def as_call(value):
    """What a functools.partial, or a getter of operator, makes of its argument, by name: what it calls, with which arguments; else None."""
    if isinstance(value, functools.partial):
        return {"func": value.func, "args": value.args, "keywords": value.keywords}
    if not isinstance(value, (operator.itemgetter, operator.attrgetter, operator.methodcaller)):
        return None
    made, args = value.__reduce__()[:2]
    beside = as_call(made) or {"args": (), "keywords": {}}
    return {"args": (*beside["args"], *args), "keywords": beside["keywords"]}


CONTAINERS = {"OrderedDict": collections.OrderedDict, "deque": collections.deque}
