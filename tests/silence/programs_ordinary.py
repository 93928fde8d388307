"""Things that ordinary programs do and that once were refused: they have to be right, and stay so."""

import asyncio

import torch
import torch.nn.functional as F
from drawn_inputs import ids
from harness import case, gradient_of
from torch import nn

RIGHT, LOUD = ("right",), ("right", "refused")
X = [torch.randn(4, 5), torch.randn(4, 5) * 3, torch.ones(4, 5)]
ROWS = [torch.randn(3, 4), torch.tensor([[0.0, 1, 2, 3]] * 3), torch.zeros(3, 4)]
STEPS = torch.randn(3, 5, 3)

# -------------------------------------------------------------------- sequences of several lengths


class Packed(nn.Module):
    def __init__(self, kind, in_order, **options):
        super().__init__()
        self.rnn = kind(3, 4, batch_first=True, **options)
        self.in_order = in_order

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=self.in_order)
        y, state = self.rnn(packed)
        return nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=x.shape[1]), state


@case((STEPS, ids(5, 3, 2)), [(STEPS * k, ids(5, 3, 2)) for k in (1, 2)], expect=RIGHT)
def packed_in_order():
    return Packed(nn.LSTM, True)


@case((STEPS, ids(5, 3, 2)), [(STEPS, ids(*v)) for v in ((5, 3, 2), (4, 3, 2), (3, 5, 2), (5, 3, 0))], expect=("refused",))
def packed_of_other_lengths():
    return Packed(nn.GRU, True)


@case((STEPS, ids(3, 5, 2)), [(STEPS, ids(*v)) for v in ((3, 5, 2), (5, 2, 3), (2, 3, 5))], expect=RIGHT)
def packed_in_any_order():
    return Packed(nn.LSTM, False, num_layers=2, bidirectional=True)


@case((STEPS,), [(STEPS,), (STEPS * 2,)], expect=RIGHT)
def packed_by_a_list():
    return lambda x: nn.utils.rnn.pack_padded_sequence(x, [3, 2, 1], batch_first=True).data * 2


@case((STEPS[0], STEPS[1, :3]), [(STEPS[1], STEPS[2, :3])], expect=RIGHT)
def sequences_packed():
    return lambda x, y: nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([x, y]))


@case((STEPS, ids(5, 3, 2)), [(STEPS, ids(5, 3, 2)), (STEPS, ids(3, 5, 2))], expect=("refused",))
def packed_where_lengths_may_be_wrong():
    layer = Packed(nn.GRU, True)

    def program(x, lengths):
        try:
            return layer(x, lengths)[1]
        except RuntimeError:
            return x.sum()

    return program


# -------------------------------------------------------------------- bags of rows

BAGS = [ids(0, 1, 2, 3, 3, 1).reshape(2, 3), ids(5, 1, 2, 0, 3, 1).reshape(2, 3), ids(9, 1, 2, 0, 3, 3).reshape(2, 3)]
CUT = [(ids(1, 0, 4, 5), ids(0, 2)), (ids(1, 2, 4, 9), ids(0, 1)), (ids(0, 2, 0, 9), ids(0, 4)), (ids(1, 2, 4, 9), ids(0, 0))]


@case(BAGS[0], BAGS, expect=RIGHT)
def bag_sums():
    return nn.EmbeddingBag(10, 4, mode="sum")


@case(BAGS[0].int(), [bag.int() for bag in BAGS], expect=RIGHT)
def bag_means_with_padding():
    return nn.EmbeddingBag(10, 4, mode="mean", padding_idx=3)


@case(BAGS[0], BAGS, expect=RIGHT)
def bag_maxima_with_padding():
    return nn.EmbeddingBag(10, 4, mode="max", padding_idx=3)


@case(CUT[0], CUT, expect=RIGHT)
def bags_by_offsets():
    return nn.EmbeddingBag(10, 4, mode="sum")


@case(CUT[0], CUT, expect=RIGHT)
def bag_means_by_offsets():
    return nn.EmbeddingBag(10, 4, mode="mean", padding_idx=0)


@case(CUT[0], CUT, expect=RIGHT)
def bag_maxima_by_offsets():
    return nn.EmbeddingBag(10, 4, mode="max")


@case((ids(1, 2, 4, 5), ids(0, 2, 3)), [(ids(1, 2, 4, 9), ids(*v)) for v in ((0, 1, 1), (0, 3, 2), (1, 2, 3), (0, 2, 5))], expect=("refused",))
def bags_by_wrong_offsets():
    return nn.EmbeddingBag(10, 4, mode="mean")


@case((ids(1, 2, 4, 5), ids(0, 2, 4)), [(ids(1, 2, 4, 9), ids(*v)) for v in ((0, 1, 4), (0, 1, 2))], expect=("refused",))
def bags_with_the_last_offset():
    return nn.EmbeddingBag(10, 4, mode="mean", include_last_offset=True)


