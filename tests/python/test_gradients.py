"""Programs that take gradients of their own results: forces, Jacobians, one step of training."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lazyrt


@pytest.fixture
def check(bundle, close):
    """check(model, make): exports at make(), then compares with eager at make() and two other inputs."""

    def run(model, make, **options):
        torch.manual_seed(0)
        twin = copy.deepcopy(model)
        report = lazyrt.export(model, make(), bundle, **options)
        program = lazyrt.load(bundle)
        for _ in range(3):
            args = make()
            eager = twin(*[a.clone() for a in args])
            ours = program(*args)
            pairs = zip(ours, eager) if isinstance(eager, (tuple, list)) else [(ours, eager)]
            for got, expected in pairs:
                close(got, expected)
        return report

    return run


class SchNet(nn.Module):
    """Energy and forces of a molecule: continuous-filter convolutions over pairs within a cutoff."""

    def __init__(self, features=16, create_graph=False):
        super().__init__()
        self.create_graph = create_graph
        self.embedding = nn.Embedding(20, features)
        self.filters = nn.ModuleList(nn.Sequential(nn.Linear(8, features), nn.SiLU(), nn.Linear(features, features)) for _ in range(2))
        self.updates = nn.ModuleList(nn.Sequential(nn.Linear(features, features), nn.Softplus(), nn.Linear(features, features)) for _ in range(2))
        self.norm = nn.LayerNorm(features)
        self.head = nn.Sequential(nn.Linear(features, features), nn.Tanh(), nn.Linear(features, 1))
        self.register_buffer("centers", torch.linspace(0, 4, 8))

    def energy(self, numbers, positions, sources, targets):
        difference = positions[targets] - positions[sources]
        distance = (difference.pow(2).sum(-1) + 1e-8).sqrt()
        basis = torch.exp(-2 * (distance[:, None] - self.centers) ** 2)
        cutoff = 0.5 * (torch.cos(distance * torch.pi / 5) + 1) * (distance < 5)
        h = self.embedding(numbers)
        for filters, update in zip(self.filters, self.updates):
            messages = h[sources] * filters(basis) * cutoff[:, None]
            h = h + update(torch.zeros_like(h).index_add(0, targets, messages))
        return self.head(self.norm(h)).sum()

    def forward(self, numbers, positions, sources, targets):
        positions = positions.requires_grad_()
        energy = self.energy(numbers, positions, sources, targets)
        forces = -torch.autograd.grad(energy, positions, create_graph=self.create_graph)[0]
        return energy.detach(), forces.detach()


def molecule(atoms=5):
    pairs = torch.combinations(torch.arange(atoms))
    sources, targets = torch.cat([pairs, pairs.flip(1)]).t().contiguous()
    return lambda: (torch.randint(1, 20, (atoms,)), torch.randn(atoms, 3), sources, targets)


@pytest.mark.parametrize("create_graph", [False, True])
def test_forces(check, create_graph):
    report = check(SchNet(create_graph=create_graph).eval(), molecule())
    assert report.verdict == "SOUND", report
    assert not [f for f in report.findings if f.severity != "note"], report


def test_forces_under_enable_grad(check):
    class Forces(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(3, 16), nn.GELU(), nn.Linear(16, 1))

        @torch.no_grad()
        def forward(self, x):
            with torch.enable_grad():
                x = x.detach().requires_grad_(True)
                energy = self.net(x).square().sum()
            return torch.autograd.grad(energy, x)[0]

    check(Forces().eval(), lambda: (torch.randn(4, 3),))


def test_second_derivative(check):
    class Hessian(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

        def forward(self, x):
            x = x.requires_grad_()
            first, = torch.autograd.grad(self.net(x).sum(), x, create_graph=True)
            rows = [torch.autograd.grad(first[:, i].sum(), x, retain_graph=True)[0] for i in range(3)]
            return first.detach(), torch.stack(rows, 1).detach()

    check(Hessian().eval(), lambda: (torch.randn(4, 3),))


def test_functional_transforms(check):
    class Transforms(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(3, 8), nn.SiLU(), nn.Linear(8, 2))

        def forward(self, x):
            slope = torch.func.grad(lambda v: self.net(v).pow(2).sum())(x)
            _, pull = torch.func.vjp(self.net, x)
            jacobians = torch.func.vmap(torch.func.jacrev(self.net))(x)
            return slope, pull(torch.ones(4, 2))[0], jacobians

    check(Transforms().eval(), lambda: (torch.randn(4, 3),))


def test_one_step_of_training(check):
    """Weights of a run are the stored ones less a gradient step: test-time training."""

    class Adapt(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.head = nn.Linear(4, 6), nn.Linear(6, 3)

        def forward(self, x, labels):
            loss = F.cross_entropy(self.head(F.relu(self.layer(x))), labels)
            weight, bias = torch.autograd.grad(loss, [self.layer.weight, self.layer.bias])
            adapted = {"weight": self.layer.weight - 0.1 * weight, "bias": self.layer.bias - 0.1 * bias}
            return self.head(F.relu(torch.func.functional_call(self.layer, adapted, (x,)))).detach()

    check(Adapt().eval(), lambda: (torch.randn(5, 4), torch.randint(0, 3, (5,))))


LAYERS = {
    "relu": nn.ReLU(), "leaky": nn.LeakyReLU(0.2), "elu": nn.ELU(1.3), "selu": nn.SELU(), "celu": nn.CELU(1.5), "gelu": nn.GELU(),
    "gelu_tanh": nn.GELU("tanh"), "silu": nn.SiLU(), "mish": nn.Mish(), "softplus": nn.Softplus(2, 1), "sigmoid": nn.Sigmoid(),
    "tanh": nn.Tanh(), "hardtanh": nn.Hardtanh(), "hardsigmoid": nn.Hardsigmoid(), "hardswish": nn.Hardswish(),
    "logsigmoid": nn.LogSigmoid(), "softshrink": nn.Softshrink(), "hardshrink": nn.Hardshrink(), "prelu": nn.PReLU(),
    "glu": nn.GLU(1), "softmax": nn.Softmax(1), "log_softmax": nn.LogSoftmax(-1), "softsign": nn.Softsign(),
    "conv": nn.Conv2d(4, 6, 3, 2, 1), "conv_groups": nn.Conv2d(4, 8, (3, 2), groups=2, dilation=2), "depthwise": nn.Conv2d(4, 4, 3, groups=4),
    "conv_transpose": nn.ConvTranspose2d(4, 3, 3, 2, 1, output_padding=1), "max_pool": nn.MaxPool2d(3, 2, 1), "max_pool_ceil": nn.MaxPool2d(2, 2, ceil_mode=True),
    "avg_pool": nn.AvgPool2d(3, 2, 1), "avg_pool_inside": nn.AvgPool2d(3, 2, 1, count_include_pad=False), "avg_pool_ceil": nn.AvgPool2d(2, 2, ceil_mode=True),
    "adaptive": nn.AdaptiveAvgPool2d((2, 3)), "global": nn.AdaptiveAvgPool2d(1), "layer_norm": nn.LayerNorm(7), "layer_norm_2": nn.LayerNorm((6, 7)),
    "group_norm": nn.GroupNorm(2, 4), "batch_norm": nn.BatchNorm2d(4), "instance_norm": nn.InstanceNorm2d(4, affine=True), "rms_norm": nn.RMSNorm(7),
    "bilinear": nn.Upsample(scale_factor=2, mode="bilinear"), "corners": nn.Upsample((9, 5), mode="bilinear", align_corners=True),
    "nearest": nn.Upsample(scale_factor=2), "bicubic": nn.Upsample((9, 10), mode="bicubic"), "reflect": nn.ReflectionPad2d((1, 2, 2, 1)),
    "replicate": nn.ReplicationPad2d(2), "zero_pad": nn.ZeroPad2d((1, 0, 2, -1)), "pixel_shuffle": nn.PixelShuffle(2), "linear": nn.Linear(7, 5),
    "unfold": nn.Unfold(2),
}


class SlopeOf(nn.Module):
    """A layer's gradient in its input and its weights."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, direction):
        x = x.requires_grad_()
        y = self.layer(x)
        scale = direction[: y.numel()].reshape(y.shape)
        return [g.detach() for g in torch.autograd.grad(y, [x, *self.layer.parameters()], scale)]


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, check):
    torch.manual_seed(0)
    layer = LAYERS[name].eval()
    # Where softmax is full at 1, eager's own slope is rounding alone: no altered inputs that drive it there.
    level = "sample" if name == "softmax" else "full"
    check(SlopeOf(layer), lambda: (torch.randn(2, 4, 6, 7), torch.randn(2000)), check=level)


