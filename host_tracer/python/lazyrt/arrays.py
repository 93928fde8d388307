"""Arrays of NumPy that a program sees while it is captured: a lazy tensor behind an array's face.

What has an equal in torch stays in the graph: views, casts, sums and products, comparisons, torch.from_numpy and as_tensor. All else asks
for the values, which is a sync of the whole array: exact for integers, and for floating ones a finding at the user's line. An array
fetched so is read-only, because a write into it would be lost."""

import contextlib
import operator

import numpy
import torch

from lazyrt.carriers import Carrier, LazyFloat, LazyInt, operator_of
from lazyrt.numpy_errors import Watchers
from lazyrt.strangers import answers_itself

_DTYPES = {"float32": torch.float32, "float64": torch.float64, "float16": torch.float16, "int8": torch.int8, "uint8": torch.uint8,
           "int16": torch.int16, "int32": torch.int32, "int64": torch.int64, "bool": torch.bool}
NUMPY_DTYPES = frozenset(_DTYPES.values())
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_NARROW = (torch.int8, torch.uint8, torch.int16, torch.int32)


targets_of_writes: list = []  # arrays of NumPy that captured ones were written into since the call began


class LazyArray:
    """Passes for a numpy.ndarray; `tensor` is what it holds, `order` a tensor on the device meta that lies in memory as NumPy's would."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tensor, order=None):
        self.tensor = tensor
        self.order = _order(torch.empty, tensor.shape, device="meta") if order is None else order
        self.is_number = False

    @property  # type: ignore[misc]
    def __class__(self):
        return numpy.ndarray

    shape = property(lambda self: tuple(self.tensor.shape))
    ndim = property(lambda self: self.tensor.dim())
    size = property(lambda self: self.tensor.numel())
    dtype = property(lambda self: numpy.dtype(_NAMES[self.tensor.dtype]))
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
        return getattr(self.values(), name)

    def values(self):
        """The values, read-only: a sync."""
        array = _numpy_of(_fetch(self.tensor))
        array.flags.writeable = False
        return array

    def __array__(self, dtype=None, copy=None):
        return numpy.array(self.values(), dtype=dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """Operators whose other side is an array of NumPy are ours; other functions get the values."""
        name = _UFUNCS.get(ufunc)
        targets_of_writes.extend(item for item in kwargs.get("out", ()) if type(item) is numpy.ndarray)
        if name is None or method != "__call__" or kwargs:
            if any(type(item) is LazyArray for item in kwargs.get("out", ())):
                raise TypeError("a captured array cannot be out= of a function of NumPy")
            return getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
        left, right = inputs
        return getattr(left, f"__{name}__")(right) if type(left) is LazyArray else getattr(right, _reflected(name))(left)

    def __getitem__(self, key):
        if not _is_basic(key):
            return self.values()[key]
        part = LazyArray(self.tensor[key], _order(torch.Tensor.__getitem__, self.order, key))
        whole = isinstance(key, tuple) and any(item is Ellipsis for item in key) or key is Ellipsis
        return part if part.ndim or whole else part.values()[()]

    def __setitem__(self, key, value):
        if not _is_basic(key):
            raise TypeError("a captured array can be written at numbers and slices only")
        self.tensor[key] = _tensor_of(value).to(self.tensor.dtype) if not _is_number(value) else value

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return repr(self.values())

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce_ex__(self, protocol):
        return self.values().__reduce_ex__(protocol)

    def astype(self, dtype, *args, **kwargs):
        """A copy of another dtype."""
        name = numpy.dtype(dtype).name
        if args or kwargs or name not in _DTYPES:
            return self.values().astype(dtype, *args, **kwargs)
        Watchers.check()
        return LazyArray(self.tensor.to(_DTYPES[name], copy=True), _order(torch.empty_like, self.order))

    def reshape(self, *shape):
        """The same elements under another shape: a copy where no strides give it."""
        order = _order(torch.Tensor.reshape, self.order, *shape)
        is_view = order._base is not None or order is self.order
        return LazyArray((self.tensor if is_view else self.tensor.clone()).reshape(*shape), order)

    def transpose(self, *axes):
        """The axes in another order, or in reverse."""
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        axes = axes or tuple(reversed(range(self.ndim)))
        return LazyArray(self.tensor.permute(*axes), _order(torch.Tensor.permute, self.order, *axes))

    def copy(self):
        """An array of its own memory."""
        return LazyArray(self.tensor.clone())

    flatten = lambda self: LazyArray(self.tensor.reshape(-1).clone())  # noqa: E731
    ravel = lambda self: self.reshape(-1)  # noqa: E731


def _order(function, *args, **kwargs):
    """Of a tensor on the device meta, which is no matter of the capture."""
    with torch._C.DisableTorchFunction():
        return function(*args, **kwargs)


def _fetch(tensor):
    with torch._C.DisableTorchFunction():
        return tensor.detach().to("cpu")


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


def _is_number(value):
    return type(value) in (bool, int, float)


def _tensor_of(value):
    if isinstance(value, Carrier):
        return value._tensor
    return value.tensor if type(value) is LazyArray else torch.tensor(value)


def _one_of(value):
    """Something of the same dtype for NumPy's own rules of promotion."""
    if isinstance(value, Carrier):
        return {LazyInt: 1, LazyFloat: 1.0}.get(type(value), numpy.float64(1))
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
        Watchers.check()
        if _is_decided(compute, self, other):
            answer = compute(numpy.zeros(1, self.dtype), other).item()
            return LazyArray(torch.full_like(self.tensor, answer, dtype=torch.bool), _order(torch.empty_like, self.order))
        kind = _common_type(compute, self, other, reflected)
        if kind is None:
            return _in_order(compute, self.values(), _plain(other), reflected)
        ours, theirs = self.tensor.to(kind), other if _is_number(other) else _tensor_of(other).to(kind)
        result = _in_order(compute, ours, theirs, reflected)
        array = LazyArray(result, _order(torch.empty_like, self.order) if result.shape == ours.shape else None)
        array.is_number = result.dim() == 0  # NumPy's arithmetic gives no array without dimensions
        return array

    return method


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
    return NotImplemented if answers_itself(other) else _in_order(compute, array.values(), other, reflected)


