"""Programs that take gradients of their own results (forces, Jacobians, a step of training)."""

import contextlib

import torch

from lazyrt import _tracer
from lazyrt.errors import Error
from lazyrt.record.private_names import function_modes, pop_mode, push_mode


def are_missing(error):
    """Whether a program failed because it ran without autograd."""
    return any(text in str(error) for text in ("does not require grad", "doesn't require grad", "that has requires_grad=False"))


def refuse_hooks(parameters, variables):
    """Raises Error if a parameter, or another tensor of the program, has hooks: the tensor of the graph that replaces it has none."""
    for name, tensor in (*((f"parameter '{name}'", parameter) for name, parameter in parameters.items()), *(("a tensor", t) for t in variables)):
        if tensor._backward_hooks or getattr(tensor, "_post_accumulate_grad_hooks", None) or _tracer.accumulator_has_hooks(tensor):
            raise Error(f"the program takes gradients, and {name} has a hook (register_hook), which the capture does not run: do in the program "
                        "what the hook does", "unsupported")


@contextlib.contextmanager
def open_to(mode):
    """While active, what autograd calls in a backward pass (hooks, Function.backward, a checkpoint's second run) is seen by the mode, though
    torch handles the call of backward() without it."""
    run = torch.autograd._engine_run_backward

    def run_backward(*args, **kwargs):
        if any(mode is other for other in function_modes()):
            return run(*args, **kwargs)
        push_mode(mode)
        try:
            return run(*args, **kwargs)
        finally:
            pop_mode()

    if mode is not None:
        torch.autograd._engine_run_backward = run_backward
    try:
        yield
    finally:
        torch.autograd._engine_run_backward = run
