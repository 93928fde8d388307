"""Products of sparse matrices that a program holds with dense ones of the graph, as graph networks have them. A graph has dense tensors only: rows are
looked up, weighted and added."""

import torch

from lazyrt.record.tensors import is_lazy

_Tensor = torch.Tensor
_LAYOUTS = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
PRODUCTS = (torch.mm, torch.spmm, torch.smm, torch.sparse.mm, torch.matmul, torch.mv, _Tensor.mm, _Tensor.smm, _Tensor.mv, _Tensor.matmul, _Tensor.__matmul__)
SUMS = (torch.addmm, torch.sspaddmm, torch.sparse.addmm, _Tensor.addmm)


def is_sparse(value):
    """Whether it is a tensor with a layout that graphs do not support."""
    return isinstance(value, _Tensor) and value.layout in _LAYOUTS


def product(matrix, dense):
    """matrix [N,M], sparse; dense [M,K] or [M], lazy -> [N,K] or [N]. As eager, of one dtype only."""
    if matrix.dtype != dense.dtype or dense.dim() not in (1, 2) or matrix.shape[1] != dense.shape[0]:
        raise RuntimeError(f"a sparse matrix {list(matrix.shape)} of {matrix.dtype} times {list(dense.shape)} of {dense.dtype}")
    entries = matrix.detach().to_sparse_coo().coalesce()
    (rows, columns), weights = entries.indices(), entries.values()
    if dense.dim() == 2:
        weights = weights[:, None]
    empty = torch.zeros((matrix.shape[0], *dense.shape[1:]), dtype=dense.dtype, device=dense.device)
    return empty.index_add(0, rows, torch.index_select(dense, 0, columns) * weights)


def can_multiply(matrix, dense):
    return is_sparse(matrix) and matrix.dim() == 2 and is_lazy(dense)
