"""Operators with arguments and extents that are rare: dims of one element, factors of 0, masks beside NaN, elements that are not unique."""

from harness import case, sized
from torch import Tensor, nn
from typing import List, Tuple
import torch
import torch.nn.functional as F

NAN, INF = float("nan"), float("inf")
X, Y = torch.randn(6), torch.randn(6)


def whole(*values):
    return torch.tensor(values[0] if len(values) == 1 else list(values))


def with_rows(x, rows, value):
    x = x.clone()
    x[..., rows, :] = value
    return x


Q, K, V = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4)
ALL, SOME = torch.ones(1, 1, 1, 5, dtype=torch.bool), torch.tensor([True, True, True, False, False]).view(1, 1, 1, 5)


@case((Q, K, V, ALL), [(Q, K, V, ALL), (Q, K, V, SOME), (Q, with_rows(K, [3, 4], 0.0), V, SOME), (Q * 2, with_rows(K, [4], 0.0), V, SOME), (Q, K, V, ALL)])
def cosine_attention_over_padded_slots():
    def program(q, k, v, seen):
        q = q / q.norm(dim=-1, keepdim=True)
        k = k / k.norm(dim=-1, keepdim=True)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=10.0)

    return program


class Past(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.key = nn.Parameter(torch.randn(4))

    def forward(self, x, v):
        return F.scaled_dot_product_attention(x, x * self.key, v, is_causal=True)


T3 = torch.randn(2, 5, 4)


@case((T3, T3.flip(1)), [(T3, T3.flip(1)), (T3 * 2, T3), (with_rows(T3, [4], INF), T3), (with_rows(T3, [2], NAN), T3), (T3, T3)], front="pt2")
def pt2_causal_frames_with_a_late_gap():
    return Past()


LINE = torch.randn(6, 1)


@case((LINE,), [(LINE,), (LINE * 3,), (LINE * 1e-26,), (LINE * 6e-34,), (LINE * 1e21,)])
def direction_of_momentum_on_a_line():
    def program(p):
        size = p.norm(dim=-1, keepdim=True)
        return p / size, size / size.amax()

    return program


class Pooled(nn.Module):
    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        size = torch.linalg.vector_norm(x, ord=4.0, dim=[1])
        return size / 1e15, torch.log10(size)


@case((LINE,), [(LINE,), (LINE * 30,), (LINE * 9.46e15,), (LINE * 3e-12,), (LINE,)], front="torchscript")
def script_generalised_mean_of_one_channel():
    return torch.jit.script(Pooled())


A, B = torch.randn(2, 3, 2), torch.randn(2, 2, 3)
H = torch.randn(2, 3, 3)


@case((H, A, B), [(H, A, B), (H, A * 5, B), (H, A * 1e25, B * 1e25), (H, with_rows(A, [1], INF), B), (H, A, B)])
def adapter_that_is_switched_off():
    class Adapter(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = 0.0

        def forward(self, h, a, b):
            return torch.baddbmm(h, a, b, alpha=self.scale)

    return Adapter()


@case((X[:4], whole(40)), [(X[:4], whole(n)) for n in (40, 41, 39, 97, 98, 120, 40)])
def key_frames_of_a_clip():
    class Clip(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("keys", torch.arange(1, 100, 6))

        def forward(self, x, first):
            frames = (first + torch.arange(4)).clamp(max=99)
            key = torch.isin(frames, self.keys, assume_unique=True)
            return torch.where(key, x * 10, x), key

    return Clip()


class Lookback(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("silent", torch.arange(3, 200, 5))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        frames = (t - torch.arange(6)).clamp(min=0)
        return x * torch.isin(frames, self.silent, assume_unique=True, invert=True).to(x.dtype)


@case((X, whole(60)), [(X, whole(t)) for t in (60, 61, 5, 2, 1, 0, 62)], front="torchscript")
def script_silent_frames_before_now():
    return torch.jit.script(Lookback())


X, Y, Z = torch.randn(6), torch.randn(6), torch.randn(6)
CACHE_Q = torch.randn(1, 1, 8, 4)
CACHE_K, CACHE_V = torch.randn(1, 1, 640, 4), torch.randn(1, 1, 640, 4)
UNWRITTEN = list(range(512, 640))


@case((CACHE_Q, CACHE_K, CACHE_V), [(CACHE_Q, CACHE_K, CACHE_V), (CACHE_Q, with_rows(CACHE_K, UNWRITTEN, 0.0), with_rows(CACHE_V, UNWRITTEN, 0.0)),
                                    (CACHE_Q, CACHE_K, with_rows(CACHE_V, UNWRITTEN, NAN)), (CACHE_Q * 2, with_rows(CACHE_K, UNWRITTEN, NAN), with_rows(CACHE_V, UNWRITTEN, INF)),
                                    (CACHE_Q, CACHE_K, CACHE_V)])
def prefill_beside_slots_that_nobody_wrote():
    def program(q, keys, values):
        return F.scaled_dot_product_attention(q, keys, values, is_causal=True)

    return program


class Prefill(nn.Module):
    def forward(self, q: Tensor, values: Tensor) -> Tensor:
        keys = torch.tanh(values)
        return F.scaled_dot_product_attention(q, keys, values, None, 0.0, True)


@case((CACHE_Q, CACHE_V), [(CACHE_Q, CACHE_V), (CACHE_Q * 0.5, CACHE_V), (CACHE_Q, with_rows(CACHE_V, UNWRITTEN, INF)), (CACHE_Q, with_rows(CACHE_V, [600], NAN)), (CACHE_Q, CACHE_V)],
      front="torchscript")
def script_prefill_beside_slots_that_nobody_wrote():
    return torch.jit.script(Prefill())


TEXTURE = torch.randn(1, 1, 16, 256)


def gaze(x, y, size=5, reach=0.05):
    line = torch.linspace(-reach, reach, size)
    rows, columns = torch.meshgrid(line, line, indexing="ij")
    return torch.stack([columns + x, rows + y], -1)[None]


STRAIGHT = torch.zeros(1, 5, 5, 2)


@case((TEXTURE, STRAIGHT), [(TEXTURE, STRAIGHT), (TEXTURE, gaze(0.003, 0.01)), (TEXTURE, gaze(0.4, -0.2)), (TEXTURE, gaze(-0.3, 0.2)), (TEXTURE, STRAIGHT)], tolerance=1e-2)
def fovea_of_an_image_in_halves():
    def program(image, grid):
        return F.grid_sample(image.half(), grid.half(), mode="bilinear", align_corners=False)

    return program


class Sprite(nn.Module):
    def forward(self, image, grid):
        return F.grid_sample(image.bfloat16(), grid.bfloat16(), mode="nearest", padding_mode="border", align_corners=False)


@case((TEXTURE, STRAIGHT), [(TEXTURE, STRAIGHT), (TEXTURE, gaze(0.003, 0.01)), (TEXTURE, gaze(0.011, -0.02, reach=0.03)), (TEXTURE, gaze(-0.02, 0.2))], tolerance=1e-2, front="pt2")
def pt2_sprite_by_the_nearest_pixel():
    return Sprite()


TRACKS = torch.arange(16) * 100 + 7
FRAME_IDS = torch.randperm(30, generator=torch.Generator().manual_seed(2)) * 100 + 7
TWICE = torch.arange(30) // 2 * 50
TWICE_KNOWN = torch.arange(30) // 3 * 100 + 7


@case((FRAME_IDS, X), [(FRAME_IDS, X), (TWICE_KNOWN, X), (TWICE, Y), (FRAME_IDS + 1, Z), (torch.zeros(30, dtype=torch.long), X)])
def ids_of_a_frame_that_are_tracked():
    def program(ids, x):
        known = torch.isin(ids, TRACKS, assume_unique=True)
        fresh = torch.isin(ids, TRACKS, assume_unique=True, invert=True)
        return known, fresh.sum() * x

    return program


G = torch.Generator().manual_seed(97)


def rnd(*shape):
    return torch.randn(*shape, generator=G)


COUNTS = torch.tensor([0.0, 30.0, 10.0, 20.0])
NLL = [(rnd(4, 4), whole(1, 2, 3, 1)), (rnd(4, 4), whole(2, 2, 3, 3)), (rnd(4, 4), whole(1, -100, 3, 2)), (rnd(4, 4), whole(-100, -100, 1, 1)), (rnd(4, 4), whole(3, 1, 2, 1))]


@case(NLL[0], NLL)
def weights_of_classes_that_never_came():
    weight = COUNTS.sum() / COUNTS

    def program(logits, target):
        return F.cross_entropy(logits, target, weight=weight)

    return program


@case(NLL[0], NLL)
def slope_of_a_summed_loss_with_void_pixels():
    weight = COUNTS.sum() / COUNTS

    def program(logits, target):
        with torch.enable_grad():
            x = logits.detach().requires_grad_()
            loss = F.nll_loss(x * 2.0, target, weight=weight, reduction="sum")
            return torch.autograd.grad(loss, x)[0]

    return program
