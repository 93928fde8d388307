"""Inputs of programs: drawn, the same each time, and given one by one."""

import torch

TRUE, FALSE = torch.tensor(True), torch.tensor(False)


def r(*shape, seed=1, scale=1.0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale


def ids(*values, dtype=torch.long):
    return torch.tensor(values, dtype=dtype)