FUNCTIONS = {
    "select": lambda x: (x[1, :3] * x[:, 2]).sum(),
    "slices": lambda x: (x[1:, ::2] ** 2).sum(),
    "gather": lambda x: (x.gather(1, x.detach().argsort(1)) * torch.arange(4.0)).sum(),
    "index": lambda x: (x[[0, 0, 2]][:, :3] * x[:, [1, 1, 3]]).sum(),
    "topk": lambda x: (x.topk(2, 1)[0] ** 2).sum(),
    "max": lambda x: x.max(1)[0].sum() + x.amax(0).pow(2).sum() + x.max(),
    "norm": lambda x: x.norm() + torch.linalg.vector_norm(x, 3, 1).sum() + F.normalize(x, dim=1)[0, 0],
    "std": lambda x: x.std(1).sum() + x.var() * 2,
    "cumsum": lambda x: (x.cumsum(0) ** 2).sum() + x.exp().cumsum(1).log().sum(),
    "logsumexp": lambda x: x.logsumexp(1).sum() + F.log_softmax(x, 0)[0].sum(),
    "cdist": lambda x: torch.cdist(x, x.flip(0) + 2).sum(),
    "attention": lambda x: (F.scaled_dot_product_attention(x[None, None], x[None, None] * 2, x[None, None], is_causal=True) ** 2).sum(),
    "mse": lambda x: F.mse_loss(x, x.detach() * 2 + 1) + F.smooth_l1_loss(x, torch.zeros(3, 4)) + F.huber_loss(x, torch.ones(3, 4)),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.tensor([1, -100, 3])) + F.binary_cross_entropy(x.sigmoid(), torch.full((3, 4), 0.3)),
    "where": lambda x: torch.where(x > 0, x ** 3, x.sin()).sum() + x.clamp(-0.5, 0.5).square().sum(),
    "unfold": lambda x: (x.unfold(1, 3, 1) ** 2).sum(),
    "diagonal": lambda x: (x.diagonal() ** 3).sum() + x[:, :3].trace(),
    "einsum": lambda x: torch.einsum("ij,kj,lj->", x, x + 1, x * 2),
    "scatter": lambda x: (torch.zeros(3, 5).scatter_add(1, torch.tensor([[0, 0, 4, 2]] * 3), x) ** 2).sum(),
    "gru": lambda x: torch.gru(x[None], torch.zeros(1, 1, 2), [torch.ones(6, 4) * 0.3, torch.ones(6, 2) * 0.2, torch.zeros(6), torch.zeros(6)], True, 1, 0.0, False, False, True)[0].sum(),
    "pad": lambda x: (F.pad(x, (1, 2), value=3) ** 2).sum() + (F.pad(x[None], (1, 2), mode="reflect") ** 3).sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name, check):
    def slope(x):
        x = x.requires_grad_()
        return torch.autograd.grad(FUNCTIONS[name](x), x)[0]

    check(slope, lambda: (torch.randn(3, 4),))


