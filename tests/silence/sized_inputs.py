"""Inputs of programs whose extents vary, and what of these varies."""

import functools

import torch

REFUSED = ("right", "refused", "failed")  # what may be refused as well
N = {"n": (1, 64, 9)}
LONG = {"n": (1, 600, 40)}
TWO = {"b": (1, 5, 2), "n": (1, 40, 9)}
IMAGE = {"h": (16, 64, 32), "w": (16, 64, 40)}


def row(n):
    return (torch.randn(n, 8),)


def rows(b, n):
    return (torch.randn(b, n, 8),)


def wave(n):
    return (torch.randn(2, 3, n),)


def image(h, w):
    return (torch.randn(1, 3, h, w),)


def apply(function):
    """What is exported is made anew at each call."""
    @functools.wraps(function)
    def make():
        return function

    return make


X0 = {"x": {0: "n"}}
X2 = {"x": {2: "n"}}
BN = {"x": {0: "b", 1: "n"}}
HW = {"x": {2: "h", 3: "w"}}
