"""lazyrt.load: bundles run on numpy arrays or torch tensors."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Tuple

from lazyrt import _runtime
from lazyrt.bundles import contract, trees
from lazyrt.errors import InputError

_NUMPY_NAMES = {"f32": "float32", "f64": "float64", "f16": "float16", "i8": "int8", "u8": "uint8", "i16": "int16",
                "i32": "int32", "i64": "int64", "bool": "bool", "bf16": "uint16"}
_PHASE = "lazyrt.phase"  # the hidden state
_Limits = Tuple[int, int, int, bool]  # of memory, of work, of a node's work; whether constants are verified
_Settings = Tuple[str, str, int, int, int, bool, Sequence[str]]  # of a session: from the method on


def load(source: str | os.PathLike[str] | bytes | bytearray | memoryview, backend: str = "cpu", threads: int = 1, *,
         method: str = "forward", memory_limit: int = 0, work_limit: int = 0, node_work_limit: int = 0, deadline: float = 0,
         check_data: bool = False, profile: bool = False, taps: str | Sequence[str] = ()) -> Program:
    """Loads a bundle. Returns a Program to call.

    source           path of the bundle, or its bytes
    backend          "cpu", "reference", "vulkan" (the CPU runs the nodes that the GPU does not support), "vulkan:1" for another device than the fastest, or
                     "auto": vulkan if there is a device, else cpu
    threads          1 to 256, the caller's included
    memory_limit     most bytes that it may allocate, packed weights and tapped values included; the file itself does not count; its texts as
                     Python strings have the same limit for themselves. 0: 4 GiB, plus the packed weights
    work_limit       most steps (about one multiply-add each) that a run may take. 0: 2^43
    node_work_limit  most steps of one node. 0: 2^40
    deadline         seconds after which a run ends before its next node, with LimitError. 0: none
    check_data       verifies the checksum of the constants as well (reads the whole file)
    profile          measures each node: Program.profile()
    taps             values of nodes, to be read with Program.taps() after a call: names ("features.0/conv2d"), numbers of nodes, "%12" (a
                     value's id), a module's path for all that is made in it, or "*". `lazy-export inspect --nodes` shows them

    LimitError: the bundle asks for more than these allow. A bundle of unknown origin is safe to load and run with the defaults,
    but may take as much as they say (runtime/SECURITY.md)."""
    limits = memory_limit, work_limit, node_work_limit, check_data
    settings = method, backend, threads, memory_limit, _nanoseconds(deadline), profile, [taps] if isinstance(taps, str) else list(taps)
    return _open(source if isinstance(source, (bytes, bytearray, memoryview)) else os.fsdecode(source), limits, settings)


def _open(source: Any, limits: _Limits, settings: _Settings) -> Program:
    """`source`: a path, or a bundle's bytes."""
    is_path = isinstance(source, str)
    if is_path and not os.path.exists(source):
        raise FileNotFoundError(f"there is no bundle {source}")
    opened = (_runtime.Program.open if is_path else _runtime.Program.load)(source, *limits)
    return Program(opened, *settings, origin=(os.path.abspath(source) if is_path else None, limits))


def _reopen(source: Any, limits: _Limits, settings: _Settings, info: dict[str, str], states: list[Any]) -> Program:
    """What was pickled."""
    program = _open(source, limits, settings)
    if program.info != info:
        raise InputError(f"{source} has changed since the program was pickled")
    program._set_states(states)
    return program


def _nanoseconds(seconds: float) -> int:
    if not 0 <= seconds < 1e9:
        raise InputError(f"a deadline of {seconds} seconds: it must be 0 (none) or more, and below 1e9")
    return round(seconds * 1e9) or int(seconds > 0)


class TensorInfo:
    """name, dtype ("f32", "i64", ...) and shape of an input, output or state; `shapes` are those of all variants. Where extents vary, `symbols` has
    for each dim what it is of Program.symbols ("n", "2*n + 1") or None, and the shape is that of the export."""

    def __init__(self, name: str, dtype: str, shape: tuple[int, ...], shapes: list[tuple[int, ...]] | None = None,
                 symbols: tuple[str | None, ...] = ()) -> None:
        self.name, self.dtype, self.shape = name, dtype, shape
        self.shapes = shapes or [shape]
        self.symbols = symbols

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether an input may have this shape, as far as one input alone shows; bounds of symbols are not checked."""
        if not any(self.symbols):
            return shape in self.shapes
        return len(shape) == len(self.shape) and all(symbol or size == mine for symbol, size, mine in zip(self.symbols, shape, self.shape))

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype}{self.shapes_text()}"

    def shapes_text(self) -> str:
        """The shapes as people read them: "[2, 3] or [4, 3]", "[batch, 3]"."""
        if any(self.symbols):
            return "[" + ", ".join(symbol or str(size) for symbol, size in zip(self.symbols, self.shape)) + "]"
        return " or ".join(str(list(shape)) for shape in self.shapes)


def _join_variants(variants: Sequence[list[dict[str, Any]]]) -> list[TensorInfo]:
    """Joins the infos of all variants into one TensorInfo for each input or output."""
    return [TensorInfo(same[0]["name"], same[0]["dtype"], same[0]["shape"], list(dict.fromkeys(v["shape"] for v in same)),
                       same[0].get("symbols", ())) for same in zip(*variants)]


class Program:
    """A loaded bundle. Call it with arrays as the model was called at export: positionally, by keyword, nested. Results come
    nested as the model's were: numpy arrays, or torch tensors if an input was one; if the model takes no tensors and torch is
    imported, as the model returned them. Threads may share it; they take turns. copy.deepcopy makes one with states of its own, which begin with the values
    of these; pickle saves the states and the bundle's path, or its bytes if it was loaded from bytes."""

    def __init__(self, program: _runtime.Program, method: str, backend: str, threads: int, memory_limit: int, deadline_nanoseconds: int,
                 profile: bool, taps: Sequence[str] = (), origin: tuple[str | None, _Limits] = (None, (0, 0, 0, False))) -> None:
        """`origin`: the path of the bundle, and what load() was given to verify it with."""
        self.info: dict[str, str] = {}
        for key, value in program.info():
            self.info.setdefault(key, value)
        self._program = program
        self._settings = method, backend, threads, memory_limit, deadline_nanoseconds, profile, list(taps)
        self._origin = origin
        self._session = _runtime.Session(program, *self._settings)
        self._tapped = bool(taps)
        self._lock = threading.Lock()
        self._profiled = profile
        self.variants = self._session.variant_count()
        self.inputs = _join_variants([self._session.inputs(v) for v in range(self.variants)])
        outputs = [self._session.outputs(v) for v in range(self.variants)]
        self._results = [[TensorInfo(**item) for item in variant] for variant in outputs]
        self.outputs = _join_variants(outputs)
        #: {name: (least, most, multiple)} of the extents that vary
        self.symbols = {name: (least, most, multiple) for name, least, most, multiple in self._session.symbols()}
        states = [TensorInfo(**item) for item in self._session.states()]
        self._all_states = states
        self._state_numbers = {info.name: i for i, info in enumerate(states)}
        self.states = [info for info in states if info.name != _PHASE]
        self._literals = [self._session.literals(v) for v in range(self.variants)]
        self._interface = self._read_interface()
        described = trees.tensors_of(self._interface["result"]) if self._interface else ()
        self._numpy_results = {tensor["name"] for tensor in described if tensor.get("numpy")}
        parameters = self._interface["parameters"] if self._interface else []
        self._takes_tensors = not self._interface or any(not tensor.get("numpy") for p in parameters for tensor in trees.tensors_of(p["item"]))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program. InputError: the arguments are not as they were at export; GuardError: they break a guard of every variant."""
        if self._interface is None:
            results, _ = self._run(self._flat_arguments(args, kwargs))
            values = list(results.values())
            return values[0] if len(values) == 1 else tuple(values)
        results, variant = self._run(self._arguments(args, kwargs))
        literals = self._literals[variant]
        described = self._interface["result"]
        if "results" in self._interface:
            described = self._interface["results"][literals["lazyrt.result"]]
        return trees.build(described, {**literals, **results})

    def run(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """Runs on arrays by input name. Returns arrays by output name, not nested."""
        return self._run(arrays)[0]

    def _run(self, arrays: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
        """(results by name, the variant that ran)"""
        _refuse_autocast()
        self._check_names(arrays)
        import numpy

        given = {info.name: _to_numpy(numpy, info, arrays[info.name]) for info in self.inputs}
        buffers = [numpy.asarray(array, order="C") for array in given.values()]
        with self._lock:
            variant = self._session.run([(buffer, list(buffer.shape)) for buffer in buffers])
            shapes = self._session.output_shapes() if self.symbols else [info.shape for info in self._results[variant]]
            outputs = [_empty(numpy, info, shape) for info, shape in zip(self._results[variant], shapes)]
            self._session.copy_outputs(outputs)
        as_torch = any(_is_torch(array) for array in arrays.values()) or not self._takes_tensors and "torch" in sys.modules
        finished = {}
        for info, array in zip(self.outputs, outputs):
            finish = _to_torch if as_torch and info.name not in self._numpy_results else _finish_numpy
            finished[info.name] = finish(info, array)
        return finished, variant

    def cancel(self) -> None:
        """Ends a running call of another thread before its next node: that call raises CancelledError. Does nothing if there is none."""
        self._session.cancel()

    def state(self, name: str) -> Any:
        """The value of a state (a buffer that the model writes, or another place where it keeps a tensor), as a numpy array."""
        import numpy

        for info in self.states:
            if info.name == name:
                array = _empty(numpy, info)
                with self._lock:
                    self._session.copy_state(self._state_numbers[name], array)
                return _finish_numpy(info, array)
        names = ", ".join(info.name for info in self.states)
        raise InputError(f"there is no state '{name}'; there are {names or 'none'}", "not found")

    @property
    def phase(self) -> int:
        """Which of the program's phases the next call is in: 0 before the first one; always 0 where calls do not change what
        later ones do."""
        import numpy

        if _PHASE not in self._state_numbers:
            return 0
        number: Any = numpy.empty((), "int64")
        with self._lock:
            self._session.copy_state(self._state_numbers[_PHASE], number)
        return int(number)

    def reset(self) -> None:
        """Gives every state the content that it had at export."""
        with self._lock:
            self._session.reset_state()

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        made = Program(self._program, *self._settings, origin=self._origin)
        made._set_states(self._get_states())
        return made

    def __copy__(self) -> Program:
        return self.__deepcopy__({})

    def __reduce__(self) -> tuple[Any, ...]:
        path, limits = self._origin
        return _reopen, (self._program.data() if path is None else path, limits, self._settings, self.info, self._get_states())

    def _get_states(self) -> list[Any]:
        """The values of all states, hidden ones included."""
        if not self._all_states:
            return []
        import numpy

        arrays = [_empty(numpy, info) for info in self._all_states]
        with self._lock:
            for i, array in enumerate(arrays):
                self._session.copy_state(i, array)
        return arrays

    def _set_states(self, arrays: Sequence[Any]) -> None:
        for i, array in enumerate(arrays):
            self._session.set_state(i, array)

    @property
    def verdict(self) -> str | None:
        """"SOUND", "SPECIALIZED" or "ALLOWED", as the exporter noted it; None: a bundle that does not say."""
        return self.info.get("lazyrt.verdict")

    @property
    def guards(self) -> list[list[dict[str, Any]]]:
        """For each variant the guards on its inputs: {"text", "file", "line", "seen"} each."""
        return [self._session.guards(v) for v in range(self.variants)]

    @property
    def stats(self) -> dict[str, Any]:
        """{"arena_bytes", "workspace_bytes", "packed_weight_bytes", "state_bytes", "plan_bytes", "device_bytes", "total_bytes", "copies",
        "guard_refusals"}; plan_bytes is what runs keep of the bundle's metadata, total_bytes all that counts against memory_limit; copies
        lists the values that a run copies between the host's memory and devices' ({"copy", "backend", "value", "bytes", "variant"}; none
        on the host's backends), guard_refusals the guards that
        turned a run away from their variant, the most frequent first: {"text", "file", "line", "seen", "variant", "count"}."""
        with self._lock:
            return self._session.stats()

    def nodes(self) -> list[dict[str, Any]]:
        """How each node is run: op, backend, fallback_reason, module, file, line."""
        with self._lock:
            return self._session.nodes()

    def taps(self) -> dict[str, Any]:
        """The tapped values of the last call by name, as numpy arrays, in the order in which they were computed."""
        if not self._tapped:
            raise InputError("load the bundle with taps=[...] to see values that nodes make", "failed precondition")
        import numpy

        with self._lock:
            values = self._session.taps()
        arrays = {}
        for name, dtype, shape, data in values:
            array = numpy.frombuffer(data, _NUMPY_NAMES[dtype]).reshape(shape)
            arrays[name] = _finish_numpy(TensorInfo(name, dtype, shape), array)
        return arrays

    def profile(self) -> list[dict[str, Any]]:
        """The nodes with their times, the slowest first: "microseconds" of a run, averaged."""
        if not self._profiled:
            raise InputError("load the bundle with profile=True to measure its nodes", "failed precondition")
        nodes = [dict(node, microseconds=node["nanoseconds"] / max(node["runs"], 1) / 1e3) for node in self.nodes()]
        return sorted(nodes, key=lambda node: -node["microseconds"])

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(repr, side)) for side in (self.inputs, self.outputs))
        return f"<lazyrt.Program ({inputs}) -> ({outputs})>"

    # ---------------------------------------------------------------- arguments

    def _read_interface(self) -> dict[str, Any] | None:
        """The interface that the exporter wrote; None if there is none or it does not fit the bundle."""
        try:
            interface = contract.upgrade(json.loads(self.info.get("lazyrt.interface", "null")))
            ours = [name for parameter in interface["parameters"] for name in trees.tensor_names(parameter["item"])]
            theirs = set(trees.tensor_names(interface["result"]))
        except (TypeError, KeyError, ValueError, RecursionError, AttributeError):
            return None
        known = {info.name for info in self.inputs}, {info.name for info in self.outputs}
        return interface if set(ours) == known[0] and theirs <= known[1] else None

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        assert self._interface is not None
        parameters = self._interface["parameters"]
        return contract.match(parameters, contract.bind(parameters, args, kwargs))

    def _flat_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        names = [info.name for info in self.inputs]
        if len(args) > len(names):
            raise InputError(f"{len(args)} arrays given, the bundle has {len(names)} inputs: {', '.join(names)}")
        return {**dict(zip(names, args)), **kwargs}

    def _check_names(self, arrays: Mapping[str, Any]) -> None:
        names = [info.name for info in self.inputs]
        missing = [name for name in names if name not in arrays]
        unknown = [name for name in arrays if name not in names]
        if missing or unknown:
            text = "; ".join([f"no array for input '{name}'" for name in missing] +
                             [f"there is no input '{name}'" for name in unknown])
            raise InputError(f"{text}; the bundle's inputs are {', '.join(map(repr, self.inputs))}")


def _empty(numpy: Any, info: TensorInfo, shape: tuple[int, ...] | None = None) -> Any:
    return numpy.empty(info.shape if shape is None else shape, _NUMPY_NAMES[info.dtype])


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _to_numpy(numpy: Any, info: TensorInfo, value: Any) -> Any:
    """Converts a value to an array of the input's dtype and shape; raises InputError if it has others."""
    if _is_torch(value):
        array = _torch_to_numpy(info, value)
        name = str(value.dtype).removeprefix("torch.")
    else:
        array = numpy.asarray(value)
        if not array.dtype.isnative:
            raise InputError(f"input '{info.name}' has the byte order of another machine: give array.astype(array.dtype.newbyteorder('='))")
        name = array.dtype.name
    fits = name == _NUMPY_NAMES[info.dtype] or (info.dtype == "bf16" and name == "bfloat16")
    if not fits:
        raise InputError(f"input '{info.name}' is {name}, the bundle needs {_long_name(info)}")
    if not info.takes(tuple(array.shape)):
        raise InputError(f"input '{info.name}' has shape {list(array.shape)}, the bundle needs {info.shapes_text()}")
    return array.view(numpy.uint16) if name == "bfloat16" else array


def _torch_to_numpy(info: TensorInfo, tensor: Any) -> Any:
    torch = sys.modules["torch"]
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
        kind = "nested" if tensor.is_nested else "quantized" if tensor.is_quantized else tensor.layout
        raise InputError(f"input '{info.name}' is not dense ({kind}): give x.to_dense()")
    try:
        tensor = tensor.detach().cpu().resolve_neg()
        if tensor._is_zerotensor():
            tensor = tensor.clone()
        return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
    except (RuntimeError, TypeError) as error:  # on the device meta; of torch.func, which would look into the bundle
        raise InputError(f"input '{info.name}' has no values of its own that a bundle could read ({_first_line(error)}): bundles take tensors with values, "
                         "and torch.func cannot look into them") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _long_name(info: TensorInfo) -> str:
    return "bfloat16" if info.dtype == "bf16" else _NUMPY_NAMES[info.dtype]


def _finish_numpy(info: TensorInfo, array: Any) -> Any:
    """bfloat16 is widened to float32: numpy has no such type."""
    if info.dtype != "bf16":
        return array
    import numpy

    return (array.astype(numpy.uint32) << 16).view(numpy.float32)


def _refuse_autocast() -> None:
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "is_autocast_enabled") and torch.is_autocast_enabled("cpu"):  # or it is being imported
        raise InputError("torch.autocast is on: the program would compute in another precision under it, but the bundle does not. Call it under "
                         "torch.autocast('cpu', enabled=False)")


def _to_torch(info: TensorInfo, array: Any) -> Any:
    torch = sys.modules["torch"]
    if info.dtype == "bf16":
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)
