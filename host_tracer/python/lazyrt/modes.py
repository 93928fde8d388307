"""What a module's Python sees while it is captured: lazy tensors that pass for CPU tensors.

Calls without a lazy operand run as they are, on the CPU; a CPU tensor that lazy values are written into is lifted first. What
moves lazy tensors to the CPU leaves them where they are; their numbers become carriers."""

import functools
import sys

import torch
import torch.utils.checkpoint
from torch.overrides import TorchFunctionMode

from lazyrt import _tracer, following, foreach, gradients, indexing, sparse_products, statements
from lazyrt.arrays import NUMPY_DTYPES, LazyArray, is_seen_by_others
from lazyrt.carrier_calls import FLOATS, HALVES, call_with_carriers, check_all_fit, check_fits, has_carriers
from lazyrt.carriers import Carrier, LazyFloat, LazyInt, carrier_of, nested_carriers
from lazyrt.copies import ASK_FOR_STRIDES, VIEWS_FOR, WINDOWS, order_in_memory, place_in_memory
from lazyrt.errors import Error
from lazyrt.tensors import CPU, HERE, LAZY, is_lazy, is_write, tensors_in

_Tensor = torch.Tensor
# Lazy, so that the report can name them: those of numbers alone, and those that may take tensors.
_DRAWS = {torch.rand, torch.randn, torch.randint, torch.randperm}
# What sizes go into. Of CPU tensors the bundle would have the contents at one size.
_FACTORIES = {torch.arange, torch.linspace, torch.logspace, torch.zeros, torch.ones, torch.full, torch.empty, torch.eye, torch.tril_indices, torch.triu_indices,
              torch.hann_window, torch.hamming_window, torch.blackman_window, torch.bartlett_window, torch.kaiser_window, torch.fft.fftfreq,
              torch.fft.rfftfreq}
_DRAWS_OF_TENSORS = (torch.normal, torch.multinomial, torch.bernoulli, torch.poisson, torch.rand_like, torch.randn_like, torch.randint_like,
                     _Tensor.multinomial, _Tensor.bernoulli)
_DRAWS_LIKE = (torch.rand_like, torch.randn_like, torch.randint_like)

# They compare the devices of their operands themselves, or get lost in ATen's functionalization where those differ.
_ON_ONE_DEVICE = (torch.cdist, torch.cosine_similarity, torch.gradient, torch.linalg.multi_dot, torch.chain_matmul, torch.lstm_cell, torch.gru_cell,
                  torch.rnn_tanh_cell, torch.rnn_relu_cell, torch.take_along_dim, _Tensor.take_along_dim, torch.quantile, torch.nanquantile, _Tensor.quantile, _Tensor.nanquantile)
_ANSWERED = {*ASK_FOR_STRIDES, *WINDOWS, _Tensor.numpy}  # eager is asked in its handler
_POWERS_IN_PLACE = (_Tensor.pow_, _Tensor.__ipow__, _Tensor.float_power_)
_DOUBLE_POWERS = (torch.float_power, _Tensor.float_power, _Tensor.float_power_)
_POWERS = (torch.pow, _Tensor.pow, _Tensor.__pow__, *_POWERS_IN_PLACE, *_DOUBLE_POWERS)
_LAYOUT = (*ASK_FOR_STRIDES, _Tensor.untyped_storage, _Tensor.storage)


def _on_cpu(device):
    """True for what names the CPU: "cpu", torch.device("cpu"), ..."""
    if isinstance(device, str):
        return device.split(":")[0] == "cpu"
    return isinstance(device, torch.device) and device.type == "cpu"


def _tensors_in(values):
    for value in values:
        if isinstance(value, _Tensor):
            yield value
        elif isinstance(value, Carrier):
            yield value._tensor
        elif isinstance(value, (list, tuple)):
            yield from _tensors_in(value)


def _map(value, fn):
    if isinstance(value, _Tensor):
        return fn(value)
    if type(value) in (list, tuple):
        return type(value)(_map(item, fn) for item in value)
    return value


