"""What a module's Python sees while it is captured: lazy tensors that pass for CPU tensors.

Calls without a lazy operand run as they are, on the CPU; a CPU tensor that lazy values are written into is lifted first. What
moves lazy tensors to the CPU leaves them where they are; their numbers become carriers."""

import functools
import sys

import torch
import torch.utils.checkpoint
from torch.overrides import TorchFunctionMode

from lazyrt import _tracer
from lazyrt.errors import Error
from lazyrt.numbers import indexing
from lazyrt.numbers.arrays import NUMPY_DTYPES, LazyArray
from lazyrt.numbers.carrier_calls import call_with_carriers, has_carriers
from lazyrt.numbers.carriers import Carrier, LazyInt, carrier_of, nested_carriers
from lazyrt.record import foreach, gradients, private_names, sparse_products
from lazyrt.record.copies import VIEWS_FOR, may_copy
from lazyrt.record.draws import is_seeded
from lazyrt.record.lifted_memory import LiftedMemory
from lazyrt.record.tensors import CPU, LAZY, is_lazy, is_ours, is_write, tensors_in

_Tensor = torch.Tensor
# These are lazy so that the report can name them: those that take only numbers, and those that may take tensors.
_DRAWS = {torch.rand, torch.randn, torch.randint, torch.randperm}
# Functions that take sizes. If their results were CPU tensors, the bundle would hold the contents for one size.
_FACTORIES = {torch.arange, torch.linspace, torch.logspace, torch.zeros, torch.ones, torch.full, torch.empty, torch.eye, torch.tril_indices, torch.triu_indices,
              torch.hann_window, torch.hamming_window, torch.blackman_window, torch.bartlett_window, torch.kaiser_window, torch.fft.fftfreq,
              torch.fft.rfftfreq}
_DRAWS_OF_TENSORS = (torch.normal, torch.multinomial, torch.bernoulli, torch.poisson, torch.rand_like, torch.randn_like, torch.randint_like,
                     _Tensor.multinomial, _Tensor.bernoulli)
_DRAWS_LIKE = (torch.rand_like, torch.randn_like, torch.randint_like)
# They compare the devices of their operands themselves, or fail in ATen's functionalization if these differ.
_ON_ONE_DEVICE = (torch.cdist, torch.cosine_similarity, torch.gradient, torch.linalg.multi_dot, torch.chain_matmul, torch.lstm_cell, torch.gru_cell,
                  torch.rnn_tanh_cell, torch.rnn_relu_cell, torch.take_along_dim, _Tensor.take_along_dim, torch.quantile, torch.nanquantile, _Tensor.quantile,
                  _Tensor.nanquantile, torch.stft, torch.istft, _Tensor.stft, _Tensor.istft)


def _on_cpu(device):
    """True for what names the CPU: "cpu", torch.device("cpu"), ..."""
    if isinstance(device, str):
        return device.split(":")[0] == "cpu"
    return isinstance(device, torch.device) and device.type == "cpu"


