"""Arrays of NumPy that a program sees while it is captured: a lazy tensor behind an array's face.

What has an equal in torch stays in the graph: views, casts, sums and products, comparisons, torch.from_numpy and as_tensor. All else asks
for the values, which is a sync of the whole array: exact for integers, and for floating ones a finding at the user's line. An array
fetched so is read-only, because a write into it would be lost."""

import contextlib
import numbers
import operator

import numpy
import torch

from lazyrt import _tracer
from lazyrt.array_writes import as_written, cast, numpy_type
from lazyrt.carrier_calls import has_carriers, with_plain
from lazyrt.carriers import Carrier, LazyFloat, LazyInt, operator_of
from lazyrt.errors import Error

_DTYPES = {"float32": torch.float32, "float64": torch.float64, "float16": torch.float16, "int8": torch.int8, "uint8": torch.uint8,
           "int16": torch.int16, "int32": torch.int32, "int64": torch.int64, "bool": torch.bool}
NUMPY_DTYPES = frozenset(_DTYPES.values())
_NARROW = (torch.int8, torch.uint8, torch.int16, torch.int32)


targets_of_writes: list = []  # arrays of NumPy that captured ones were written into since the call began


class LazyArray:
    """Passes for a numpy.ndarray; `tensor` is what it holds."""

    __slots__ = ("tensor", "is_number", "__weakref__")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tensor):
        self.tensor = tensor
        self.is_number = False

    @property  # type: ignore[misc]
    def __class__(self):
        return numpy.ndarray

    shape = property(lambda self: tuple(self.tensor.shape))
    ndim = property(lambda self: self.tensor.dim())
    size = property(lambda self: self.tensor.numel())
    dtype = property(lambda self: numpy_type(self.tensor.dtype))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.itemsize * self.size)
    T = property(lambda self: self.transpose())

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __getattr__(self, name):
        if name.startswith("__"):  # __array_interface__ and its like ask for memory that is not there
            raise AttributeError(name)
        if name in _OF_MEMORY:
            raise Error(f"the program asks a captured array for '{name}', which belongs to memory that it does not have", "unsupported")
        return getattr(self.values(), name)

    def values(self):
        """The values, read-only: a sync."""
        array = _numpy_of(_fetch(self.tensor))
        array.flags.writeable = False
        return array

    def _change(self, change):
        """Lets NumPy change the values: a sync."""
        held = numpy.copy(self.values(), order="K")
        result = change(held)
        self.tensor.copy_(torch.from_numpy(held))
        return result

    def __array__(self, dtype=None, copy=None):
        values = self.values()
        return numpy.array(values, dtype=dtype) if copy or dtype is not None and numpy.dtype(dtype) != self.dtype else values

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """Operators whose other side is an array of NumPy are ours; other functions get the values."""
        name = _UFUNCS.get(ufunc)
        targets_of_writes.extend(item for item in kwargs.get("out", ()) if type(item) is numpy.ndarray)
        if method == "at" and type(inputs[0]) is LazyArray:
            return inputs[0]._change(lambda held: ufunc.at(held, *map(_plain, with_plain(inputs[1:])), **kwargs))
        if name is None or method != "__call__" or kwargs:
            return self._call_with_values(getattr(ufunc, method), inputs, kwargs)
        left, right = inputs
        return getattr(left, f"__{name}__")(right) if type(left) is LazyArray else getattr(right, _reflected(name))(left)

    @staticmethod
    def _call_with_values(function, inputs, kwargs):
        given = kwargs.get("out", ())
        held = tuple(numpy.copy(item.values(), order="K") if type(item) is LazyArray else item for item in given)
        kwargs = {name: _plain(value) for name, value in kwargs.items() if name != "out"}
        result = function(*map(_plain, inputs), **kwargs, **({"out": held} if given else {}))
        for ours, item in zip(held, given):
            if type(item) is LazyArray:
                item.tensor.copy_(torch.from_numpy(ours))
        back = {id(ours): item for ours, item in zip(held, given)}
        return tuple(back.get(id(part), part) for part in result) if type(result) is tuple else back.get(id(result), result)

    def __getitem__(self, key):
        if not _is_basic(key):
            return self.values()[key]
        part = LazyArray(self.tensor[key])
        return part if part.ndim or _has_ellipsis(key) else part.values()[()]

    def __setitem__(self, key, value):
        key = with_plain(key)
        if not _is_basic(key):
            raise Error("a captured array can be written at numbers and slices only: use torch.where, or write into a tensor", "unsupported")
        target = self.tensor[key]
        is_element = target.dim() == 0 and not _has_ellipsis(key)
        self.tensor[key] = as_written(value, target.dtype, tuple(target.shape), is_element, _captured)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def _shown(self):
        """The values for a text: a sync, unless it is for people."""
        if Carrier._audience is not None and Carrier._audience.listens():
            return _numpy_of(_peeked(self.tensor))
        return self.values()

    def __repr__(self):
        return repr(self._shown())

    def __str__(self):
        return str(self._shown())

    def __format__(self, spec):
        return format(self._shown(), spec)

    def __copy__(self):
        return self.copy("K")

    def __deepcopy__(self, memo):
        return self.copy("K")

    def __reduce_ex__(self, protocol):
        return self.values().__reduce_ex__(protocol)

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """A copy of another dtype; of its own one, without `copy`, the array itself."""
        wanted = numpy.dtype(dtype)
        name = wanted.name
        if order != "K" or name not in _DTYPES or not wanted.isnative or not numpy.can_cast(self.dtype, wanted, casting):
            return self.values().astype(dtype, order, casting, subok, copy)
        if not copy and wanted == self.dtype:
            return self
        return LazyArray(cast(self.tensor, _DTYPES[name]))

    def reshape(self, *shape, **options):
        """The same elements under another shape: a copy where no strides give it."""
        if options or has_carriers(shape):
            return self.values().reshape(*with_plain(shape), **options)
        return LazyArray(self.tensor.reshape(*shape))

    def transpose(self, *axes):
        """The axes in another order, or in reverse."""
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        axes = axes or tuple(reversed(range(self.ndim)))
        return LazyArray(self.tensor.permute(*axes))

    def copy(self, order="C"):
        """An array of its own memory."""
        if order not in ("C", "K"):
            return self.values().copy(order)
        return LazyArray(self.tensor.clone())

    def flatten(self, order="C"):
        """A copy in one dimension."""
        return LazyArray(self.tensor.reshape(-1).clone()) if order == "C" else self.values().flatten(order)

    def ravel(self, order="C"):
        """The elements in one dimension: a copy where no strides give it."""
        return self.reshape(-1) if order == "C" else self.values().ravel(order)

    def fill(self, value):
        self[...] = value

    def sort(self, *args, **kwargs):
        self._change(lambda held: held.sort(*args, **kwargs))

    def partition(self, *args, **kwargs):
        self._change(lambda held: held.partition(*with_plain(args), **kwargs))

    def put(self, *args, **kwargs):
        self._change(lambda held: held.put(*map(_plain, with_plain(args)), **kwargs))


