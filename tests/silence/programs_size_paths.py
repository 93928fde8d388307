"""Programs that decide by sizes, and sizes that follow from others: right at every size within the bounds, the ends among them, or refused."""

import torch
from torch.nn import functional as F

from harness import sized
from sized_inputs import BN, HW, IMAGE, LONG, N, REFUSED, TWO, X0, apply, image, row, rows


# ---------------------------------------------------------------- branches on sizes

@sized(row, {"n": (1, 300, 9)}, X0, also=[137])
@apply
def one_size_of_many(x):
    return x * 3 if x.shape[0] == 137 else x * 2


@sized(row, {"n": (1, 2000, 40)}, X0, also=[1000, 1500, 2000, 1001], expect=REFUSED)
@apply
def thousands(x):
    return x.sum(0) if x.shape[0] % 500 == 0 else x.mean(0)


@sized(row, {"n": (1, 400, 9)}, X0, also=[23, 24, 48, 96, 97])
@apply
def known_sizes(x):
    table = {24: 2.0, 48: 3.0, 96: 5.0}
    return x * table.get(x.shape[0], 1.0)


@sized(row, {"n": (1, 500, 9)}, X0, also=[255, 256, 257, 258])
@apply
def narrow_band(x):
    return x.relu() if 256 <= x.shape[0] < 258 else x.sigmoid()


@sized(row, {"n": (1, 500, 9)}, X0, also=[255, 256, 257, 258, 300, 301])
@apply
def a_band_behind_a_cut(x):
    """The question comes up of a part that only long inputs have."""
    if x.shape[0] > 128:
        rest = x[128:]
        return x.sigmoid() if 172 <= len(rest) < 174 else x.relu()
    return x.relu()


@sized(rows, {"b": (1, 6, 2), "n": (1, 200, 9)}, BN, points=[{"b": 1, "n": 150}, {"b": 1, "n": 151}, {"b": 1, "n": 152}, {"b": 2, "n": 151}])
@apply
def a_band_of_two_sizes(x):
    return x.relu() if x.shape[0] == 1 and 150 < x.shape[1] <= 151 else x.sigmoid()


@sized(row, {"n": (1, 900, 9)}, X0, also=[311, 312], expect=REFUSED)
@apply
def a_half_at_one_size(x):
    half = x.shape[0] // 2
    return x[:half] if half != 156 else x[half:]


@sized(row, {"n": (1, 300, 9)}, X0, also=[121, 144, 120, 256], expect=REFUSED)
@apply
def square_images(x):
    n = x.shape[0]
    side = int(n ** 0.5)
    return x.view(side, side, 8).transpose(0, 1).reshape(n, 8) if side * side == n else x


@sized(row, N, X0)
@apply
def padded_to_even(x):
    if x.shape[0] % 2 == 1:
        x = F.pad(x, (0, 0, 0, 1))
    return x.view(-1, 2, 8).mean(1)


@sized(row, LONG, X0, also=[128, 129, 127])
@apply
def long_path(x):
    if x.shape[0] > 128:
        return x[:128] + x[-128:].mean(0)
    return x + x.mean(0)


@sized(lambda n, m: (torch.randn(n, 8), torch.randn(m, 8)), {"n": (1, 40, 7), "m": (1, 40, 12)}, {"x": {0: "n"}, "y": {0: "m"}},
       points=[{"n": 5, "m": 5}, {"n": 6, "m": 5}, {"n": 5, "m": 6}, {"n": 17, "m": 17}], expect=REFUSED)
@apply
def same_size_or_not(x, y):
    return x @ y.T if x.shape[0] == y.shape[0] else y @ x.T


@sized(lambda n, m: (torch.randn(n, 8), torch.randn(m, 8)), {"n": (1, 40, 7), "m": (1, 40, 12)}, {"x": {0: "n"}, "y": {0: "m"}},
       points=[{"n": 5, "m": 6}, {"n": 6, "m": 5}, {"n": 30, "m": 31}], expect=REFUSED)
@apply
def one_more_than_the_other(x, y):
    z = torch.cat([x, y])
    return z * 2 if x.shape[0] == y.shape[0] + 1 else z


@sized(image, IMAGE, HW, points=[{"h": 20, "w": 20}, {"h": 20, "w": 21}, {"h": 64, "w": 16}], expect=REFUSED)
@apply
def wide_or_tall(x):
    return x.transpose(2, 3) * 1.0 if x.shape[2] > x.shape[3] else x * 1.0


@sized(image, IMAGE, HW, expect=REFUSED)
@apply
def large_images(x):
    return F.avg_pool2d(x, 2) if x.shape[2] * x.shape[3] > 1024 else x


@sized(rows, TWO, BN)
@apply
def squeezed(x):
    return x.mean(2).squeeze()


# ---------------------------------------------------------------- sizes that follow from others

@sized(lambda n: (torch.randn(n, 8), torch.randn(2 * n + 1, 8)), N, {"x": {0: "n"}, "y": {0: "2*n + 1"}})
@apply
def windows_beside_their_middles(x, y):
    return y.unfold(0, 3, 2).mean(-1) + x


@sized(lambda n: (torch.randn(3 * n - 2, 8),), N, {"x": {0: "3*n - 2"}})
@apply
def rows_in_threes(x):
    return F.pad(x, (0, 0, 1, 1)).view(-1, 3, 8).mean(1)


@sized(lambda n: (torch.randn(n, 8), torch.randn(n + 1, 8)), {"n": (1, 300, 9)}, {"x": {0: "n"}, "y": {0: "n + 1"}}, also=[136, 137, 138])
@apply
def decided_by_what_follows(x, y):
    return x + y[1:] if len(y) == 138 else x - y[:-1]


@sized(lambda b, n: (torch.randn(b, n, 8), torch.randn(b, 2, 4 * n)), TWO, {"x": {0: "b", 1: "n"}, "y": {0: "b", 2: "4*n"}})
@apply
def four_times_as_long(x, y):
    return x.flatten(1) + y.flatten(1) * y.shape[2] // x.shape[1]