def test_checkpoint(check):
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.block, self.head = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8, 2)

        def forward(self, x):
            return self.head(torch.utils.checkpoint.checkpoint(self.block, x, use_reentrant=False)).detach()

    import torch.utils.checkpoint  # noqa: F401
    check(Checkpointed().eval(), lambda: (torch.randn(3, 4),))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
        self.scale = nn.Parameter(torch.tensor([1.5, -0.5, 2.0]))
        self.register_buffer("shift", torch.tensor([0.1, 0.2, 0.3]))


class Backward(Net):
    def forward(self, x):
        x = x.detach().requires_grad_()
        self.net(x).pow(2).sum().backward()
        return -x.grad


class BackwardTwice(Net):
    """Gradients of several backward() add up."""

    def forward(self, x):
        x.requires_grad_()
        y = self.net(x)
        y[:, 0].sum().backward(retain_graph=True)
        first = x.grad.clone()
        (y[:, 1] ** 2).sum().backward()
        return first, x.grad


class CallersTensor(Net):
    def forward(self, x):
        x.requires_grad = True
        return torch.autograd.grad(self.net(x * self.scale).sum(), x)[0]


class GradientOfParameters(Net):
    def forward(self, x):
        self.zero_grad()
        loss = self.net(x * self.scale + self.shift).pow(2).mean()
        loss.backward()
        norm = torch.stack([p.grad.norm() for p in self.parameters()])
        self.zero_grad()
        return loss.detach(), norm