# What belongs to the memory of an array, or changes the array itself.
_OF_MEMORY = {"base", "ctypes", "data", "resize", "setflags", "setfield", "byteswap", "flat"}


def _fetch(tensor):
    with torch._C.DisableTorchFunction():
        return tensor.detach().to("cpu")


def _peeked(tensor):
    with torch._C.DisableTorchFunction():
        return _tracer.peek(tensor.detach())


def _numpy_of(tensor):
    with torch._C.DisableTorchFunction():
        return tensor.numpy().copy()


def _is_basic(key):
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if isinstance(part, slice):
            if not all(item is None or type(item) is int for item in (part.start, part.stop, part.step)) or (part.step or 1) < 0:
                return False
        elif part is not None and part is not Ellipsis and type(part) is not int:
            return False
    return True


def _has_ellipsis(key):
    return key is Ellipsis or isinstance(key, tuple) and any(item is Ellipsis for item in key)


def _captured(value):
    return value.tensor if type(value) is LazyArray else None


def _is_number(value):
    return type(value) in (bool, int, float)


def _tensor_of(value):
    if isinstance(value, Carrier):
        return value._tensor
    return value.tensor if type(value) is LazyArray else torch.tensor(value)


def _one_of(value):
    """Something of the same dtype for NumPy's own rules of promotion."""
    if isinstance(value, Carrier):
        return {LazyInt: 1, LazyFloat: 1.0}[type(value)]
    return value if _is_number(value) else numpy.ones((1,), value.dtype)


_COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


def _is_decided(compute, array, number):
    """A comparison with a whole number that the array's type does not have: NumPy compares exactly."""
    if type(number) is not int or array.dtype.kind not in "iu" or compute not in _COMPARISONS:
        return False
    limits = numpy.iinfo(array.dtype)
    return not limits.min <= number <= limits.max


def _operator(compute, reflected=False):
    def method(self, other):
        if isinstance(other, (list, tuple)):
            other = numpy.asarray(other)
        if type(other) not in (LazyArray, numpy.ndarray) and not _is_number(other) and not isinstance(other, (Carrier, numpy.generic)):
            return _beside_stranger(compute, self, other, reflected)
        if _is_decided(compute, self, other):
            answer = compute(numpy.zeros(1, self.dtype), other).item()
            return LazyArray(torch.full_like(self.tensor, answer, dtype=torch.bool))
        kind = _common_type(compute, self, other, reflected)
        if kind is None:
            return _in_order(compute, self.values(), _plain(other), reflected)
        ours, theirs = self.tensor.to(kind), _number_beside(kind, other) if _is_number(other) else _tensor_of(other).to(kind)
        result = _in_order(compute, ours, theirs, reflected)
        array = LazyArray(result)
        array.is_number = result.dim() == 0  # NumPy's arithmetic gives no array without dimensions
        return array

    return method