def _tensors_in(values):
    """Those of carriers, too."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _tensors_in(value)
        elif isinstance(value, (_Tensor, Carrier)):
            yield value if isinstance(value, _Tensor) else value._tensor


def _map(value, fn):
    if isinstance(value, _Tensor):
        return fn(value)
    if type(value) in (list, tuple):
        return type(value)(_map(item, fn) for item in value)
    return value


class CaptureMode(TorchFunctionMode):
    """Active while the program runs on lazy tensors. `run`: the LazyRun, for its numbers and copies; `kept`: lazy tensors that outlive the call;
    `draws` sees each call (see draws.py); note_made(tensor) is called with what calls make; `any_size`: this is one of several captures at other
    sizes, which keep calls that do nothing at some; `follows_factories`: tensors made by factories are lazy."""

    def __init__(self, run, kept, draws, note_made, any_size, follows_factories):
        super().__init__()
        self._note_made = note_made
        self._kept = {id(tensor): tensor for tensor in kept}
        self.memory_taken = []  # (tensor that outlives the call, the one of Python in whose memory it lies from now on)
        self._data_of = {}  # id -> (what t.data gave, t) of those
        self._lift, self._note, self._draws = _tracer.lift, run.note, draws
        self._numbers, self._copies = run.numbers, run.copies
        self._frame = None  # who makes the call
        self._memory = LiftedMemory()
        self._handlers = self._make_handlers()
        self.takes_gradients = False  # the program asks for some
        self.variables = []  # CPU tensors of which it may take some, beside parameters
        self._any_size, self._follows_factories = any_size, follows_factories
        self.missing_gradients = None  # the error of a gradient that was asked for where none are recorded

    def let_go(self):
        """Breaks the reference cycle through its own methods, which would keep its tensors alive until the next garbage collection."""
        self._handlers = {}

    def outlive(self, tensors):
        """These are left behind by the program."""
        self._numbers.selections.keep(tensors)

    @property
    def lifted(self):
        """See LiftedMemory."""
        return self._memory.lifted

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs, outer = kwargs or {}, self._frame  # of a backward pass, say, that calls a hook
        self._frame = sys._getframe(1)
        try:
            result = self._draws.call(self._handle, VIEWS_FOR.get(func, func), args, kwargs)
            if may_copy(func, kwargs) and isinstance(result, _Tensor):
                result = self._copies.take(func, self.current(args[0]), result, self._frame)
            for tensor in tensors_in((result,)):
                if is_lazy(tensor):
                    self._note_made(tensor)
            return result
        finally:
            self._frame = outer

    def _handle(self, func, args, kwargs):
        return self._handlers.get(func, self._call)(func, args, kwargs)

    # ---------------------------------------------------------------- every call

    def _call(self, func, args, kwargs):
        if self._numbers.used and has_carriers((*args, *kwargs.values())):
            return call_with_carriers(func, args, kwargs, self._handle)
        is_any_lazy = any(is_lazy(self.current(t)) for t in _tensors_in((*args, *kwargs.values())))
        if is_any_lazy:
            self._refuse_modes(func, args, kwargs)
        makes = func in _DRAWS and not is_seeded(kwargs) or self._follows_factories and func in _FACTORIES and not is_ours(self._frame)
        if makes or is_any_lazy and _on_cpu(kwargs.get("device")):
            kwargs = {**kwargs, "device": LAZY}
        each = foreach.each_of(func, args)
        if each is not None and is_any_lazy:
            return each(self._call, args, kwargs)
        if is_write(func, kwargs):
            self._lift_targets(func, args, kwargs)
            self._numbers.selections.before_write()
        if torch.is_grad_enabled():
            self._lift_variables(args, kwargs)
        if self._memory.lifted:
            args = _map(tuple(args), self.current)
            kwargs = {key: _map(value, self.current) for key, value in kwargs.items()}
        return func(*args, **kwargs)

    @staticmethod
    def _refuse_modes(func, args, kwargs):
        """Refuses modes under which eager computes something else than the capture sees."""
        floating = torch.is_autocast_enabled("cpu") and any(is_lazy(t) and t.is_floating_point() for t in _tensors_in((*args, *kwargs.values())))
        if floating and getattr(func, "__name__", "") != "__get__":
            raise Error(f"the model computes under torch.autocast ({func.__name__}): the capture does not see its casts. Export the model without "
                        "autocast, or with casts of its own (x.to(torch.bfloat16))", "unsupported")
        for mode in private_names.dispatch_modes():
            raise Error(f"the model computes under {type(mode).__name__}, a TorchDispatchMode: the capture shows it other operators than eager does. "
                        "Export the model without it", "unsupported")

    def _lazy_operands(self, args, kwargs):
        """(args, kwargs) with all tensors lazy."""
        def lazy(tensor):
            tensor = self.current(tensor)
            return tensor if is_lazy(tensor) else self._lift(tensor.detach())

        return _map(tuple(args), lazy), {name: _map(value, lazy) for name, value in kwargs.items()}

    def _on_one_device(self, func, args, kwargs):
        """Their constants become lazy before the call."""
        if any(is_lazy(self.current(t)) for t in _tensors_in((*args, *kwargs.values()))):
            args, kwargs = self._lazy_operands(args, kwargs)
        return self._call(func, args, kwargs)

    def _draw(self, func, args, kwargs):
        if is_seeded(kwargs) and func in _DRAWS_LIKE:
            like = self.current(args[0])
            return func(torch.empty(like.shape, dtype=like.dtype), *args[1:], **kwargs)
        if next(_tensors_in((*args, *kwargs.values())), None) is None:
            return self._call(func, args, {**kwargs, "device": LAZY})
        return self._call(func, *self._lazy_operands(args, kwargs))

    def _lift_targets(self, func, args, kwargs):
        """Lifts a CPU tensor that is written with lazy values, for all later uses."""
        out = kwargs.get("out")
        targets = [out] if out is not None else args[:1]
        sources = [*_tensors_in(args), *_tensors_in(kwargs.values())]
        if any(is_lazy(t) for t in sources):
            if targets and isinstance(targets[0], (list, tuple)):
                name = getattr(func, "__name__", "a function")
                how = "use what the function returns, without out" if out is not None else "write them one by one"
                raise Error(f"the model writes into several tensors by one call ({name}{', out=' if out is not None else ''}): {how}", "unsupported")
            for target in _tensors_in(targets):
                if out is not None and not target.numel():
                    raise Error("the model gives a function an empty tensor to resize (out=): use what the function returns, without out", "unsupported")
                if not is_lazy(target):
                    self._memory.lift(target)

    def _lift_variables(self, args, kwargs):
        """Lifts tensors that the program made on the CPU and wants gradients of."""
        for tensor in _tensors_in((*args, *kwargs.values())):
            if not is_lazy(tensor) and tensor.requires_grad and tensor.is_leaf:
                self.variables.append(tensor)
                self._memory.lift(tensor)
                self.current(tensor).requires_grad_()

    def current(self, tensor):
        """The current form of a tensor of the program: the lifted one if it was written with lazy values."""
        return self._memory.current(tensor)

    # ---------------------------------------------------------------- single functions

    def _make_handlers(self):
        return {
            _Tensor.device.__get__: lambda func, args, kwargs: self._device(args[0]),
            _Tensor.is_cpu.__get__: lambda func, args, kwargs: is_lazy(args[0]) or args[0].is_cpu,
            _Tensor.data.__get__: lambda func, args, kwargs: self._data(args[0]),
            _Tensor.data.__set__: self._set_data,
            _Tensor.type: self._type,
            _Tensor.is_contiguous: self._is_contiguous,
            **dict.fromkeys(_ON_ONE_DEVICE, self._on_one_device),
            **dict.fromkeys(_DRAWS_OF_TENSORS, self._draw),
            _Tensor.__getitem__: self._getitem,
            _Tensor.__setitem__: self._setitem,
            _Tensor.get_device: lambda func, args, kwargs: -1 if is_lazy(args[0]) else func(*args),
            _Tensor.to: self._to,
            _Tensor.cpu: self._cpu,
            _Tensor.numpy: self._numpy,
            _Tensor.__array__: lambda func, args, kwargs: func(self._fetch(args[0]), *args[1:], **kwargs),
            _Tensor.tolist: self._tolist,
            _Tensor.item: self._item,
            _Tensor.data_ptr: self._data_ptr,
            _Tensor.__bool__: self._bool,
            _Tensor.__int__: self._int,
            _Tensor.__index__: self._int,
            _Tensor.__float__: self._float,
            _Tensor.__repr__: self._text,
            _Tensor.__format__: self._text,
            torch.full: self._full,
            torch.tensor: self._make_tensor,
            torch.as_tensor: self._make_tensor,
            **dict.fromkeys((torch.autograd.grad, _Tensor.backward), self._backward),
            **dict.fromkeys(sparse_products.PRODUCTS, self._product),
            **dict.fromkeys(sparse_products.SUMS, self._sum_of_product),
        }

    def _product(self, func, args, kwargs):
        """Multiplies by a sparse matrix if the first operand is one."""
        if len(args) == 2 and not kwargs and sparse_products.can_multiply(args[0], self.current(args[1])):
            return sparse_products.product(args[0], self.current(args[1]))
        return self._call(func, args, kwargs)

    def _sum_of_product(self, func, args, kwargs):
        if len(args) == 3 and sparse_products.can_multiply(args[1], self.current(args[2])) and kwargs.keys() <= {"alpha", "beta"}:
            scaled = sparse_products.product(args[1], self.current(args[2])) * kwargs.get("alpha", 1)
            return scaled if kwargs.get("beta", 1) == 0 else self.current(args[0]) * kwargs.get("beta", 1) + scaled
        return self._call(func, args, kwargs)

    def _backward(self, func, args, kwargs):
        """Records that gradients are needed: a program that catches the error is also captured again with autograd on."""
        self.takes_gradients = True
        self._lift_variables(args, kwargs)
        try:
            return self._on_one_device(func, args, kwargs)
        except RuntimeError as error:
            if gradients.are_missing(error):
                self.missing_gradients = str(error)
            raise

    @staticmethod
    def _data_ptr(func, args, kwargs):
        if is_lazy(args[0]):
            raise Error("the model asks for the address of a tensor's memory (data_ptr), which it does not have while it is "
                        "captured; what is read there would not be in the bundle", "unsupported")
        return func(*args, **kwargs)

    def _data(self, tensor):
        data = tensor.detach()
        if id(tensor) in self._kept:
            self._data_of[id(data)] = (data, tensor)
        return data

    def _set_data(self, func, args, kwargs):
        """t.data = value for a tensor that outlives the call: it then shares the value's memory; nothing to do if only the value uses that memory
        (module.to(dtype))."""
        tensor, value = args
        if id(tensor) not in self._kept:
            return func(*args, **kwargs)
        is_own = id(value) in self._data_of and self._data_of[id(value)][1] is tensor
        if value is tensor or is_own and _tracer.memory_of(value) == _tracer.memory_of(tensor):
            return None
        if not is_lazy(value):
            self._memory.lift(value)
            self.memory_taken.append((tensor, value))
        value = self.current(value)
        if value.shape != tensor.shape or value.dtype != tensor.dtype:
            raise Error("the model gives a tensor that it keeps another shape or dtype by .data = ...: replace the tensor itself", "unsupported")
        if _tracer.memory_of(value) in map(_tracer.memory_of, self._kept.values()):
            raise Error("the model makes two of its tensors share memory by .data = ...: copy the values instead, a.data.copy_(b)", "unsupported")
        with torch.no_grad():
            tensor.set_(value.detach())
        return None

    def _getitem(self, func, args, kwargs):
        parts = indexing.parts_of(args[1]) if self._numbers.selects else None
        if parts is None:
            bounded = indexing.bounded_parts(args[1]) if self._any_size and is_lazy(self.current(args[0])) else None
            return self._call(func, args, kwargs) if bounded is None else self._call(indexing.sliced, (args[0], bounded), {})
        base = self._lazy(args[0])
        result = indexing.select(base, parts)
        self._numbers.selections.add(base, parts, result)
        return result

    def _lazy(self, tensor):
        """The program's tensor in the graph."""
        if not is_lazy(self.current(tensor)):
            self._memory.lift(tensor)
        return self.current(tensor)

    def _setitem(self, func, args, kwargs):
        tensor, index, value = args
        parts = indexing.parts_of(index) if self._numbers.selects else None
        if parts is None or not indexing.can_write(parts):
            return self._call(func, args, kwargs)
        base = self._lazy(tensor)
        written = value._tensor.to(base.dtype) if isinstance(value, Carrier) else torch.as_tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
        self._numbers.selections.put_back(base, parts, value)
        indexing.write(base, parts, self.current(written))
        return None

    def _is_contiguous(self, func, args, kwargs):
        tensor, wanted = args[0], kwargs.get("memory_format", torch.contiguous_format)
        if is_lazy(tensor) and wanted is not torch.contiguous_format:
            return torch.empty_strided(tensor.shape, tensor.stride(), device="meta").is_contiguous(memory_format=wanted)
        return func(*args, **kwargs)

    def _type(self, func, args, kwargs):
        """Returns the name of the tensor's type, or casts to the type that such a name means."""
        tensor, wanted = args[0], (*args[1:], *kwargs.values())
        if not is_lazy(tensor):
            return func(*args, **kwargs)
        if not wanted or wanted[0] is None:
            return torch.empty(0, dtype=tensor.dtype).type()
        dtype = wanted[0] if isinstance(wanted[0], torch.dtype) else torch.empty(0).type(wanted[0]).dtype
        return tensor.to(dtype)

    def _device(self, tensor):
        """Returns the CPU, except to a checkpoint: it notes devices in the call, where no mode is active, and compares them in the backward pass."""
        by_checkpoint = self._frame.f_code is private_names.checkpoint_devices
        return CPU if is_lazy(tensor) and not by_checkpoint else tensor.device

    def _to(self, func, args, kwargs):
        tensor, rest = self.current(args[0]), list(args[1:])
        if not is_lazy(tensor):
            return self._call(func, args, kwargs)
        moved = any(_on_cpu(item) for item in (*rest, kwargs.get("device")))
        rest = [self._stay(item) for item in rest]
        kwargs = {key: self._stay(item) for key, item in kwargs.items()}
        if moved:
            self._note("a move to the CPU was left out")
        return func(tensor, *rest, **kwargs)

    @staticmethod
    def _stay(item):
        """An argument of Tensor.to that leaves the tensor on the capture device."""
        if _on_cpu(item):
            return LAZY
        if isinstance(item, _Tensor) and not is_lazy(item):
            return item.dtype
        return item

    def _cpu(self, func, args, kwargs):
        if not is_lazy(args[0]):
            return self._call(func, args, kwargs)
        self._note("a move to the CPU was left out")
        return args[0]

    def _fetch(self, tensor):
        """The value on the real CPU: a sync."""
        tensor = self.current(tensor)
        return tensor.detach().to("cpu") if is_lazy(tensor) else tensor.detach()

    def _shown(self, tensor):
        """Returns the value without a sync if only people read it; else the tensor."""
        tensor = self.current(tensor)
        return _tracer.peek(tensor.detach()) if is_lazy(tensor) and self._numbers.audience.listens() else tensor

    def _numpy(self, func, args, kwargs):
        if not is_lazy(args[0]):
            return func(*args, **kwargs)
        return LazyArray(args[0].detach()) if args[0].dtype in NUMPY_DTYPES else self._fetch(args[0]).numpy()

    def _tolist(self, func, args, kwargs):
        tensor = self.current(args[0])
        if not is_lazy(tensor):
            return func(*args, **kwargs)
        if not self._follows(tensor):
            return self._fetch(tensor).tolist()
        self._numbers.used = True
        return nested_carriers(tensor)

    def _follows(self, tensor):
        return self._numbers.followed and tensor.dtype is not torch.bool and not tensor.is_complex()

    def _bool(self, func, args, kwargs):
        """bool(t): a guard on the truth, not on the number."""
        tensor = args[0]
        if is_lazy(tensor) and tensor.dtype != torch.bool and tensor.numel() == 1:
            tensor = tensor != 0
        if is_lazy(tensor) and tensor.numel() == 1 and self._numbers.audience.is_asked():
            return bool(_tracer.peek(tensor.detach()).item())
        return func(tensor)

    def _int(self, func, args, kwargs):
        """int(t): a guard on the integer, not on the fraction."""
        tensor = self.current(args[0])
        if not is_lazy(tensor) or func is not _Tensor.__int__:
            return func(tensor)
        if tensor.is_floating_point() and tensor.numel() == 1:
            return int(carrier_of(tensor))
        return func(self._shown(tensor))

    def _float(self, func, args, kwargs):
        return func(self._shown(args[0]))

    def _item(self, func, args, kwargs):
        tensor = self.current(args[0])
        if not is_lazy(tensor) or tensor.numel() != 1 or not self._follows(tensor):
            return func(self._shown(tensor))
        self._numbers.used = True
        return carrier_of(tensor)

    def _full(self, func, args, kwargs):
        """torch.full(size, a lazy number): the number as a tensor, expanded."""
        given = dict(zip(("size", "fill_value"), args), **kwargs)
        value = given.get("fill_value")
        if not is_lazy(value) or given.get("out") is not None:
            return self._call(func, args, kwargs)
        of_number = torch.get_default_dtype() if value.is_floating_point() else torch.int64
        dtype = given.get("dtype") or (value.dtype if value.is_complex() or value.dtype is torch.bool else of_number)
        return value.reshape(()).expand(given["size"]).clone().to(dtype)

    def _text(self, func, args, kwargs):
        return func(self._fetch(self._shown(args[0])), *args[1:], **kwargs)

    def _make_tensor(self, func, args, kwargs):
        """torch.tensor([a, b]) of lazy a, b is a stack of them; their numbers do not leave the graph."""
        data, dtype = (args[i] if len(args) > i else kwargs.get(name) for i, name in enumerate(("data", "dtype")))
        if type(data) is LazyArray:
            data = data.tensor.clone() if func is torch.tensor else data.tensor
            return data if dtype is None else data.to(dtype)
        if isinstance(data, _Tensor) or not any(is_lazy(t) for t in _tensors_in([data])):
            return self._call(func, args, kwargs)
        stacked, inferred = self._stack(data)
        return stacked.to(dtype or inferred)

    def _stack(self, data):
        """(nested data as one lazy tensor, as wide as Python's numbers are; the type that torch infers for it)"""
        if isinstance(data, Carrier):
            return data._tensor.clone(), torch.int64 if type(data) is LazyInt else torch.get_default_dtype()
        if isinstance(data, _Tensor):
            made = data if is_lazy(data) else self._lift(data.detach())
            return made, made.dtype
        if isinstance(data, (list, tuple)):
            items = [self._stack(item) for item in data]
            wide, inferred = (functools.reduce(torch.promote_types, kinds) for kinds in zip(*((item.dtype, kind) for item, kind in items)))
            return torch.stack([item.to(wide) for item, _ in items]), inferred
        inferred = torch.tensor(data).dtype
        return self._lift(torch.tensor(data, dtype=torch.float64 if inferred.is_floating_point else None)), inferred