@case((BAGS[0], torch.rand(2, 3)), [(bag, torch.rand(2, 3)) for bag in BAGS], expect=RIGHT)
def bags_with_weights():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = nn.EmbeddingBag(10, 4, mode="sum")

        def forward(self, indices, weights):
            return self.rows(indices, per_sample_weights=weights)

    return Net()


@case(BAGS[0], [BAGS[1], BAGS[1] + 7], expect=("refused",))
def bags_tried():
    rows = nn.EmbeddingBag(10, 4)

    def program(indices):
        try:
            rows(indices)
        except RuntimeError:
            return indices - 100
        return indices * 2

    return program


# -------------------------------------------------------------------- 16-bit floats

HALVES = [(x.half(), x.flip(0).half()) for x in (X[1], X[0], X[2] * 70)]
BRAINS = [(a.bfloat16(), b.bfloat16()) for a, b in HALVES]


@case(HALVES[0], [*HALVES, (HALVES[0][0] * 300, HALVES[0][1] * 300)], expect=RIGHT)
def halves_are_rounded_at_each_step():
    return lambda a, b: ((a + b) * b - a, (a + b * 1e-3) - a, (a * b) - (a * b) * 0.5)


@case(BRAINS[0], BRAINS, expect=RIGHT)
def brains_are_rounded_at_each_step():
    return lambda a, b: ((a + b * 1e-2) - a, torch.stack([a, b, a]).cumsum(0), a > b, torch.where(a > 0, a, b))


