"""What a program did in eager: its results, and the calls of torch functions by which it came to them.

Two runs on values that show no difference (a clamp that nothing reaches) differ in their calls all the same."""

import os
import sys
import weakref

import numpy
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from lazyrt import layouts, scripts

_Tensor = torch.Tensor
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
# They take other calls for one tensor given twice and where gradients are recorded, and compute the same.
_LAYERS = tuple(os.path.join(_TORCH, "nn", "modules", name) for name in ("activation.py", "transformer.py"))
_MOST_FRAMES = 4  # between a call and the layer that makes it
# They give the tensor that they are called on, or say what a program has to act upon in another call.
_SAYS_NOTHING = {"contiguous", "clone", "detach", "detach_", "requires_grad_", "is_contiguous", "stride", "storage_offset", "data_ptr", "size", "dim", "numel",
                 "ndimension", "element_size", "untyped_storage", "storage", "is_floating_point", "__get__", "__len__", "is_set_to", "__repr__", "__format__", "retain_grad",
                 "dim_order", "is_inference", "is_complex", "_set_grad_enabled", "set_grad_enabled", "is_grad_enabled"}
_VIEWS = {"T", "mT", "H", "mH"}  # attributes
_GRADIENTS = {"grad", "backward"}  # torch keeps their graphs where gradients are recorded
_LEAVES = {"item", "__float__", "__int__", "__index__", "tolist", "aten._local_scalar_dense.default"}
_ONE_NAME = {"view": "reshape", "view_as": "reshape", "reshape_as": "reshape", "flatten": "reshape"}


class Shape(tuple):
    """Stands for a tensor: its type and extents, and what it is: the name of a registered one, the Content of a small constant, or None."""