def _beside_carrier(name, number, array, reflected):
    """What an operator of Python gives for a number of the graph and an array of NumPy, or the other way round."""
    if array.dtype.name not in _DTYPES or name not in _UFUNCS.values():
        return _in_order(operator_of(name), number._plain(), array, reflected)
    mirrored = f"__{name}__" if reflected else _reflected(name)
    return getattr(LazyArray(_tensor_of(array)), mirrored)(number)


Carrier._beside_array = staticmethod(_beside_carrier)


def _written(name):
    def method(self, other):
        made = getattr(self, name)(other)
        if made is NotImplemented:
            return made
        if type(made) is not LazyArray or not numpy.can_cast(made.dtype, self.dtype, "same_kind"):
            raise TypeError(f"a captured array of {self.dtype} cannot be written with {made.dtype}")
        self.tensor.copy_(made.tensor)
        return self

    return method


for _name in ("add", "sub", "mul", "truediv"):
    setattr(LazyArray, f"__{_name}__", _operator(getattr(operator, _name)))
    setattr(LazyArray, f"__r{_name}__", _operator(getattr(operator, _name), True))
    setattr(LazyArray, f"__i{_name}__", _written(f"__{_name}__"))
for _compare in _COMPARISONS:
    setattr(LazyArray, f"__{_compare.__name__}__", _operator(_compare))
for _name in ("floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
    setattr(LazyArray, f"__{_name}__", lambda self, other, _name=_name: getattr(self.values(), f"__{_name}__")(_plain(other)))
    setattr(LazyArray, f"__r{_name}__", lambda self, other, _name=_name: getattr(self.values(), f"__r{_name}__")(_plain(other)))
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

    torch.from_numpy, Watchers.before = from_numpy, Watchers.now()
    try:
        yield
    finally:
        torch.from_numpy, Watchers.before = real, None
