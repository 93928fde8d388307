"""Arrays of NumPy that a program sees while it is captured: each is a lazy tensor with the interface of an array. Views, casts, sums and products,
comparisons, torch.from_numpy and as_tensor stay in the graph. Everything else asks for the values, which is a sync of the whole array: exact for
integers, and a finding at the user's line for floating ones. An array of values is read-only, because a write into it would be lost."""

import numpy
import torch

from lazyrt import _tracer
from lazyrt.errors import Error
from lazyrt.numbers.carrier_calls import has_carriers, with_plain
from lazyrt.numbers.carriers import Carrier, LazyInt, operator_of, plain

_DTYPES = {"float32": torch.float32, "float64": torch.float64, "float16": torch.float16, "int8": torch.int8, "uint8": torch.uint8,
           "int16": torch.int16, "int32": torch.int32, "int64": torch.int64, "bool": torch.bool}
NUMPY_DTYPES = frozenset(_DTYPES.values())
_OF_MEMORY = {"base", "ctypes", "data", "resize", "setflags", "setfield", "byteswap", "flat"}
_FOLLOWED = ("add", "sub", "mul", "truediv", "lt", "le", "gt", "ge", "eq", "ne")
_BY_VALUES = ("floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
_UFUNCS = {numpy.add: "add", numpy.subtract: "sub", numpy.multiply: "mul", numpy.true_divide: "truediv", numpy.less: "lt", numpy.less_equal: "le",
           numpy.greater: "gt", numpy.greater_equal: "ge", numpy.equal: "eq", numpy.not_equal: "ne"}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
targets_of_writes: list = []  # arrays of NumPy that captured ones were written into since the call began


class LazyArray:
    """Acts as a numpy.ndarray; `tensor` is what it holds."""

    __slots__ = ("tensor", "is_number", "__weakref__")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tensor, is_number=False):
        self.tensor, self.is_number = tensor, is_number

    @property  # type: ignore[misc]
    def __class__(self):
        return numpy.ndarray

    shape = property(lambda self: tuple(self.tensor.shape))
    ndim = property(lambda self: self.tensor.dim())
    size = property(lambda self: self.tensor.numel())
    dtype = property(lambda self: numpy.dtype(str(self.tensor.dtype).removeprefix("torch.")))
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
        with torch._C.DisableTorchFunction():
            array = self.tensor.detach().to("cpu").numpy().copy()
        array.flags.writeable = False
        return array

    def _shown(self):
        """The values for a text: a sync, unless the text is for people."""
        if Carrier._audience is None or not Carrier._audience.listens():
            return self.values()
        with torch._C.DisableTorchFunction():
            return _tracer.peek(self.tensor.detach()).numpy().copy()

    def __repr__(self):
        return repr(self._shown())

    def __str__(self):
        return str(self._shown())

    def __format__(self, spec):
        return format(self._shown(), spec)

    def __array__(self, dtype=None, copy=None):
        values = self.values()
        return numpy.array(values, dtype=dtype) if copy or dtype is not None and numpy.dtype(dtype) != self.dtype else values

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """Handles operators whose other side is an array of NumPy; other functions get the values."""
        name, out = _UFUNCS.get(ufunc), kwargs.get("out", ())
        targets_of_writes.extend(item for item in out if type(item) is numpy.ndarray)
        if any(type(item) is LazyArray for item in (*out, *(inputs[:1] if method == "at" else ()))):
            raise Error(f"the program lets NumPy write into a captured array ({ufunc.__name__}): use what the function returns", "unsupported")
        if name is None or method != "__call__" or kwargs:
            return getattr(ufunc, method)(*map(_plain, inputs), **{key: _plain(value) for key, value in kwargs.items()})
        left, right = inputs
        return getattr(left, f"__{name}__")(right) if type(left) is LazyArray else getattr(right, _reflected(name))(left)

    def __getitem__(self, key):
        if not _is_basic(key):
            return self.values()[key]
        part = LazyArray(self.tensor[key])
        return part if part.ndim or _has_ellipsis(key) else part.values()[()]

    def __setitem__(self, key, value):
        key = with_plain(key)
        if not _is_basic(key):
            raise Error("a captured array can be written at numbers and slices only: use torch.where, or write into a tensor", "unsupported")
        self.tensor[key] = _tensor_of(value).to(self.tensor.dtype)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __copy__(self):
        return self.copy("K")

    def __deepcopy__(self, memo):
        return self.copy("K")

    def __reduce_ex__(self, protocol):
        return self.values().__reduce_ex__(protocol)

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """Returns a copy of another dtype; for its own dtype, without `copy`, the array itself."""
        wanted = numpy.dtype(dtype)
        if order != "K" or wanted.name not in _DTYPES or not wanted.isnative or not numpy.can_cast(self.dtype, wanted, casting):
            return self.values().astype(dtype, order, casting, subok, copy)
        return self if not copy and wanted == self.dtype else LazyArray(self.tensor.to(_DTYPES[wanted.name], copy=True))

    def reshape(self, *shape, **options):
        """The same elements in another shape: a copy if no strides can express it."""
        if options or has_carriers(shape):
            return self.values().reshape(*with_plain(shape), **options)
        return LazyArray(self.tensor.reshape(*shape))

    def transpose(self, *axes):
        """The axes in another order, or in reverse."""
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return LazyArray(self.tensor.permute(*(axes or tuple(reversed(range(self.ndim))))))

    def copy(self, order="C"):
        """An array of its own memory."""
        return LazyArray(self.tensor.clone()) if order in ("C", "K") else self.values().copy(order)

    def flatten(self, order="C"):
        """A copy in one dimension."""
        return LazyArray(self.tensor.reshape(-1).clone()) if order == "C" else self.values().flatten(order)

    def ravel(self, order="C"):
        """The elements in one dimension: a copy if no strides can express it."""
        return self.reshape(-1) if order == "C" else self.values().ravel(order)

    def fill(self, value):
        self[...] = value


