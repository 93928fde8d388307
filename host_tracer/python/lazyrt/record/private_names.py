"""Names of torch and CPython that are no public interface, seen in torch 2.7 to 2.9 and Python 3.11 to 3.13. Each line says what breaks without it."""

import torch
from torch import _compile, _decomp
from torch._C import _functorch
from torch.overrides import _get_current_function_mode_stack, _pop_mode, _push_mode

function_modes, push_mode, pop_mode = _get_current_function_mode_stack, _push_mode, _pop_mode  # hooks and checkpoints of a backward pass would not be seen
disabled_for_dynamo, decompositions = _compile._disable_dynamo, _decomp.global_decomposition_table  # the first capture would import torch._dynamo: seconds
DYNAMO_CACHE = "__dynamo_disable"  # the same
checkpoint_devices = torch.utils.checkpoint._default_meta_extractor.__code__  # a checkpoint would refuse lazy tensors in its second run


def dispatch_modes():
    """The active TorchDispatchModes, innermost last: without it, a program under one of them would be captured wrongly."""
    return [torch._C._get_dispatch_stack_at(i) for i in range(torch._C._len_torch_dispatch_stack())]


def unwrapped(tensor):
    """The tensor inside wrappers of torch.func (vmap, grad and the like): without it, writes through such a wrapper would not be seen."""
    while _functorch.is_batchedtensor(tensor) or _functorch.is_gradtrackingtensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor
