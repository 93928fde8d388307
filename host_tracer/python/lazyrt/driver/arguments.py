"""The example call: its arguments by the program's signature; which are inputs and which are fixed."""

import inspect

import numpy
import torch

from lazyrt.bundles import trees
from lazyrt.bundles.fixed import Opaque, type_name
from lazyrt.errors import ExportError

_DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64,
           torch.bool)
_Parameter = inspect.Parameter
_KINDS = {
    _Parameter.POSITIONAL_ONLY: "positional",
    _Parameter.POSITIONAL_OR_KEYWORD: "either",
    _Parameter.VAR_POSITIONAL: "open positional",
    _Parameter.KEYWORD_ONLY: "keyword",
    _Parameter.VAR_KEYWORD: "open keyword",
}


def is_input(value):
    """Whether it is a tensor or an array of NumPy."""
    return isinstance(value, (torch.Tensor, numpy.ndarray))


class Example:
    """One call of the program. `parameters` is the interface's list of that name (see contract.py), `inputs` are its tensors by name,
    arrays of NumPy as tensors too."""

    def __init__(self, target, args, kwargs):
        self.args, self.kwargs = tuple(args), dict(kwargs or {})
        self._taken = set()
        self.inputs, self.arrays = [], set()
        bound = bind(target, self.args, self.kwargs)
        named = [p.name for p, _, _ in bound if p.kind in (_Parameter.POSITIONAL_OR_KEYWORD, _Parameter.KEYWORD_ONLY)]
        self.kwargs = {**{name: self.kwargs[name] for name in named if name in self.kwargs}, **self.kwargs}  # in the order of `inputs`
        try:
            self.parameters = [self._describe(*given) for given in bound]
        except Opaque as opaque:
            raise ExportError(f"argument '{opaque.path}': {opaque.why}; it would have to be compared at each call of the bundle",
                              "invalid argument") from None
        self.inputs = [(name, tensor.clone(memory_format=torch.contiguous_format)) for name, tensor in self.inputs]  # values, each in memory of its own

    def _describe(self, parameter, value, is_given):
        described = {"name": parameter.name, "kind": _KINDS[parameter.kind]}
        if parameter.default is not _Parameter.empty:
            described["default"] = _describe_default(parameter)
        if not is_given:
            described["item"] = described["default"]
            return described
        path = _path_of(parameter)
        described["item"], leaves = trees.flatten(value, path, is_input, self._taken, arguments=True)
        for name, leaf in leaves:
            if isinstance(leaf, numpy.ndarray):
                self.arrays.add(name)
            self.inputs.append((name, _as_tensor(name, leaf)))
        trees.mark(described["item"], self.arrays, numpy=True)
        return described

    def call(self, tensors, array=lambda tensor: tensor.numpy()):
        """Returns (args, kwargs) with these tensors, in the order of `inputs`; array(tensor) makes an array of NumPy from a tensor."""
        following = iter(list(zip(self.inputs, tensors)))

        def make(leaf):
            (name, _), tensor = next(following)
            return array(tensor) if name in self.arrays else tensor

        return trees.replace((self.args, self.kwargs), is_input, make)

    def clones(self):
        """Its tensors, each in memory of its own."""
        return [tensor.detach().clone() for _, tensor in self.inputs]

    def fixed(self):
        """{name: description} of the arguments that are no inputs."""
        found = {}
        for parameter in self.parameters:
            _list_fixed(parameter["item"], parameter["name"], found)
        return found


class ArgumentChanges:
    """Detects which objects among the arguments a call has changed."""

    def __init__(self, target, args, kwargs):
        self._given = [(parameter.name, value) for parameter, value, is_given in bind(target, args, kwargs) if is_given]
        self._before = [_snapshot(value) for _, value in self._given]

    def changed(self, result):
        """[(name, whether the result contains it)] of the changed arguments."""
        changed = [(name, value) for (name, value), before in zip(self._given, self._before) if _snapshot(value) != before]
        returned = _objects_in(result) if changed else set()
        return [(name, id(value) in returned) for name, value in changed]


def _objects_in(result):
    """ids of the containers and objects of a result."""
    found, todo = set(), [result]
    while todo:
        value = todo.pop()
        if id(value) in found or isinstance(value, torch.Tensor):
            continue
        found.add(id(value))
        if isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, (list, tuple)):
            todo += value
        todo += getattr(value, "__dict__", {}).values()
    return found


