"""lazyrt.load: bundles run on numpy arrays or torch tensors."""

import json
import os
import sys
import threading

from lazyrt import _runtime, trees
from lazyrt.errors import InputError

_NUMPY_NAMES = {"f32": "float32", "f64": "float64", "f16": "float16", "i8": "int8", "u8": "uint8", "i16": "int16",
                "i32": "int32", "i64": "int64", "bool": "bool", "bf16": "uint16"}


def load(source, backend="cpu", threads=1, *, method="forward", memory_limit=0, check_data=False, profile=False):
    """A bundle made ready to run, as a Program to call.

    source        path of the bundle, or its bytes
    backend       "cpu" or "reference"
    threads       1 to 256, the caller's included
    memory_limit  most bytes for arena and workspace; 0: 4 GiB
    check_data    verifies the checksum of the constants as well (reads the whole file)
    profile       measures each node: Program.profile()"""
    if isinstance(source, (bytes, bytearray, memoryview)):
        program = _runtime.Program.load(source, memory_limit, check_data)
    else:
        path = os.fspath(source)
        if not os.path.exists(path):
            raise FileNotFoundError(f"there is no bundle {path}")
        program = _runtime.Program.open(path, memory_limit, check_data)
    return Program(program, method, backend, threads, memory_limit, profile)


class TensorInfo:
    """name, dtype ("f32", "i64", ...) and shape of an input, output or state; `shapes` are those of all variants."""

    def __init__(self, name, dtype, shape, shapes=None):
        self.name, self.dtype, self.shape = name, dtype, shape
        self.shapes = shapes or [shape]

    def __repr__(self):
        return f"{self.name}: {self.dtype}{self.shapes_text()}"

    def shapes_text(self):
        return " or ".join(str(list(shape)) for shape in self.shapes)


def _join_variants(variants):
    """One TensorInfo for each input or output from those of the variants."""
    return [TensorInfo(same[0]["name"], same[0]["dtype"], same[0]["shape"], list(dict.fromkeys(v["shape"] for v in same)))
            for same in zip(*variants)]