def _is_basic(key):
    """Whether an index consists only of numbers, slices that go forward, None and ... ."""
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


def _plain(value):
    return value.values() if type(value) is LazyArray else plain(value)


def _tensor_of(value):
    if isinstance(value, Carrier):
        return value._tensor
    return value.tensor if type(value) is LazyArray else value if isinstance(value, torch.Tensor) else torch.tensor(value)


def _reflected(name):
    return f"__{_MIRRORED.get(name, 'r' + name)}__"


# -------------------------------------------------------------------- operators


def _common_type(compute, array, other, reflected):
    """The type in which the two compute, as in NumPy; None if torch does not compute in it."""
    def one_of(value):
        if isinstance(value, Carrier):
            return 1 if type(value) is LazyInt else 1.0
        return value if type(value) in (bool, int, float) else numpy.ones((1,), value.dtype)

    pair = one_of(array), one_of(other)
    try:
        made, common = compute(*(reversed(pair) if reflected else pair)).dtype.name, numpy.result_type(*pair).name
    except OverflowError:  # a number that the array's type does not have
        return None
    kind = _DTYPES.get(common if made == "bool" else made)
    return None if made not in _DTYPES or kind in (None, torch.bool) or isinstance(other, Carrier) and kind in (torch.float16, torch.int8, torch.uint8) else kind


def _operator(name, reflected):
    compute = operator_of(name)

    def method(self, other):
        if isinstance(other, (list, tuple)):
            other = numpy.asarray(other)
        if type(other) not in (LazyArray, numpy.ndarray, bool, int, float) and not isinstance(other, (Carrier, numpy.generic)):
            return compute(numpy.zeros(self.shape, self.dtype), other) if name in ("eq", "ne") and (other is None or type(other) is str) else NotImplemented
        kind = _common_type(compute, self, other, reflected) if name in _FOLLOWED else None
        ours, theirs = (self.values(), _plain(other)) if kind is None else (self.tensor.to(kind), _tensor_of(other).to(kind))
        result = compute(theirs, ours) if reflected else compute(ours, theirs)
        return result if kind is None else LazyArray(result, is_number=result.dim() == 0)  # NumPy's arithmetic gives no array without dimensions

    return method


def _written(name):
    """An in-place operator: its result is written into the array as far as NumPy allows."""
    def method(self, other):
        made = getattr(self, f"__{name}__")(other)
        if not numpy.can_cast(made.dtype, self.dtype, "same_kind"):
            raise TypeError(f"Cannot cast ufunc '{name}' output from {made.dtype!r} to {self.dtype!r} with casting rule 'same_kind'")
        if made.shape != self.shape:
            raise ValueError(f"non-broadcastable output operand with shape {self.shape} doesn't match the broadcast shape {made.shape}")
        self[...] = made
        return self

    return method


for _name in (*_FOLLOWED, *_BY_VALUES):
    setattr(LazyArray, f"__{_name}__", _operator(_name, False))
    if _name not in _MIRRORED:
        setattr(LazyArray, f"__r{_name}__", _operator(_name, True))
        setattr(LazyArray, f"__i{_name}__", _written(_name))
for _name in ("neg", "pos", "abs", "invert", "bool", "int", "float", "index", "complex"):
    setattr(LazyArray, f"__{_name}__", lambda self, _name=_name: getattr(self.values(), f"__{_name}__")())


def _beside_carrier(name, number, array, reflected):
    """Applies a Python operator to a number of the graph and an array of NumPy, or the other way round."""
    if array.dtype.name not in _DTYPES or name not in _FOLLOWED:
        pair = (array, number._plain()) if reflected else (number._plain(), array)
        return operator_of(name)(*pair)
    return getattr(LazyArray(torch.tensor(array)), f"__{name}__" if reflected else _reflected(name))(number)


Carrier._beside_array = staticmethod(_beside_carrier)


def from_numpy(array):
    """torch.from_numpy, which calls no torch function, for captured arrays as well."""
    return array.tensor if type(array) is LazyArray else torch.from_numpy(array)
