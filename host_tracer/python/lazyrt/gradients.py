"""Programs that take gradients of their own results (forces, Jacobians, a step of training)."""


def are_missing(error):
    """Whether a program failed because it ran without autograd."""
    return any(text in str(error) for text in ("does not require grad", "doesn't require grad", "that has requires_grad=False"))


class Kept:
    """What lies in the `.grad` of a module's tensors before a program runs that may leave its own there."""

    def __init__(self, tensors):
        self._before = [(tensor, tensor.grad, None if tensor.grad is None else tensor.grad.clone()) for tensor in tensors]

    def restore(self):
        for tensor, grad, content in self._before:
            if content is not None:
                grad.detach().copy_(content)
            if tensor.grad is not grad:
                tensor.grad = grad
