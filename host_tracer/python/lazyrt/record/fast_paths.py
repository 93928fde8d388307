"""What torch.nn's transformers compute in eval mode without autograd, by calls that differ from the modules' code. nn.TransformerEncoder gives zeros
at padded places if each row's padding lies at its end; attention that sees no key is NaN, not 0; a mask of numbers hides wherever it is not 0. During
a capture the modules take these paths, too; record/fast_paths.h records their calls."""

import contextlib
import sys

import torch


@contextlib.contextmanager
def open_to_modes():
    """While active, a torch function mode does not keep torch.nn's modules from their fast paths."""
    asked = torch.overrides.has_torch_function

    def has_torch_function(tensors):
        if sys._getframe(1).f_globals["__name__"].startswith("torch.nn.modules."):
            return any(type(t) not in (torch.Tensor, torch.nn.Parameter) and asked((t,)) for t in tensors)
        return asked(tensors)

    torch.overrides.has_torch_function = has_torch_function
    try:
        yield
    finally:
        torch.overrides.has_torch_function = asked
