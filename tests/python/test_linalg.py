"""Sampling at computed positions, linear systems and factorizations: as eager, and checks where eager raises."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lazyrt


class Whiten(nn.Module):
    """The factor of a covariance that has to be positive-definite."""

    def forward(self, x):
        root = torch.linalg.cholesky(x.T @ x / len(x))
        return torch.linalg.solve_triangular(root, x.T, upper=False).T


class Jitter(nn.Module):
    """Tries again with a larger diagonal."""

    def forward(self, a):
        try:
            return torch.linalg.cholesky(a)
        except torch.linalg.LinAlgError:
            return torch.linalg.cholesky(a + 4 * torch.eye(len(a)))


def indefinite():
    return torch.tensor([[1.0, 2.0], [2.0, 1.0]])


def test_a_factor_is_checked(roundtrip, close):
    torch.manual_seed(0)
    report, program, eager = roundtrip(Whiten(), (torch.randn(20, 4),))
    assert report.verdict == "SOUND"
    other = torch.randn(20, 4) * 3
    close(program(other), Whiten()(other))
    with pytest.raises(lazyrt.Error, match="a check of the model: linalg.cholesky: the input is positive-definite"):
        program(torch.ones(20, 4))


@pytest.mark.parametrize("solve", [torch.linalg.inv, torch.inverse, lambda a: torch.linalg.solve(a, torch.ones(2, 1))])
def test_singular_matrices_are_refused(roundtrip, close, solve):
    class Solve(nn.Module):
        def forward(self, a):
            return solve(a)

    report, program, _ = roundtrip(Solve(), (indefinite(),))
    assert report.verdict == "SOUND"
    close(program(indefinite() * 5), solve(indefinite() * 5))
    with pytest.raises(lazyrt.Error, match="not singular"):
        program(torch.ones(2, 2))


@pytest.mark.parametrize("shift, other", [(3, 0), (0, 3)])
def test_a_failure_that_is_caught_is_a_path(roundtrip, close, shift, other):
    matrix = indefinite() + shift * torch.eye(2)
    report, program, eager = roundtrip(Jitter(), (matrix,))
    assert report.verdict == "SPECIALIZED"
    close(program(matrix), eager)
    with pytest.raises(lazyrt.Error, match="takes another path"):
        program(indefinite() + other * torch.eye(2))


def test_a_look_at_info_is_a_path(roundtrip, close):
    class Try(nn.Module):
        def forward(self, a):
            root, info = torch.linalg.cholesky_ex(a)
            return root if not torch.any(info) else torch.linalg.eigvalsh(a)

    report, program, eager = roundtrip(Try(), (torch.eye(3) * 2,))
    assert report.verdict == "SPECIALIZED"
    with pytest.raises(lazyrt.Error, match="another path"):
        program(-torch.eye(3))


def test_a_sampler_learns_where_to_look(roundtrip, close):
    """A spatial transformer."""

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.where = nn.Linear(3 * 8 * 8, 6)
            nn.init.normal_(self.where.weight, std=0.05)

        def forward(self, x):
            grid = F.affine_grid(self.where(x.flatten(1)).view(-1, 2, 3), x.shape, align_corners=False)
            return F.grid_sample(x, grid, align_corners=False)

    torch.manual_seed(0)
    model = Transformer().eval()
    report, program, _ = roundtrip(model, (torch.randn(2, 3, 8, 8),))
    assert report.verdict == "SOUND"
    other = torch.randn(2, 3, 8, 8)
    close(program(other), model(other))


def test_a_batch_in_channels_last(roundtrip, close):
    x, grid = torch.randn(2, 5, 6, 7).to(memory_format=torch.channels_last), torch.rand(2, 3, 4, 2) * 3 - 1.5

    class Sample(nn.Module):
        def forward(self, x, grid):
            return F.grid_sample(x, grid, mode="bicubic", padding_mode="reflection", align_corners=True)

    _, program, eager = roundtrip(Sample(), (x, grid))
    close(program(x, grid), eager)


@pytest.mark.parametrize("call, why", [
    (lambda a: torch.linalg.lu_factor(a)[0], "pivots"), (torch.linalg.svdvals, "LU and Cholesky"),
    (lambda a: torch.linalg.inv_ex(a, check_errors=True)[0], "check_errors")])
def test_what_is_refused_says_why(bundle, call, why):
    class Refused(nn.Module):
        def forward(self, a):
            return call(a)

    with pytest.raises(lazyrt.Error, match=why):
        lazyrt.export(Refused(), (indefinite(),), bundle)


def of(call):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(4, 4) + 3 * torch.eye(4))

        def forward(self, x):
            return x @ call(self.w)

    return Model().eval()


def low_rank(w):
    u, d, v = torch.linalg.svd(w)
    return (u[:, :2] * d[:2]) @ v[:2]


@pytest.mark.parametrize("call", [low_rank, torch.matrix_exp, torch.linalg.pinv, torch.linalg.svdvals, lambda w: torch.linalg.qr(w)[0],
                                  lambda w: torch.linalg.eigh(w + w.T)[0], lambda w: torch.linalg.inv_ex(w, check_errors=True)[0]])
def test_what_depends_on_weights_alone_is_computed_at_export(roundtrip, close, call):
    model = of(call)
    report, program, _ = roundtrip(model, (torch.randn(3, 4),))
    assert report.verdict == "SOUND"
    assert any("computed at export" in note for note in report.notes)
    other = torch.randn(3, 4)
    close(program(other), model(other))


def test_parametrized_weights_at_several_sizes(roundtrip, close):
    model = nn.Sequential(nn.utils.parametrizations.orthogonal(nn.Linear(4, 4)), nn.ReLU()).eval()
    _, program, _ = roundtrip(model, (torch.randn(3, 4),), dynamic={"input": {0: ("n", 1, 20)}})
    other = torch.randn(9, 4)
    close(program(other), model(other))


def test_a_result_that_is_much_larger_is_noted(roundtrip, close):
    model = of(lambda w: torch.matrix_exp(w.repeat(20, 1, 1)).sum(0) + torch.linalg.svdvals(w.expand(40, 4, 4)).sum())
    report, program, eager = roundtrip(model, (torch.eye(4),))
    assert any("bytes" in note for note in report.notes)
    close(program(torch.eye(4)), eager)


def test_what_the_program_writes_is_not_computed_at_export(bundle):
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", torch.eye(3))

        def forward(self, x):
            self.w += x
            return torch.linalg.svdvals(self.w)

    class WritesLater(Writes):
        calls = 0

        def forward(self, x):
            self.calls = 1 - self.calls
            if self.calls == 0:
                self.w += x
            return torch.linalg.svdvals(self.w) + x

    for model in (Writes(), WritesLater()):
        with pytest.raises(lazyrt.Error, match="LU and Cholesky"):
            lazyrt.export(model, (torch.ones(3),), bundle)