def _snapshot(value):
    """A snapshot of an argument, which differs from an earlier one if a container or object holds something else. The capture itself sees writes into
    tensors."""
    try:
        described, leaves = trees.flatten(value, "", is_input, arguments=True)
    except Opaque as opaque:
        return opaque.path
    return described, [id(leaf) for _, leaf in leaves]


def _list_fixed(described, path, found):
    if described["kind"] in ("value", "fixed", "digest"):
        found[path] = described
    for key, item in zip(described.get("keys") or range(len(described.get("items", ()))), described.get("items", ())):
        _list_fixed(item, trees.join(path, key), found)


def _describe_default(parameter):
    """The description of a parameter's default; "default" if it is a tensor or cannot be compared: then a call can only leave it out."""
    try:
        return trees.flatten(parameter.default, parameter.name, lambda value: False, arguments=True)[0]
    except Opaque:
        return {"kind": "default"}


def _path_of(parameter):
    """The first part of the paths of its inputs: the parameter's name, or nothing for **kwargs, whose items have names."""
    return "" if parameter.kind is _Parameter.VAR_KEYWORD else parameter.name


def bind(target, args, kwargs):
    """[(parameter of the signature, its value, whether it was given)], in the order in which inputs are named."""
    try:
        signature = _signature_of(target.forward if isinstance(target, torch.nn.Module) else target)
        bound = signature.bind(*args, **kwargs)
    except (TypeError, ValueError):  # no signature, or a call that eager will refuse
        return _bind_without_signature(args, kwargs)
    given = bound.arguments
    open_kinds = (_Parameter.VAR_POSITIONAL, _Parameter.VAR_KEYWORD)
    listed = []
    for parameter in signature.parameters.values():
        nothing = () if parameter.kind is _Parameter.VAR_POSITIONAL else {}
        value = given.get(parameter.name, nothing if parameter.kind in open_kinds else parameter.default)
        listed.append((parameter, value, parameter.name in given or parameter.kind in open_kinds))
    return listed


def _signature_of(function):
    """The signature of a function; that of a TorchScript function is made from its schema."""
    if not isinstance(function, (torch.jit.ScriptFunction, torch.ScriptMethod)):
        return inspect.signature(function)
    parameters = []
    for argument in function.schema.arguments[isinstance(function, torch.ScriptMethod):]:
        kind = _Parameter.KEYWORD_ONLY if argument.kwarg_only else _Parameter.POSITIONAL_OR_KEYWORD
        default = argument.default_value if argument.has_default_value() else _Parameter.empty
        parameters.append(_Parameter(argument.name, kind, default=default))
    return inspect.Signature(parameters)


def _bind_without_signature(args, kwargs):
    positional = [_Parameter(f"arg{i}", _Parameter.POSITIONAL_ONLY) for i in range(len(args))]
    named = [_Parameter(name, _Parameter.KEYWORD_ONLY) for name in kwargs]
    return [(parameter, value, True) for parameter, value in zip([*positional, *named], [*args, *kwargs.values()])]


# -------------------------------------------------------------------- inputs

def _refuse(name, why):
    raise ExportError(f"input '{name}' {why}", "invalid argument")


def _as_tensor(name, value):
    tensor = _tensor_of_array(name, value) if isinstance(value, numpy.ndarray) else value
    if tensor.requires_grad:
        tensor = tensor.detach()
    if type(tensor) is not torch.Tensor:
        _refuse(name, f"is a {type_name(tensor)}, a subclass of torch.Tensor: give a plain tensor")
    if tensor.layout is not torch.strided or tensor.is_quantized:
        _refuse(name, f"is not dense ({tensor.layout}): give x.to_dense()")
    if tensor.device.type != "cpu":
        _refuse(name, f"is on the device {tensor.device}: give a tensor with values on the CPU (not meta)")
    if tensor.dtype not in _DTYPES:
        _refuse(name, f"has the dtype {tensor.dtype}, which bundles do not have; they have "
                      + ", ".join(str(dtype).removeprefix("torch.") for dtype in _DTYPES))
    return tensor


def _tensor_of_array(name, array):
    if type(array) is not numpy.ndarray:
        _refuse(name, f"is a {type_name(array)}, a subclass of numpy.ndarray: give a plain array")
    if not array.dtype.isnative:
        _refuse(name, "has the byte order of another machine")
    try:
        return torch.from_numpy(numpy.array(array, order="C"))
    except TypeError:
        return _refuse(name, f"has the dtype {array.dtype}, which bundles do not have")