class Program:
    """A loaded bundle. Call it with arrays as the model was called at export: positionally, by keyword, nested. Results come
    nested as the model's were, as numpy arrays, or as torch tensors where an input was one. Threads may share it; they take
    turns."""

    def __init__(self, program, method, backend, threads, memory_limit, profile):
        self.info = {}
        for key, value in program.info():
            self.info.setdefault(key, value)
        self._session = _runtime.Session(program, method, backend, threads, memory_limit, profile)
        self._lock = threading.Lock()
        self._profiled = profile
        self.variants = self._session.variant_count()
        self.inputs = _join_variants([self._session.inputs(v) for v in range(self.variants)])
        self._results = [[TensorInfo(**item) for item in self._session.outputs(v)] for v in range(self.variants)]
        self.outputs = _join_variants([self._session.outputs(v) for v in range(self.variants)])
        self.guards = [self._session.guards(v) for v in range(self.variants)]
        self.states = [TensorInfo(**item) for item in self._session.states()]
        self._literals = [self._session.literals(v) for v in range(self.variants)]
        self._interface = self._read_interface()

    def __call__(self, *args, **kwargs):
        results, variant = self._run(self._arguments(args, kwargs))
        if self._interface is None:
            values = list(results.values())
            return values[0] if len(values) == 1 else tuple(values)
        return trees.build(self._interface["result"], {**self._literals[variant], **results})

    def run(self, arrays):
        """Arrays by input name in, by output name out. No nesting."""
        return self._run(arrays)[0]

    def _run(self, arrays):
        """(results by name, the variant that ran)"""
        self._check_names(arrays)
        import numpy

        buffers = [_to_numpy(numpy, info, arrays[info.name]) for info in self.inputs]
        with self._lock:
            variant = self._session.run([(buffer, list(buffer.shape)) for buffer in buffers])
            outputs = [_empty(numpy, info) for info in self._results[variant]]
            self._session.copy_outputs(outputs)
        as_torch = any(_is_torch(array) for array in arrays.values())
        finish = _to_torch if as_torch else _finish_numpy
        return {info.name: finish(info, array) for info, array in zip(self.outputs, outputs)}, variant

    def state(self, name):
        """What a state (a buffer that the model writes) holds now, as a numpy array."""
        import numpy

        names = [info.name for info in self.states]
        if name not in names:
            raise InputError(f"there is no state '{name}'; there are {', '.join(names) or 'none'}", "not found")
        index = names.index(name)
        array = _empty(numpy, self.states[index])
        with self._lock:
            self._session.copy_state(index, array)
        return _finish_numpy(self.states[index], array)

    def reset(self):
        """Gives every state the content that it had at export."""
        with self._lock:
            self._session.reset_state()

    @property
    def stats(self):
        """{"arena_bytes", "workspace_bytes", "packed_weight_bytes", "state_bytes"}"""
        return self._session.stats()

    def nodes(self):
        """How each node is run: op, backend, fallback_reason, module, file, line."""
        return self._session.nodes()

    def profile(self):
        """The nodes with their times, the slowest first: "microseconds" of a run, averaged."""
        if not self._profiled:
            raise InputError("load the bundle with profile=True to measure its nodes", "failed precondition")
        nodes = [dict(node, microseconds=node["nanoseconds"] / max(node["runs"], 1) / 1e3) for node in self.nodes()]
        return sorted(nodes, key=lambda node: -node["microseconds"])

    def __repr__(self):
        inputs, outputs = (", ".join(map(repr, side)) for side in (self.inputs, self.outputs))
        return f"<lazyrt.Program ({inputs}) -> ({outputs})>"

    # ---------------------------------------------------------------- arguments

    def _read_interface(self):
        """The nesting that the exporter noted; None where it did not or where it does not fit the bundle."""
        try:
            interface = json.loads(self.info.get("lazyrt.interface", "null"))
            ours = [name for _, item in interface["arguments"] for name in trees.tensor_names(item)]
            theirs = set(trees.tensor_names(interface["result"]))
        except (TypeError, KeyError, ValueError, RecursionError):
            return None
        known = {info.name for info in self.inputs}, {info.name for info in self.outputs}
        return interface if set(ours) == known[0] and theirs <= known[1] else None

    def _arguments(self, args, kwargs):
        if self._interface is None:
            return self._flat_arguments(args, kwargs)
        arguments = self._interface["arguments"]
        positional = [name for name, _ in arguments]
        if len(args) > len(positional):
            return self._flat_arguments(args, kwargs)
        given = dict(zip(positional, args))
        for name, value in kwargs.items():
            if name in given:
                raise InputError(f"argument '{name}' is given twice", "invalid argument")
            given[name] = value
        return self._match(arguments, given)

    def _match(self, arguments, given):
        found = {}
        described = dict((name, item) for name, item in arguments)
        names = {info.name for info in self.inputs}
        for name, value in given.items():
            if name in described:
                try:
                    trees.collect(described[name], value, found, name)
                except ValueError as error:
                    raise InputError(str(error), "invalid argument") from None
            elif name in names:  # "past.0.key"
                found[name] = value
            else:
                raise InputError(f"there is no argument '{name}'; there are {', '.join(described)}", "invalid argument")
        return found

    def _flat_arguments(self, args, kwargs):
        names = [info.name for info in self.inputs]
        if len(args) > len(names):
            raise InputError(f"{len(args)} arrays given, the bundle has {len(names)} inputs: {', '.join(names)}",
                             "invalid argument")
        return {**dict(zip(names, args)), **kwargs}

    def _check_names(self, arrays):
        names = [info.name for info in self.inputs]
        missing = [name for name in names if name not in arrays]
        unknown = [name for name in arrays if name not in names]
        if missing or unknown:
            text = "; ".join([f"no array for input '{name}'" for name in missing] +
                             [f"there is no input '{name}'" for name in unknown])
            raise InputError(f"{text}; the bundle's inputs are {', '.join(map(repr, self.inputs))}", "invalid argument")


def _empty(numpy, info):
    return numpy.empty(info.shape, _NUMPY_NAMES[info.dtype])


def _is_torch(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _to_numpy(numpy, info, value):
    """The array as C-contiguous bytes of the input's dtype and shape; InputError where it is another."""
    if isinstance(value, (bool, int, float)):
        value = numpy.asarray(value, _NUMPY_NAMES[info.dtype])
    if _is_torch(value):
        array = _torch_to_numpy(value)
        name = str(value.dtype).removeprefix("torch.")
    else:
        array = numpy.asarray(value)
        name = array.dtype.name
    fits = name == _NUMPY_NAMES[info.dtype] or (info.dtype == "bf16" and name == "bfloat16")
    if not fits:
        raise InputError(f"input '{info.name}' is {name}, the bundle needs {_long_name(info)}", "invalid argument")
    if tuple(array.shape) not in info.shapes:
        raise InputError(f"input '{info.name}' has shape {list(array.shape)}, the bundle needs {info.shapes_text()}",
                         "invalid argument")
    array = numpy.asarray(array, order="C")
    return array.view(numpy.uint16) if name == "bfloat16" else array


def _torch_to_numpy(tensor):
    torch = sys.modules["torch"]
    tensor = tensor.detach().cpu().contiguous()
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def _long_name(info):
    return "bfloat16" if info.dtype == "bf16" else _NUMPY_NAMES[info.dtype]


def _finish_numpy(info, array):
    """bfloat16 is widened to float32: numpy has no such type."""
    if info.dtype != "bf16":
        return array
    import numpy

    return (array.astype(numpy.uint32) << 16).view(numpy.float32)


def _to_torch(info, array):
    torch = sys.modules["torch"]
    if info.dtype == "bf16":
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)
