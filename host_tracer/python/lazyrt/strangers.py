"""What a captured number or array meets that it does not know: numbers of other libraries, texts, containers, objects."""

import types

import torch

_NO_NUMBERS = (type(None), str, bytes, list, tuple, dict, set, frozenset, type, torch.Tensor)


def answers_itself(other):
    """Whether Python asks `other` next when it compares, or it is no number anyway. What is written in C (decimals, complex numbers, those of
    NumPy) knows Python's numbers by their memory and takes a captured one for none: it has to see the plain one."""
    asked = type(other).__eq__
    own = isinstance(asked, types.FunctionType) and not isinstance(other, (int, float))
    return own or asked is object.__eq__ or isinstance(other, _NO_NUMBERS)