def _number_beside(kind, number):
    """A number of Python as NumPy takes it beside an array of this type: of the same type, where torch keeps it in float32."""
    if kind is not torch.float16:
        return number
    with numpy.errstate(all="ignore"):
        return numpy.float16(number).item()


def _in_order(compute, ours, theirs, reflected):
    return compute(theirs, ours) if reflected else compute(ours, theirs)


def _common_type(compute, array, other, reflected):
    """In which the two compute, or None: as NumPy does, on values."""
    pair = _one_of(array), _one_of(other)
    made = _in_order(compute, *pair, reflected).dtype.name
    common = numpy.result_type(*pair).name
    if made not in _DTYPES or common not in _DTYPES or common == "bool":
        return None
    kind = _DTYPES[common if made == "bool" else made]
    if not isinstance(other, Carrier):
        return kind
    if kind is torch.float16 or made != "bool" and kind in _NARROW:  # a number that does not fit raises
        return None
    return torch.int64 if kind in _NARROW else kind


def _beside_stranger(compute, array, other, reflected):
    """With what is no number, array or list."""
    if compute in (operator.eq, operator.ne) and isinstance(other, (type(None), str, bytes)):
        return compute(numpy.zeros(array.shape, array.dtype), other)
    return _in_order(compute, array.values(), other, reflected) if isinstance(other, numbers.Number) else NotImplemented


def _beside_carrier(name, number, array, reflected):
    """What an operator of Python gives for a number of the graph and an array of NumPy, or the other way round."""
    if array.dtype.name not in _DTYPES or name not in _UFUNCS.values():
        return _in_order(operator_of(name), number._plain(), array, reflected)
    mirrored = f"__{name}__" if reflected else _reflected(name)
    return getattr(LazyArray(_tensor_of(array)), mirrored)(number)


Carrier._beside_array = staticmethod(_beside_carrier)


def _written(name):
    """An operator in place: what it computes goes into the array as NumPy lets it."""
    compute = getattr(operator, f"i{name}")

    def method(self, other):
        made = getattr(self, f"__{name}__")(other) if name in _FOLLOWED else None
        if made is NotImplemented:
            return made
        if type(made) is not LazyArray:
            self._change(lambda held: compute(held, _plain(other)))
            return self
        if not numpy.can_cast(made.dtype, self.dtype, "same_kind"):
            raise TypeError(f"Cannot cast ufunc '{name}' output from {made.dtype!r} to {self.dtype!r} with casting rule 'same_kind'")
        if made.shape != self.shape:
            raise ValueError(f"non-broadcastable output operand with shape {self.shape} doesn't match the broadcast shape {made.shape}")
        self.tensor.copy_(cast(made.tensor, self.tensor.dtype))
        return self

    return method


_FOLLOWED = ("add", "sub", "mul", "truediv")


for _name in _FOLLOWED:
    setattr(LazyArray, f"__{_name}__", _operator(getattr(operator, _name)))
    setattr(LazyArray, f"__r{_name}__", _operator(getattr(operator, _name), True))
for _compare in _COMPARISONS:
    setattr(LazyArray, f"__{_compare.__name__}__", _operator(_compare))
_BY_VALUES = ("floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
for _name in (*_BY_VALUES, "divmod"):
    setattr(LazyArray, f"__{_name}__", lambda self, other, _name=_name: getattr(self.values(), f"__{_name}__")(_plain(other)))
    setattr(LazyArray, f"__r{_name}__", lambda self, other, _name=_name: getattr(self.values(), f"__r{_name}__")(_plain(other)))
for _name in (*_FOLLOWED, *_BY_VALUES):
    setattr(LazyArray, f"__i{_name}__", _written(_name))
for _name in ("neg", "pos", "abs", "invert", "bool", "int", "float", "index", "complex"):
    setattr(LazyArray, f"__{_name}__", lambda self, _name=_name: getattr(self.values(), f"__{_name}__")())


_UFUNCS = {numpy.add: "add", numpy.subtract: "sub", numpy.multiply: "mul", numpy.true_divide: "truediv", numpy.less: "lt", numpy.less_equal: "le",
           numpy.greater: "gt", numpy.greater_equal: "ge", numpy.equal: "eq", numpy.not_equal: "ne"}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def _reflected(name):
    return f"__{_MIRRORED.get(name, 'r' + name)}__"


def _plain(value):
    if isinstance(value, Carrier):
        return value._plain()
    return value.values() if type(value) is LazyArray else value


@contextlib.contextmanager
def taken_by_torch():
    """While active torch.from_numpy, which calls no torch function, takes LazyArrays."""
    real = torch.from_numpy

    def from_numpy(array):
        return array.tensor if type(array) is LazyArray else real(array)

    torch.from_numpy = from_numpy
    try:
        yield
    finally:
        torch.from_numpy = real


def is_seen_by_others(storage):
    """Whether NumPy, bytes or a file may have the memory, too."""
    return not storage.resizable()