class Content:
    """What a small tensor or array held at some time; equal to another one but for rounding."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __eq__(self, other):
        return isinstance(other, Content) and layouts.same_results(self.tensor, other.tensor)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        return f"Content({self.tensor.tolist()})"


class Made:
    """Which tensors are inputs or come out of calls, in one run or several in a row. It keeps none of them."""

    def __init__(self):
        self._made = {}  # id: (weak reference, what a registered tensor is called that it is one with)
        self._inputs, self._objects = {}, set()  # {address of its memory: which it is}, ids

    def give(self, tensors):
        """The inputs of a run."""
        for i, tensor in enumerate(tensors):
            self._objects.add(id(tensor))
            if tensor.numel():
                self._inputs[_address(tensor)] = i

    def input(self, tensor):
        """Which input it is, or lies in."""
        return self._inputs.get(_address(tensor))

    def add(self, tensor, name=None):
        """What a call gave."""
        if id(tensor) not in self._objects or not self._is_input(tensor):  # whose references are counted (experiments.traces_of)
            self._made[id(tensor)] = weakref.ref(tensor), name

    def knows(self, tensor):
        """Whether it is one of them."""
        return self._find(tensor) is not None or self._is_input(tensor)

    def name(self, tensor):
        """The name that it was added with."""
        found = self._find(tensor)
        return found and found[1]

    def _find(self, tensor):
        found = self._made.get(id(tensor))
        return found if found is not None and found[0]() is tensor else None

    def _is_input(self, tensor):
        return bool(self._inputs) and _address(tensor) in self._inputs


def _address(tensor):
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # it has no memory
        return None


class HeldNumbers:
    """The numbers that left tensors in a first run. Later runs get these in place of their own, so that what Python makes of them depends on nothing else."""

    def __init__(self):
        self._first, self._at = [], None

    def __bool__(self):
        return bool(self._first)

    def hold(self):
        """A run begins that gets the numbers of the first."""
        self._at = 0

    def take(self, number):
        """What a run gets where this number leaves a tensor."""
        if self._at is None:
            self._first.append(number)
            return number
        self._at += 1
        held = self._first[self._at - 1] if self._at <= len(self._first) else None
        return held if _is_alike(held, number) else number


def _is_alike(one, other):
    """Whether two numbers, or lists of them, are of one type and length."""
    if type(one) is not type(other):
        return False
    return not isinstance(one, list) or len(one) == len(other) and all(map(_is_alike, one, other))


class CallLog(TorchFunctionMode):
    """Writes down the calls that eager makes. registered(): the tensors by name that stand for themselves, asked for in the first call. `made`: of an earlier run,
    whose results are no constants of this one. `numbers`: HeldNumbers."""

    _most_elements = 1024  # of a constant that is told apart by what it holds
    _tells_layers = False

    def __init__(self, registered=dict, made=None, numbers=None):
        super().__init__()
        self.calls = []
        self.made = made or Made()
        self._numbers = numbers
        self._registered, self._names = registered, None

    def takes(self, tensors):
        """The inputs of the run."""
        self.made.give(tensors)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self._ask_for_names()
        name = name_of(func)
        if self.says_nothing(name):
            return self._passed_on(args, func(*args, **kwargs))
        given = () if name in _GRADIENTS else tuple(map(self._form, (*args, *kwargs.values())))
        try:
            result = func(*args, **kwargs)
        except Exception as error:  # which the program may catch
            self.calls.append((name, tuple(kwargs), given, type(error).__name__))
            raise
        result = self._held(name, result)
        self._add(args[:1] if name == "__setitem__" else result, (args, kwargs))
        if self._tells_layers or not _is_of_layers(sys._getframe(1)):
            self.calls.append((_ONE_NAME.get(name, name), tuple(kwargs), given, self._form(result)))
        return result

    def _held(self, name, result):
        return self._numbers.take(result) if self._numbers is not None and name in _LEAVES else result

    def _ask_for_names(self):
        if self._names is None:
            self._tensors = self._registered()
            self._names = {id(tensor): name for name, tensor in self._tensors.items()}

    @staticmethod
    def says_nothing(name):
        return name in _SAYS_NOTHING

    def _passed_on(self, args, result):
        """A tensor that holds what the first argument holds is what that one is."""
        first = next((value for value in args if isinstance(value, _Tensor)), None)
        if isinstance(result, _Tensor) and result is not first and first is not None:
            name = self._name(first)
            if name is not None or self.made.knows(first):
                self.made.add(result, name)
        return result

    def _add(self, result, given):
        """Takes in what a call makes of what it was given."""
        for tensor in _tensors_in(result):
            self.made.add(tensor)

    def _name(self, tensor):
        name = self._names.get(id(tensor))
        return self.made.name(tensor) if name is None else name

    def _form(self, value):
        if isinstance(value, _Tensor):
            what = self._name(value)
            if what is None and value.numel() <= self._most_elements and not self.made.knows(value):
                what = self.content_of(value)
            return Shape((value.dtype, *value.shape, what))
        if isinstance(value, numpy.generic) and value.dtype.kind in "biufc":
            value = value.item()
        if isinstance(value, (list, tuple)):
            return tuple(map(self._form, value))
        if isinstance(value, slice):
            return "slice", self._form(value.start), self._form(value.stop), self._form(value.step)
        if isinstance(value, float) and value != value:
            return "nan"
        if isinstance(value, numpy.ndarray) and value.size <= self._most_elements and value.dtype.kind in "biuf":
            return value.shape, Content(torch.from_numpy(value.astype(float)))
        return value if isinstance(value, (bool, int, float, complex, str, torch.dtype)) else None

    @staticmethod
    def content_of(tensor):
        """None: it has none that could be compared."""
        is_plain = type(tensor) in (_Tensor, torch.nn.Parameter) and tensor.layout is torch.strided and tensor.device.type == "cpu" and not tensor.is_quantized
        return Content(tensor.detach().clone()) if is_plain and not torch._C._functorch.is_functorch_wrapped_tensor(tensor) else None


class DeepCallLog(CallLog):
    """Also what TorchScript does, operator by operator. What calls make without the inputs is a constant as well: the bundle has it for one."""

    _most_elements = 1 << 16
    _tells_layers = True

    def __enter__(self):
        self._scripts = scripts.Calls(self._scripted)
        self._scripts.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        self._scripts.__exit__(*error)
        return super().__exit__(*error)

    def _scripted(self, script, args, kwargs, call, frame):
        self._ask_for_names()
        with _Operators(self):
            return call()

    def _add(self, result, given):
        if self._depends(given):
            super()._add(result, given)

    def _depends(self, given):
        return any(map(self.made.knows, _tensors_in(given)))

    def operator(self, func, args, kwargs):
        """Calls it."""
        given = tuple(map(self._form, (*args, *kwargs.values())))
        with torch._C.DisableTorchFunction():  # it is written down here
            result = self._held(str(func), func(*args, **kwargs))
        if self._depends((args, kwargs)):
            self.made.give(_tensors_in(result))
        self.calls.append((str(func), tuple(kwargs), given, self._form(result)))
        return result


def name_of(func):
    """Of a torch function; of the getter of an attribute that gives a view, the attribute's."""
    name = getattr(func, "__name__", "")
    attribute = getattr(getattr(func, "__self__", None), "__name__", "") if name == "__get__" else ""
    return attribute if attribute in _VIEWS else name


def _tensors_in(values):
    if isinstance(values, _Tensor):
        return [values]
    if isinstance(values, dict):
        values = values.values()
    elif not isinstance(values, (list, tuple)):
        return []
    return [tensor for item in values for tensor in _tensors_in(item)]


class _Operators(TorchDispatchMode):
    def __init__(self, log):
        super().__init__()
        self._log = log

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self._log.operator(func, args, kwargs or {})


def _is_of_layers(frame):
    for _ in range(_MOST_FRAMES):
        if frame is None or not frame.f_code.co_filename.startswith(_TORCH):
            return False
        if frame.f_code.co_filename in _LAYERS:
            return True
        frame = frame.f_back
    return False


class Seen:
    """One run of the program in eager."""

    def __init__(self, result, calls):
        self.result, self.calls = result, calls

    def same(self, other):
        """Whether the other run did the same, and gave it but for rounding."""
        return self.calls == other.calls and layouts.same_results(self.result, other.result)
