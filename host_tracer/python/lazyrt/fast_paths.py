"""What torch.nn's transformers compute in eval mode without autograd: by calls of their own, which differ from the modules' code.

nn.TransformerEncoder gives zeros at padded places where each row's padding lies at its end; attention that sees no key is NaN, not 0; a mask of
numbers hides wherever it is not 0. The modules are let take these calls, and here is what the calls mean in others."""

import contextlib
import os
import sys

import torch
import torch.nn.functional as F

from lazyrt.errors import Error
from lazyrt.tensors import is_lazy

_MODULES = os.path.join(os.path.dirname(torch.nn.__file__), "modules") + os.sep


@contextlib.contextmanager
def open_to_modes():
    """While active the modules do not shun their fast paths for the sake of a mode that sees their calls."""
    asked = torch.overrides.has_torch_function

    def has_torch_function(tensors):
        if sys._getframe(1).f_code.co_filename.startswith(_MODULES):
            return any(type(t) not in (torch.Tensor, torch.nn.Parameter) and asked((t,)) for t in tensors)
        return asked(tensors)

    torch.overrides.has_torch_function = has_torch_function
    try:
        yield
    finally:
        torch.overrides.has_torch_function = asked


class FastPaths:
    """The calls of one run of the program."""

    def __init__(self):
        self._nested = {}  # id of what stands for a nested tensor -> (it, where it holds something, whether it would be nested)

    def handlers(self):
        """function -> what CaptureMode does instead."""
        calls = {torch._nested_tensor_from_mask_left_aligned: self._is_left_aligned, torch._nested_tensor_from_mask: self._make_nested,
                 torch.Tensor.to_padded_tensor: self._pad, torch._transformer_encoder_layer_fwd: self._encoder_layer,
                 torch._native_multi_head_attention: self._attention}
        return {func: self._of_lazy(call) for func, call in calls.items()}

    @staticmethod
    def _of_lazy(call):
        return lambda func, args, kwargs: call(*args, **kwargs) if any(map(is_lazy, args)) else func(*args, **kwargs)

    @staticmethod
    def _is_left_aligned(_, holds):
        """Where values decide, both answers are computed: see _pad."""
        return is_lazy(holds) or bool(_are_left_aligned(holds))

    def _make_nested(self, tensor, holds, mask_check=True):
        if mask_check:
            raise Error("the program makes a nested tensor of a mask, and a bundle has none: keep the padding", "unsupported")
        aligned = _are_left_aligned(holds)
        return self._note_nested(self._without_padding(tensor, holds, aligned, 0.0), holds, aligned)

    def _note_nested(self, tensor, holds, aligned):
        self._nested[id(tensor)] = (tensor, holds, aligned)
        return tensor

    def _pad(self, tensor, padding, output_size=None):
        if id(tensor) not in self._nested:
            raise Error("the program makes a nested tensor, and a bundle has none: give nn.TransformerEncoder enable_nested_tensor=False", "unsupported")
        _, holds, aligned = self._nested[id(tensor)]
        return self._without_padding(tensor, holds, aligned, padding)

    @staticmethod
    def _without_padding(tensor, holds, aligned, padding):
        return tensor.masked_fill((holds.logical_not() & aligned).unsqueeze(-1), padding)

    def _encoder_layer(self, src, width, heads, in_weight, in_bias, out_weight, out_bias, gelu, norm_first, eps, norm1_weight, norm1_bias, norm2_weight,
                       norm2_bias, weight1, bias1, weight2, bias2, mask=None, mask_type=None):
        _, holds, aligned = self._nested.get(id(src), (None, None, None))
        if holds is not None:
            mask, mask_type = holds.logical_not(), 1

        def attend(x):
            return _attend(x, width, heads, in_weight, in_bias, out_weight, out_bias, mask, mask_type)[0]

        def feed(x):
            inner = F.linear(x, weight1, bias1)
            return F.linear(F.gelu(inner) if gelu else F.relu(inner), weight2, bias2)

        def norm1(x):
            return F.layer_norm(x, (width,), norm1_weight, norm1_bias, eps)

        def norm2(x):
            return F.layer_norm(x, (width,), norm2_weight, norm2_bias, eps)

        if norm_first:
            x = src + attend(norm1(src))
            x = x + feed(norm2(x))
        else:
            x = norm1(src + attend(src))
            x = norm2(x + feed(x))
        return x if holds is None else self._note_nested(x, holds, aligned)

    @staticmethod
    def _attention(query, key, value, width, heads, in_weight, in_bias, out_weight, out_bias, mask=None, need_weights=True, average_attn_weights=True,
                   mask_type=None):
        return _attend(query, width, heads, in_weight, in_bias, out_weight, out_bias, mask, mask_type, need_weights, average_attn_weights)


def _are_left_aligned(holds):
    """Of a mask [N, S], as a tensor."""
    return (holds[:, 1:] <= holds[:, :-1]).all()


def _attend(x, width, heads, in_weight, in_bias, out_weight, out_bias, mask, mask_type, need_weights=False, average=True):
    """Attention of x [N, L, width] to itself. `mask`: of type 1 [N, L], of type 2 [N, heads, L, L]; what is not 0 is hidden."""
    padding, hidden, blind = None, None, None
    if mask is not None:
        mask = mask if mask.dtype == torch.bool else mask != 0
        if mask_type == 1:
            padding, blind = mask, mask.all(1)[:, None, None]
        else:
            hidden, blind = mask.reshape(-1, *mask.shape[2:]), mask.all(3).any(1)[:, :, None]
    rows = x.transpose(0, 1)
    result, weights = F.multi_head_attention_forward(
        rows, rows, rows, width, heads, in_weight, in_bias, None, None, False, 0.0, out_weight, out_bias, training=False, key_padding_mask=padding,
        need_weights=need_weights, attn_mask=hidden, average_attn_weights=average)
    result = result.transpose(0, 1)
    if blind is not None and (is_lazy(blind) or bool(blind.any())):
        result = result.masked_fill(blind, float("nan"))
    return result, weights