class SeveralInputs(Net):
    def forward(self, x):
        a, b = x.clone().requires_grad_(), (x * 2).requires_grad_()
        unused = torch.ones(3, requires_grad=True)
        da, db, nothing, ds = torch.autograd.grad(self.net(a * b).sum(), [a, b, unused, self.scale], retain_graph=True, allow_unused=True)
        assert nothing is None and ds is None
        return da, db


class Strain(Net):
    """Stress of a cell: a tensor made in the forward, whose gradient is wanted."""

    def forward(self, x):
        strain = torch.zeros(3, 3)
        strain.requires_grad_(True)
        x = x.requires_grad_()
        moved = x @ (torch.eye(3) + 0.5 * (strain + strain.t()))
        energy = self.net(moved).sum(1)
        forces, stress = torch.autograd.grad(energy, [x, strain], grad_outputs=torch.ones(4), create_graph=self.training)
        return -forces, stress, energy.detach()


class Relaxed(Net):
    def forward(self, x):
        for _ in range(3):
            x = x.detach().requires_grad_()
            x = x - 0.1 * torch.autograd.grad(self.net(x).pow(2).sum(), x)[0]
        return x


class InnerTraining(Net):
    def forward(self, x):
        weight = self.scale.detach().clone().requires_grad_()
        with torch.enable_grad():
            for _ in range(3):
                loss = ((x * weight).sum(1) - 1).pow(2).mean()
                gradient, = torch.autograd.grad(loss, weight)
                weight = (weight - 0.1 * gradient).detach().requires_grad_()
        return (x * weight).sum(1).detach()


