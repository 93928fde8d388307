"""Sparse matrices that a program holds, times dense ones of the graph."""

import pytest
import torch
from torch import nn

import lazyrt

WAYS = {
    "matmul": lambda a, h: a @ h,
    "mm": torch.mm,
    "spmm": torch.spmm,
    "sparse.mm": torch.sparse.mm,
    "method": lambda a, h: a.matmul(h),
    "vector": lambda a, h: (a @ h[:, 0], a.mv(h[:, 1])),
    "sum": lambda a, h: (torch.sparse.addmm(h, a, h), torch.addmm(h, a, h, beta=0.5, alpha=2)),
}


class Layer(nn.Module):
    def __init__(self, adjacency, way, is_buffer):
        super().__init__()
        self.way = way
        if is_buffer:
            self.register_buffer("adjacency", adjacency)
        else:
            self.adjacency = adjacency

    def forward(self, x):
        return self.way(self.adjacency, x * 2)


def agrees(model, path, *inputs):
    lazyrt.export(model, (inputs[0],), path)
    program = lazyrt.load(path)
    for x in inputs:
        with torch.no_grad():
            torch.testing.assert_close(program(x), model(x), rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("is_buffer", [False, True])
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
@pytest.mark.parametrize("way", WAYS)
def test_as_eager(way, layout, is_buffer, tmp_path):
    torch.manual_seed(3)
    adjacency = (torch.rand(6, 6) * (torch.rand(6, 6) > 0.6)).to_sparse(layout=layout)
    infinite = torch.randn(6, 4)
    infinite[2] = float("inf")
    agrees(Layer(adjacency, WAYS[way], is_buffer), tmp_path / "m.lzb", torch.randn(6, 4), torch.randn(6, 4) * 100, infinite)


@pytest.mark.parametrize("indices, values", [([[0, 0, 2], [1, 1, 0]], [1.0, 2.0, -1.0]), ([[], []], []), ([[3], [3]], [float("nan")])])
def test_places_that_come_twice_and_none(indices, values, tmp_path):
    adjacency = torch.sparse_coo_tensor(torch.tensor(indices, dtype=torch.long).reshape(2, -1), torch.tensor(values), (4, 4))
    agrees(Layer(adjacency, WAYS["matmul"], True), tmp_path / "m.lzb", torch.randn(4, 4))


def test_a_matrix_that_calls_change_is_told_call_by_call(tmp_path):
    class Normalised(nn.Module):
        def __init__(self):
            super().__init__()
            self.adjacency, self.is_new = (torch.eye(3) * 4).to_sparse(), True

        def forward(self, x):
            if self.is_new:
                self.adjacency, self.is_new = self.adjacency * 0.25, False
            return self.adjacency @ x

    program, beside, x = Normalised(), Normalised(), torch.arange(6.0).reshape(3, 2)
    lazyrt.export(program, (x,), tmp_path / "m.lzb")
    bundle = lazyrt.load(tmp_path / "m.lzb")
    for _ in range(3):
        assert torch.equal(bundle(x), beside(x))
    assert torch.equal(program.adjacency.to_dense(), torch.eye(3) * 4)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_a_matrix_in_the_memory_of_a_buffer_that_calls_write_is_refused(layout, tmp_path):
    class Weighted(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weights", torch.ones(3))
            if layout == torch.sparse_coo:
                self.graph = torch.sparse_coo_tensor(torch.arange(3).expand(2, 3).contiguous(), self.weights, (3, 3), is_coalesced=True)
            else:
                self.graph = torch.sparse_csr_tensor(torch.arange(4), torch.arange(3), self.weights, (3, 3))

        def forward(self, x):
            y = self.graph @ x
            self.weights.add_(torch.where(x[:, 0] == -999.0, 1.0, 0.0))
            return y

    with pytest.raises(lazyrt.ExportError):
        lazyrt.export(Weighted(), (torch.ones(3, 2),), tmp_path / "m.lzb")


def test_other_uses_have_a_message(tmp_path):
    adjacency = torch.eye(3).to_sparse()
    with pytest.raises(lazyrt.ExportError, match="to_dense"):
        lazyrt.export(lambda x: torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 2]]), x, (3, 3)).to_dense(), (torch.ones(2),), tmp_path / "m.lzb")
    with pytest.raises(lazyrt.ExportError):
        lazyrt.export(lambda x: (adjacency * x).to_dense(), (torch.ones(3, 3),), tmp_path / "m.lzb")