class CaptureMode(TorchFunctionMode):
    """Active while the program runs on lazy tensors. `lift` makes a CPU tensor lazy; `note(text)` tells the report; `numbers`
    says whether numbers are followed, and which texts are for people (see following.py); `copies` which calls copy; `recipes` is told of calls on
    the CPU; `kept` are the lazy tensors that outlive the call; `draws` look at each call (see draws.py)."""

    def __init__(self, lift, note, numbers, copies, recipes, kept, draws):
        super().__init__()
        self._kept = {id(tensor): tensor for tensor in kept}
        self.memory_taken = []  # (tensor that outlives the call, the one of Python in whose memory it lies from now on)
        self._data_of = {}  # id -> (what t.data gave, t) of those
        self._lift = lift
        self._note = note
        self._draws = draws
        self._numbers, self._copies = numbers, copies
        self._recipes = recipes
        self._count = 0  # calls of torch functions
        # Of the call that is made: who makes it, and whether that is the program; whether it is to be known what its result shares.
        self._frame, self._is_of_program, self._shares = None, True, True
        self._lifted = {}  # storage address -> (CPU tensor, its lifted form)
        self._handlers = self._make_handlers()
        self.takes_gradients = False  # the program asks for some
        self.variables = []  # CPU tensors of which it may take some, beside parameters
        self.any_size = False  # of several captures at other sizes: what does nothing at some is kept
        self.follows_factories = False  # what they make is lazy
        self.missing_gradients = None  # the error of a gradient that was asked for where none are recorded

    def let_go(self):
        """Ends the cycle of its own methods, by which its tensors would live until the garbage is collected."""
        self._handlers = {}

    def outlive(self, tensors):
        """These are left behind by the program."""
        self._numbers.selections.keep(tensors)

    @property
    def lifted(self):
        """CPU memory that lazy values were written into: address -> (CPU tensor, its lifted form)."""
        return self._lifted

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs, func = kwargs or {}, getattr(func, "takes_carriers", func)
        self._count += 1
        outer = self._frame, self._is_of_program, self._shares  # of a backward pass, say, that calls a hook
        try:
            return self._handle(func, args, kwargs, sys._getframe(1))
        finally:
            self._frame, self._is_of_program, self._shares = outer

    def _handle(self, func, args, kwargs, frame):
        self._frame, caller = frame, frame.f_code.co_filename
        self._is_of_program = not caller.startswith(HERE) or caller == following.__file__ and not self._numbers.quiet
        self._shares = self._is_of_program and func not in _ANSWERED
        before = self._copies.writes_into(args, kwargs)
        result = self._draws.call(self._handlers.get(func, self._call), VIEWS_FOR.get(func, func), args, kwargs)
        self._copies.look_for_writes(before)
        if self._shares:
            result = self._copies.take(func, args, kwargs, result, frame, self.current)
        if not caller.startswith(HERE) or caller == following.__file__:  # a call of the program's, through a function that takes carriers perhaps
            self._numbers.log(func, args, kwargs, result)
        return result

    # ---------------------------------------------------------------- every call

    def _call(self, func, args, kwargs):
        if torch.is_autocast_enabled("cpu"):
            self._refuse_autocast(func, args, kwargs)
        if torch._C._len_torch_dispatch_stack():
            self._refuse_dispatch_mode(args, kwargs)
        makes = func in _DRAWS and not self._draws.is_seeded(kwargs) or self.follows_factories and func in _FACTORIES and self._is_of_program
        if makes or _on_cpu(kwargs.get("device")) and any(is_lazy(t) for t in _tensors_in((*args, *kwargs.values()))):
            kwargs = {**kwargs, "device": LAZY}
        each = foreach.each_of(func, args)
        if each is not None and any(is_lazy(self.current(t)) for t in _tensors_in((*args, *kwargs.values()))):
            return each(self._call, args, kwargs)
        if self._numbers.used and has_carriers((*args, *kwargs.values())):
            return call_with_carriers(func, args, kwargs, lambda args, kwargs: self._call(func, args, kwargs))
        writes = is_write(func, kwargs)
        if writes:
            self._lift_targets(func, args, kwargs)
            self._copies.note_write()
            self._numbers.selections.note_write(args[0] if args else None, self._count)
        if torch.is_grad_enabled():
            self._lift_variables(args, kwargs)
        if self._lifted:
            args = _map(tuple(args), self._current)
            kwargs = {key: _map(value, self._current) for key, value in kwargs.items()}
        result = func(*args, **kwargs)
        if not any(is_lazy(t) for t in _tensors_in((result, *args, *kwargs.values()))):
            self._recipes.note(func, args, kwargs, result, writes)
        return result

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
        if self._draws.is_seeded(kwargs) and func in _DRAWS_LIKE:
            like = self.current(args[0])
            return func(torch.empty(like.shape, dtype=like.dtype), *args[1:], **kwargs)
        if next(_tensors_in((*args, *kwargs.values())), None) is None:
            return self._call(func, args, {**kwargs, "device": LAZY})
        return self._call(func, *self._lazy_operands(args, kwargs))

    @staticmethod
    def _refuse_autocast(func, args, kwargs):
        floating = any(is_lazy(t) and t.is_floating_point() for t in _tensors_in((*args, *kwargs.values())))
        if floating and getattr(func, "__name__", "") != "__get__":
            raise Error(f"the model computes under torch.autocast ({func.__name__}): the capture does not see its casts. Export the model without "
                        "autocast, or with casts of its own (x.to(torch.bfloat16))", "unsupported")

    @staticmethod
    def _refuse_dispatch_mode(args, kwargs):
        if any(is_lazy(t) for t in _tensors_in((*args, *kwargs.values()))):
            mode = type(torch._C._get_dispatch_stack_at(0)).__name__
            raise Error(f"the model computes under {mode}, a TorchDispatchMode: the capture shows it other operators than eager does. "
                        "Export the model without it", "unsupported")

    def _lift_targets(self, func, args, kwargs):
        """A CPU tensor that is written with lazy values becomes lazy, for all later uses."""
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
                    raise Error("the model lets a function make an empty tensor as large as its result (out=): use what the function returns, without out", "unsupported")
                if not is_lazy(target):
                    self._remember(target)

    def _lift_variables(self, args, kwargs):
        """What the program made on the CPU and wants the gradient of."""
        for tensor in _tensors_in((*args, *kwargs.values())):
            if not is_lazy(tensor) and tensor.requires_grad and tensor.is_leaf:
                self.variables.append(tensor)
                self._remember(tensor)
                self._current(tensor).requires_grad_()

    def _remember(self, tensor):
        base = tensor if tensor._base is None else tensor._base
        storage = base.untyped_storage()
        address = storage.data_ptr()
        if address in self._lifted:
            return
        if is_seen_by_others(storage):
            raise Error("the model writes computed values into memory that NumPy, bytes or another library may read and write as well (numpy(), from_numpy, frombuffer, "
                        "DLPack), which LazyRT does not see: write into a clone() of the tensor", "unsupported")
        self._refuse_overlap(storage)
        if not base.is_contiguous():  # its views know the memory's own order
            base = base.detach().as_strided((storage.nbytes() // base.element_size(),), (1,), 0)
        self._lifted[address] = (base, self._lift(base.detach()))

    def current(self, tensor):
        """What the program has of a tensor by now: its lifted form where it was written with lazy values."""
        return self._current(tensor) if self._lifted else tensor

    def _current(self, tensor):
        """The lifted form of a CPU tensor whose storage was lifted; else the tensor."""
        if is_lazy(tensor) or tensor.layout != torch.strided or tensor.numel() == 0:
            return tensor
        storage = tensor.untyped_storage()
        known = self._lifted.get(storage.data_ptr())
        if known is None:
            self._refuse_overlap(storage)
            return tensor
        base, lifted = known
        if tensor.dtype != base.dtype:
            raise Error(f"the model has memory that it writes computed values into as {base.dtype} and as {tensor.dtype}: convert values, or write into a clone()",
                        "unsupported")
        same = tensor.shape == base.shape and tensor.stride() == base.stride()
        if same and tensor.storage_offset() == base.storage_offset():
            return lifted
        return lifted.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset() - base.storage_offset())

    def _refuse_overlap(self, storage):
        """A part of lifted memory that begins elsewhere is not known by its address."""
        begin, end = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
        for address, (base, _) in self._lifted.items():
            if begin < address + base.untyped_storage().nbytes() and address < end and begin != address:
                raise Error("the model writes computed values into memory of which it has a part as a tensor of its own (by NumPy or DLPack): make it a view, whole[4:]",
                            "unsupported")

    # ---------------------------------------------------------------- single functions

    def _make_handlers(self):
        return {
            _Tensor.device.__get__: lambda func, args, kwargs: self._device(args[0]),
            _Tensor.is_cpu.__get__: lambda func, args, kwargs: is_lazy(args[0]) or args[0].is_cpu,
            _Tensor.data.__get__: lambda func, args, kwargs: self._data(args[0]),
            _Tensor.data.__set__: self._set_data,
            _Tensor.type: self._type,
            **dict.fromkeys(_LAYOUT, self._layout),
            **dict.fromkeys(WINDOWS, self._windows),
            **dict.fromkeys(_ON_ONE_DEVICE, self._on_one_device),
            **dict.fromkeys(_DRAWS_OF_TENSORS, self._draw),
            _Tensor.__getitem__: self._getitem,
            _Tensor.__setitem__: self._setitem,
            **dict.fromkeys((_Tensor.is_shared, _Tensor.is_pinned), self._is_in_plain_memory),
            _Tensor._version.__get__: self._version,
            _Tensor.get_device: lambda func, args, kwargs: -1 if is_lazy(args[0]) else func(*args),
            _Tensor.to: self._to,
            _Tensor.cpu: self._cpu,
            _Tensor.numpy: self._numpy,
            _Tensor.__array__: self._array,
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
            **dict.fromkeys(_POWERS, self._power),
            torch.tensor: self._make_tensor,
            torch.as_tensor: self._make_tensor,
            **dict.fromkeys((torch.stft, torch.istft, _Tensor.stft, _Tensor.istft), self._all_lazy),
            **dict.fromkeys((torch.autograd.grad, _Tensor.backward), self._backward),
            **dict.fromkeys(sparse_products.PRODUCTS, self._product),
            **dict.fromkeys(sparse_products.SUMS, self._sum_of_product),
        }

    def _product(self, func, args, kwargs):
        """By a sparse matrix, where that is what stands first."""
        if len(args) == 2 and not kwargs and sparse_products.can_multiply(args[0], self.current(args[1])):
            return sparse_products.product(args[0], self.current(args[1]))
        return self._call(func, args, kwargs)

    def _sum_of_product(self, func, args, kwargs):
        if len(args) == 3 and sparse_products.can_multiply(args[1], self.current(args[2])) and kwargs.keys() <= {"alpha", "beta"}:
            scaled = sparse_products.product(args[1], self.current(args[2])) * kwargs.get("alpha", 1)
            return scaled if kwargs.get("beta", 1) == 0 else self.current(args[0]) * kwargs.get("beta", 1) + scaled
        return self._call(func, args, kwargs)

    def _backward(self, func, args, kwargs):
        """A program that catches the error, too, is captured again with autograd on."""
        self.takes_gradients = True
        try:
            return self._all_lazy(func, args, kwargs)
        except RuntimeError as error:
            if gradients.are_missing(error):
                self.missing_gradients = str(error)
            raise

    def _all_lazy(self, func, args, kwargs):
        """Functions that want all tensors on one device."""
        def lift(tensor):
            tensor = self.current(tensor)
            return tensor if is_lazy(tensor) else self._lift(tensor.detach().clone())

        def lifted(value):
            return _map(value, lift)

        if torch.is_grad_enabled():
            self._lift_variables(args, kwargs)
        if any(is_lazy(self.current(tensor)) for tensor in _tensors_in((*args, *kwargs.values()))):
            args, kwargs = tuple(map(lifted, args)), {name: lifted(value) for name, value in kwargs.items()}
        return self._call(func, args, kwargs)

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
        """t.data = value of a tensor that outlives the call: it lies in the value's memory then; nothing where that is its own (module.to(dtype))."""
        tensor, value = args
        if id(tensor) not in self._kept:
            return func(*args, **kwargs)
        is_own = id(value) in self._data_of and self._data_of[id(value)][1] is tensor
        if value is tensor or is_own and _tracer.memory_of(value) == _tracer.memory_of(tensor):
            return None
        if not is_lazy(value):
            self._remember(value)
            self.memory_taken.append((tensor, value))
        value = self.current(value)
        if value.shape != tensor.shape or value.dtype != tensor.dtype:
            raise Error("the model gives a tensor that it keeps another shape or dtype by .data = ...: replace the tensor itself", "unsupported")
        if _tracer.memory_of(value) in map(_tracer.memory_of, self._kept.values()):
            raise Error("the model makes two tensors that it keeps one by .data = ...: copy the values, a.data.copy_(b)", "unsupported")
        with torch.no_grad():
            tensor.set_(value.detach())
        return None

    def _getitem(self, func, args, kwargs):
        parts = indexing.parts_of(args[1]) if self._numbers.selects else None
        if parts is None:
            bounded = indexing.bounded_parts(args[1]) if self.any_size and is_lazy(self.current(args[0])) else None
            return self._call(func, args, kwargs) if bounded is None else self._call(indexing.sliced, (args[0], bounded), {})
        if not is_lazy(self.current(args[0])):
            self._remember(args[0])
        self._pass_by(func)
        base = self.current(args[0])
        result = indexing.select(base, parts)
        self._numbers.selections.add(base, parts, result)
        return result

    def _pass_by(self, func):
        """Eager is not asked about this call."""
        if self._is_of_program:
            self._copies.pass_by(func, self._frame)
        self._shares = False

    def _ask(self, func, own):
        return self._copies.ask(func, self._frame, own) if self._is_of_program else own

    def scripted(self, script, args, kwargs, call, frame):
        """The result of a call of TorchScript code."""
        result = call()
        with torch._C.DisableTorchFunction():
            if any(map(is_lazy, tensors_in((*args, *kwargs.values())))):
                return self._copies.scripted(script, args, kwargs, result, frame, self.current)
            self._copies.pass_by(script, frame)
            return result

    def _setitem(self, func, args, kwargs):
        tensor, index, value = args
        parts = indexing.parts_of(index) if self._numbers.selects else None
        if parts is None or not indexing.can_write(parts):
            return self._call(func, args, kwargs)
        if not is_lazy(self.current(tensor)):
            self._remember(tensor)
        self._pass_by(func)
        base = self.current(tensor)
        check_fits(value, base.dtype, HALVES)
        written = value._tensor.to(base.dtype) if isinstance(value, Carrier) else torch.as_tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
        self._numbers.selections.put_back(base, parts, value, self._count)
        indexing.write(base, parts, self.current(written))
        return None

    def _layout(self, func, args, kwargs):
        tensor, wanted = args[0], kwargs.get("memory_format", torch.contiguous_format)
        if not is_lazy(tensor):
            if func in _ANSWERED:
                self._pass_by(func)
            return func(*args, **kwargs)
        if func is _Tensor.is_contiguous and wanted is not torch.contiguous_format:
            answer = torch.empty_strided(tensor.shape, tensor.stride(), device="meta").is_contiguous(memory_format=wanted)
        else:
            answer = func(*args, **kwargs)
        return self._ask(func, answer) if func in _ANSWERED else answer

    def _windows(self, func, args, kwargs):
        """as_strided speaks of memory: eager's, where the tensor lies in another order."""
        given = dict(zip(("input", "size", "stride", "storage_offset"), args), **kwargs)
        tensor = self.current(given["input"] if "input" in given else given["self"])
        if not is_lazy(tensor):
            self._pass_by(func)
            return func(*args, **kwargs)
        own = place_in_memory(tensor)
        strides, offset = self._ask(func, own)
        if (strides, offset) == own:
            return self._call(func, args, kwargs)
        order = order_in_memory(tensor.shape, strides)
        if order is None:
            raise Error("the model takes windows by as_strided of a tensor that has gaps in memory: take them of its contiguous()", "unsupported")
        start = given.get("storage_offset")
        if start is not None and start < offset:
            raise Error("the model takes windows by as_strided that begin before the tensor, in the memory of which it is a part: take them of the whole", "unsupported")
        return tensor.permute(order).as_strided(given["size"], given["stride"], 0 if start is None else start - offset)

    def _is_in_plain_memory(self, func, args, kwargs):
        return not is_lazy(self.current(args[0])) and self._call(func, args, kwargs)

    @staticmethod
    def _version(func, args, kwargs):
        if not statements.is_of_torch(sys._getframe(2)):
            raise Error("the model asks how often a tensor was written (_version), which a bundle does not count", "unsupported")
        return func(*args, **kwargs)

    def _type(self, func, args, kwargs):
        """The name of its type, or a cast to what such a name says."""
        tensor, wanted = args[0], (*args[1:], *kwargs.values())
        if not is_lazy(tensor):
            return func(*args, **kwargs)
        if not wanted or wanted[0] is None:
            return torch.empty(0, dtype=tensor.dtype).type()
        dtype = wanted[0] if isinstance(wanted[0], torch.dtype) else torch.empty(0).type(wanted[0]).dtype
        return tensor.to(dtype)

    def _device(self, tensor):
        """The CPU, but for a checkpoint: it notes devices in the call, where no mode is active, and compares them in the backward pass."""
        by_checkpoint = self._frame.f_code is torch.utils.checkpoint._default_meta_extractor.__code__
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

    def _fetch(self, tensor, is_text=False):
        """The value on the real CPU: a sync, unless it is for people to look at."""
        tensor = self.current(tensor)
        if not is_lazy(tensor):
            return tensor.detach()
        if is_text and self._numbers.audience.listens():
            return _tracer.peek(tensor.detach())
        return tensor.detach().to("cpu")

    def _numpy(self, func, args, kwargs):
        if not is_lazy(args[0]):
            self._pass_by(func)
            return func(*args, **kwargs)
        if args[0].dtype not in NUMPY_DTYPES:
            self._pass_by(func)
            return self._fetch(args[0]).numpy()
        self._pass_by(func)
        return LazyArray(args[0].detach())

    def _array(self, func, args, kwargs):
        tensor, *rest = args
        return func(self._fetch(tensor), *rest, **kwargs) if is_lazy(tensor) else func(*args, **kwargs)

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
        """A guard on the truth, not on the number."""
        tensor = args[0]
        if is_lazy(tensor) and tensor.dtype != torch.bool and tensor.numel() == 1:
            tensor = tensor != 0
        if is_lazy(tensor) and tensor.numel() == 1 and self._numbers.audience.is_asked():
            return bool(_tracer.peek(tensor.detach()).item())
        return func(tensor)

    def _int(self, func, args, kwargs):
        """A guard on the integer, not on the fraction."""
        tensor = self.current(args[0])
        if not is_lazy(tensor) or func is not _Tensor.__int__:
            return func(tensor)
        if tensor.is_floating_point() and tensor.numel() == 1:
            return int(carrier_of(tensor))
        return func(self._fetch(tensor, is_text=True) if self._numbers.audience.listens() else tensor)

    def _float(self, func, args, kwargs):
        tensor = self.current(args[0])
        if is_lazy(tensor) and self._numbers.audience.listens():
            tensor = self._fetch(tensor, is_text=True)
        return func(tensor)

    def _item(self, func, args, kwargs):
        tensor = self.current(args[0])
        if not is_lazy(tensor) or tensor.numel() != 1 or not self._follows(tensor):
            listened = is_lazy(tensor) and self._numbers.audience.listens()
            return func(self._fetch(tensor, is_text=True) if listened else tensor)
        self._numbers.used = True
        return carrier_of(tensor)

    def _full(self, func, args, kwargs):
        """torch.full(size, a lazy number): the number as a tensor, expanded."""
        arguments = dict(zip(("size", "fill_value"), args), **kwargs)
        value = arguments.get("fill_value")
        if not is_lazy(value):
            return self._call(func, args, kwargs)
        out = arguments.get("out")
        dtype = out.dtype if out is not None else arguments.get("dtype") or self._type_of_number(value)
        check_all_fit(value.reshape(()), dtype)
        filled = value.reshape(()).expand(arguments["size"])
        if out is None:
            return filled.clone().to(dtype)
        if out.shape != filled.shape:
            raise Error(f"torch.full(out=) gives the tensor another shape, {list(filled.shape)} in place of {list(out.shape)}: use what it returns, without out", "unsupported")
        return self._call(_Tensor.copy_, (out, filled.to(dtype)), {})

    @staticmethod
    def _type_of_number(tensor):
        """Of a tensor that torch makes of the number in this one."""
        if tensor.is_floating_point():
            return torch.get_default_dtype()
        return tensor.dtype if tensor.is_complex() or tensor.dtype is torch.bool else torch.int64

    def _power(self, func, args, kwargs):
        """Tensor.pow takes a root where its exponent, a number, says so, but of float16: of -0 and -inf that is something else."""
        base, exponent = (*args, *kwargs.values())[:2]
        if isinstance(exponent, Carrier) and isinstance(base, _Tensor) and base.is_complex():  # of which 0, 1, 2 and others are powers of their own
            given = [exponent._plain() if value is exponent else value for value in (*args, *kwargs.values())]
            return self._call(func, given[:len(args)], dict(zip(kwargs, given[len(args):])))
        if not isinstance(exponent, LazyFloat) or not isinstance(base, _Tensor) or not base.is_floating_point():
            return self._call(func, args, kwargs)
        if base.dtype is torch.float16 and func not in _DOUBLE_POWERS:
            return self._call(func, args, kwargs)
        given = self.current(base)
        given = given.clone() if is_lazy(given) else self._lift(given.detach().clone())
        is_root, is_inverse = exponent._tensor == 0.5, exponent._tensor == -0.5
        if func in _POWERS_IN_PLACE or not torch.is_grad_enabled():
            power = self._call(func, args, kwargs)
            given = given.to(torch.float64) if func in _DOUBLE_POWERS else given
            made = torch.where(is_root, given.sqrt(), torch.where(is_inverse, given.rsqrt(), power))
            target = base if func in _POWERS_IN_PLACE else kwargs.get("out")
            return made if target is None else self.current(target).copy_(made)
        one = torch.ones_like(given)  # each of the three gets it where another is chosen: a slope of infinity times 0 is none
        power = self._call(func, (torch.where(is_root | is_inverse, one, given), exponent), {})
        root, inverse = torch.where(is_root, given, one), torch.where(is_inverse, given, one)
        root, inverse = (value.to(torch.float64) if func in _DOUBLE_POWERS else value for value in (root, inverse))
        return torch.where(is_root, root.sqrt(), torch.where(is_inverse, inverse.rsqrt(), power))

    def _text(self, func, args, kwargs):
        return func(self._fetch(args[0], is_text=True), *args[1:], **kwargs)

    def _make_tensor(self, func, args, kwargs):
        """torch.tensor([a, b]) of lazy a, b is a stack of them; their numbers do not leave the graph."""
        data = args[0] if args else kwargs.get("data")
        if type(data) is LazyArray:
            data = data.tensor.clone() if func is torch.tensor else data.tensor
            dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
            return data if dtype is None else data.to(dtype)
        if isinstance(data, _Tensor) or not any(is_lazy(t) for t in _tensors_in([data])):
            return self._call(func, args, kwargs)
        dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
        stacked, inferred = self._stack(data)
        check_all_fit(stacked, dtype or inferred, FLOATS)
        return stacked.to(dtype or inferred)

    def _stack(self, data):
        """(nested data as one lazy tensor, as wide as Python's numbers are; the type that torch infers for it)"""
        if isinstance(data, Carrier):
            return data._tensor.clone(), {LazyInt: torch.int64, LazyFloat: torch.get_default_dtype()}[type(data)]
        if isinstance(data, _Tensor):
            made = data if is_lazy(data) else self._lift(data.detach())
            return made, made.dtype
        if isinstance(data, (list, tuple)):
            items = [self._stack(item) for item in data]
            wide, inferred = (functools.reduce(torch.promote_types, kinds) for kinds in zip(*((item.dtype, kind) for item, kind in items)))
            return torch.stack([item.to(wide) for item, _ in items]), inferred
        inferred = torch.tensor(data).dtype
        return self._lift(torch.tensor(data, dtype=torch.float64 if inferred.is_floating_point else None)), inferred