class InnerOptimizer(Net):
    def forward(self, x):
        weight = torch.zeros(3, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            ((x * weight).sum(1) - 1).pow(2).mean().backward()
            optimizer.step()
        return weight.detach() * 1


class Detached(Net):
    def forward(self, x):
        x = x.requires_grad_()
        with torch.no_grad():
            gate = self.net(x).sum()
        energy = (x.pow(3).detach() * x).sum() * gate + (x.data * x).sum()
        return torch.autograd.grad(energy, x)[0]


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient * (x.abs() < 1)


class OwnFunction(Net):
    def forward(self, x):
        x = x.requires_grad_()
        return torch.autograd.grad((StraightThrough.apply(x * 1.5) * self.scale).sum(), x)[0]


class Hooked(Net):
    def forward(self, x):
        x = x.requires_grad_()
        h = x * self.scale
        h.register_hook(lambda gradient: gradient.clamp(-1, 1) * 2)
        return torch.autograd.grad((h ** 2).sum(), x)[0]


class Penalty(nn.Module):
    """A gradient's norm through a convolution, and its own gradient."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, 4, 3, stride=2, padding=1), nn.SiLU(), nn.ConvTranspose1d(4, 2, 3), nn.Flatten(), nn.LayerNorm(10), nn.Linear(10, 1))

    def forward(self, x):
        x = x.reshape(4, 1, 3).repeat(1, 1, 2)[:, :, :6].requires_grad_()
        first, = torch.autograd.grad(self.net(x).sum(), x, create_graph=True)
        penalty = (first.norm(2, dim=-1) - 1).pow(2).mean()
        return penalty.detach(), torch.autograd.grad(penalty, x)[0]


class Jacobians(Net):
    def forward(self, x):
        jacobian = torch.autograd.functional.jacobian(self.net, x[0])
        hessian = torch.autograd.functional.hessian(lambda v: self.net(v).pow(2).sum(), x[0])
        return jacobian, hessian, torch.autograd.functional.vjp(self.net, x[1], torch.ones(2))[1]


class Transformed(Net):
    def forward(self, x):
        hessians = torch.func.vmap(torch.func.hessian(lambda v: self.net(v).pow(2).sum()))(x)
        value, gradient = torch.func.grad_and_value(lambda v: self.net(v).sum())(x)[::-1]
        return hessians, value, gradient


class Batched(Net):
    def forward(self, x):
        x = x.requires_grad_()
        y = self.net(x)
        return torch.autograd.grad(y, x, grad_outputs=torch.eye(2)[:, None].expand(2, 4, 2), is_grads_batched=True)[0]


class Saliency(Net):
    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            score = self.net(x).max(1)[0].sum()
            score.backward()
        return x.grad.abs().max(1)[0]


class Spectral(Net):
    def forward(self, x):
        x = x.requires_grad_()
        energy = torch.fft.rfft(x @ x.t()).abs().pow(2).sum() + torch.view_as_complex(x[:, :2] * 1.5).angle().sum()
        return torch.autograd.grad(energy, x)[0]


class Frozen(Net):
    def __init__(self):
        super().__init__()
        self.requires_grad_(False)

    def forward(self, x):
        x = x.requires_grad_()
        return torch.autograd.grad(self.net(x).sum(), x)[0], torch.tensor(self.scale.requires_grad)


class Bars(Net):
    def forward(self, x):
        with torch.set_grad_enabled(True):
            pairs = (x[:, None] - x[None]).requires_grad_()
            distance = pairs.norm(dim=-1)
            energy = torch.where(distance > 0, 1 / (distance + 1), torch.zeros(())).sum()
            return torch.autograd.grad(energy, pairs)[0].nan_to_num(0).sum(1)


class Caught(Net):
    def forward(self, x):
        try:
            x = x.requires_grad_()
            return torch.autograd.grad(self.net(x).sum(), x)[0]
        except RuntimeError:
            return torch.zeros_like(x)


class Retained(Net):
    def forward(self, x):
        x.requires_grad_()
        hidden = self.net[0](x)
        hidden.retain_grad()
        self.net[2](self.net[1](hidden)).sum().backward()
        return hidden.grad, x.grad


class Written(Net):
    """In-place writes between a tensor and its gradient."""

    def forward(self, x):
        x = x.detach().requires_grad_()
        y = x * 2
        y[0] = y[1] * 3
        y.mul_(self.scale)
        y[:, 1].add_(x[:, 0])
        return torch.autograd.grad(y.pow(2).sum(), x)[0]


class Corners(Net):
    """Slopes where a function has none, as eager has them."""

    def forward(self, x):
        x = (x * 0).detach().requires_grad_()
        y = x.abs() + F.relu(x) + x.norm(dim=1, keepdim=True) + F.leaky_relu(x) + F.hardtanh(x + 1) + F.elu(x) + F.softshrink(x, 0.0) + x.clamp(0, 1) + x.amax(1, True)
        return torch.autograd.grad(y.sum(), x)[0] + torch.autograd.grad((x.detach() / 0 * F.relu(x * float("nan"))).sum(), x, allow_unused=True, materialize_grads=True)[0].isnan()


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTM(3, 5, 2, batch_first=True, bidirectional=True), nn.GRU(3, 4)
        self.encoder = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True)

    def forward(self, x):
        x = x[None].detach().requires_grad_()
        energy = self.lstm(x)[0].pow(2).sum() + self.gru(x)[0].sum() + self.encoder(x.repeat(1, 1, 2)).pow(3).sum()
        return torch.autograd.grad(energy, x)[0]


class Resized(nn.Module):
    def forward(self, x):
        x = x.detach().requires_grad_()
        linear = F.interpolate(x[None], scale_factor=2, mode="linear").pow(2).sum() + F.interpolate(x[None], size=7, mode="linear", align_corners=True).pow(3).sum()
        pooled = F.max_pool1d(x[None], 2).sum() + F.avg_pool1d(x[None], 2).pow(2).sum()
        nearest = sum(F.interpolate(x[None], **size).pow(3).sum() for size in ({"size": 5}, {"scale_factor": 1.2}, {"scale_factor": 2.3}))
        return torch.autograd.grad(linear + pooled + nearest, x)[0]


class RunningMean(Net):
    """State that gradients go into."""

    def forward(self, x):
        x = x.detach().requires_grad_()
        gradient = torch.autograd.grad(self.net(x + self.shift).sum(), x)[0]
        self.shift.mul_(0.9).add_(0.1 * gradient.mean(0))
        return gradient


PROGRAMS = [Caught, Retained, Written, Corners, Recurrent, Resized, RunningMean, Backward, BackwardTwice, CallersTensor, GradientOfParameters, SeveralInputs, Strain, Relaxed, InnerTraining, InnerOptimizer, Detached,
            OwnFunction, Hooked, Penalty, Jacobians, Transformed, Batched, Saliency, Spectral, Frozen, Bars]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda cls: cls.__name__)
def test_program(program, check):
    torch.manual_seed(0)
    check(program().eval(), lambda: (torch.randn(4, 3),))


def test_gradients_of_parameters_stay_as_they_were(bundle):
    model = GradientOfParameters().eval()
    model.scale.grad = torch.ones(3)
    kept = model.scale.grad
    lazyrt.export(model, (torch.randn(4, 3),), bundle)
    assert model.scale.grad is kept and kept.equal(torch.ones(3))
    assert all(p.grad is None and p.requires_grad for p in model.net.parameters())


def test_gradients_left_for_the_next_call_are_refused(bundle):
    """Eager adds to what the last call left."""
    class Adds(Net):
        def forward(self, x):
            self.net(x).sum().backward()
            return self.net[0].weight.grad.sum()

    with pytest.raises(lazyrt.ExportError):
        lazyrt.export(Adds().eval(), (torch.randn(4, 3),), bundle)


def test_a_step_on_the_own_parameters_is_told(bundle):
    class Trains(Net):
        def forward(self, x):
            gradient, = torch.autograd.grad(self.net(x * self.scale).sum(), self.scale)
            with torch.no_grad():
                self.scale -= 0.1 * gradient
            return self.scale.sum().detach()

    model = Trains().eval()
    with pytest.raises(lazyrt.ExportError, match="scale"):
        lazyrt.export(model, (torch.randn(4, 3),), bundle)
    assert model.scale.detach().equal(torch.tensor([1.5, -0.5, 2.0])) and model.scale.grad is None


def test_a_model_without_gradients_keeps_its_operators_whole(bundle):
    """Only what takes gradients is decomposed."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5)).eval()
    report = lazyrt.export(model, (torch.randn(1, 3, 8, 8),), bundle)
    assert report.verdict == "SOUND"


class Doubles(nn.Module):
    def forward(self, x):
        return x * 2 if torch.is_grad_enabled() else x + 1


def test_a_program_that_asks_for_the_gradient_mode_gives_what_no_grad_gives(bundle):
    x = torch.randn(4, 3)
    assert lazyrt.export(Doubles(), (x,), bundle).verdict == "SOUND"
    assert lazyrt.load(bundle)(x).equal(x + 1)