@case(HALVES[0], HALVES, expect=RIGHT)
def numbers_beside_halves():
    return lambda a, b: (a % 0.1, torch.fmod(b, 0.3), a * 0.1, a / 0.1, a // 0.3, 0.1 - a, a.abs() ** 0.3, torch.tensor(0.1) * a, a == a[0, 0].item())


@case((torch.full((4, 5), 0.1).half(),), [(torch.full((4, 5), v).half(),) for v in (0.1, 0.2)], expect=RIGHT)
def halves_compared_with_numbers():
    return lambda a: (a == 0.1, a >= 0.1, a < 0.2, torch.maximum(a, torch.tensor(0.1)) == 0.1)


@case(HALVES[0], HALVES, expect=RIGHT, tolerance=2e-3)
def functions_of_halves():
    return lambda a, b: (a.softmax(1), a.std(1), a.norm(), a.logsumexp(1), a.sigmoid(), a @ b.T, a.sort(1)[0], a.topk(2, 1)[0], F.gelu(a), torch.add(a, b, alpha=0.1))


@case(BRAINS[0][:1], [x[:1] for x in BRAINS], expect=RIGHT, tolerance=2e-2)
def layers_of_brains():
    return nn.Sequential(nn.Linear(5, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2)).bfloat16().eval()


@case(HALVES[0], HALVES, expect=RIGHT, tolerance=2e-3)
def halves_beside_floats():
    return lambda a, b: (a + b.float(), a.sum(dtype=torch.float32), (a.float() * b.float()).half() + a.bfloat16().half(), a[[0, 2]], a.index_add(0, ids(0, 0), b[:2]))


# -------------------------------------------------------------------- losses, products, gradients


@case((X[0], X[1].sign()), [(X[1], X[0].sign()), (X[2] * 100, -X[2])], expect=RIGHT)
def soft_margin():
    return lambda x, y: (F.soft_margin_loss(x, y), F.soft_margin_loss(x, y, reduction="none"))


@case((X[0], X[1]), [(X[1], X[0]), (X[2], X[2])], expect=RIGHT)
def distances():
    return lambda x, y: (torch.dist(x, y), torch.dist(x, y, p=1), torch.dist(x, y, p=float("inf")), torch.dist(x, y, p=0))


@case(torch.arange(12).reshape(3, 4), [torch.arange(12).reshape(3, 4) * k for k in (1, -5, 2**40)], expect=RIGHT)
def whole_matrices_by_a_constant():
    table = torch.arange(12).reshape(3, 4)
    return lambda x: (x + 1) @ table.T


@case(X[0] > 0, [x > 0 for x in X], expect=RIGHT)
def largest_truth():
    return lambda x: (x.max(1), x.min(0), x.max())


@case(ROWS[0], ROWS, expect=RIGHT)
def gradient_of_running_products():
    return gradient_of(lambda x: (x.cumprod(1) ** 2).sum())


# -------------------------------------------------------------------- TorchScript


class ScriptPowers(nn.Module):
    def forward(self, x):
        n = x[0, 0].item()
        k = int(x[0, 1].item())
        return x * (float(n) ** 0.7) + 2.0 ** float(k) + k**2


@case(torch.tensor([[2.0, 3.0]]), [torch.tensor([[a, b]]) for a, b in ((2.0, 3.0), (0.0, -3.0), (-2.0, 1.0), (float("inf"), 2.0))], expect=RIGHT, front="torchscript")
def script_powers():
    return torch.jit.script(ScriptPowers())


class ScriptRotation(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("turn", torch.polar(torch.ones(5), torch.arange(5.0)))
        self.weight = nn.Parameter(torch.randn(5, dtype=torch.complex64))

    def forward(self, x):
        self.turn = self.turn * 2
        return torch.view_as_real(torch.complex(x, x * 0) * self.turn), (torch.complex(x, x) * self.weight).abs()


@case(X[0], X, expect=RIGHT, front="torchscript")
def script_of_complex_buffers():
    return torch.jit.script(ScriptRotation())


class ScriptForces(nn.Module):
    def forward(self, x):
        x = x.detach().requires_grad_()
        energy = torch.norm(x) + x.std(1).sum() + (x.cumprod(1) ** 2).sum() + x.amax(1).sum() + x.logsumexp(1).sum()
        force = torch.autograd.grad([energy], [x])[0]
        assert force is not None
        return force


@case(ROWS[0], [ROWS[0], ROWS[1]], expect=RIGHT, front="torchscript")
def script_of_forces():
    return torch.jit.script(ScriptForces())


class ScriptLogic(nn.Module):
    def forward(self, x):
        inside = x > 0
        inside.logical_and_(x < 1).logical_or_(x < -1)
        return inside.logical_xor_(x > 0.5)


@case(X[0], X, expect=RIGHT, front="torchscript")
def script_of_logic_in_place():
    return torch.jit.script(ScriptLogic())


# -------------------------------------------------------------------- hooks


@case(X[0], X, expect=RIGHT)
def hook_of_several_gradients():
    def program(x):
        seen = []
        with torch.enable_grad():
            a, b = x.detach().requires_grad_(), x.detach().clone().requires_grad_()
            y, z = a * b, a + b
            torch.autograd.graph.register_multi_grad_hook((y, z), lambda gradients: seen.append(sum(g.sum() for g in gradients)))
            (y * z).sum().backward()
        return seen[0], len(seen)

    return program


class Watched(nn.Module):
    """Steps by gradients that a hook sees before they are added up."""

    def __init__(self, register):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(5))
        self.other = torch.ones(5, requires_grad=True)
        self.handle = register(self)

    def forward(self, x):
        with torch.enable_grad():
            ((x * self.weight * self.other) ** 2).sum().backward()
        step = self.weight.grad + self.other.grad
        self.weight.grad = self.other.grad = None
        return x - step


@case(X[0], X, expect=("failed",))
def hook_of_several_parameters():
    def clip(gradients):
        for gradient in gradients:
            gradient.clamp_(-1e5, 1e5)

    return Watched(lambda net: torch.autograd.graph.register_multi_grad_hook((net.weight, net.other), clip))


@case(X[0], X, expect=("failed",))
def hook_of_a_tensor_beside_parameters():
    return Watched(lambda net: net.other.register_hook(lambda gradient: gradient.clamp(-1e5, 1e5)))


@case(X[0], X, expect=("failed",))
def hook_before_gradients_are_added():
    def register(net):
        net.node = torch.autograd.graph._get_grad_fn_or_grad_acc(net.weight)
        return net.node.register_prehook(lambda gradients: (gradients[0].clamp(-1e5, 1e5),))

    return Watched(register)


class AveragesOfLists(nn.Module):
    """Running averages by torch's functions for lists of tensors."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("square", torch.ones(4))
        self.steps = [torch.zeros(4), torch.zeros(4)]

    def forward(self, x):
        both = [self.mean, self.square]
        torch._foreach_mul_(both, [0.9, 0.8])
        torch._foreach_add_(both, [x, x * x], alpha=0.1)
        torch._foreach_lerp_(self.steps, [x, -x], 0.5)
        torch._foreach_addcmul_(self.steps, both, [x, x], 0.25)
        roots = torch._foreach_sqrt(torch._foreach_abs(both))
        norms = torch._foreach_norm(self.steps)
        torch._foreach_copy_(self.steps, torch._foreach_div(self.steps, torch._foreach_add(roots, 1.0)))
        return roots[0] + roots[1] * norms[0] + self.steps[1]


@case((torch.randn(4),), [(torch.randn(4),) for _ in range(5)], expect=("right",))
def averages_of_lists():
    return AveragesOfLists()


@case((torch.rand(4),), [(torch.rand(4) + i,) for i in range(3)], expect=("right",))
def number_asked_for_its_class():
    def program(x):
        level = x.mean().item()
        return x * level if isinstance(level, float) else x

    return program


@case((X[0],), [(x,) for x in X], expect=("failed",))
def experts_awaited():
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(5, 3) for _ in range(3))

        async def ask(self, expert, x):
            await asyncio.sleep(0)
            return torch.tanh(expert(x))

        async def ask_all(self, x):
            return sum(await asyncio.gather(*(self.ask(expert, x) for expert in self.experts)))

        def forward(self, x):
            return asyncio.run(self.ask_all(x))

    return Experts()
