"""What people write: state that later calls only ask, observers, gates, enrolments, caches, arrays. Written in order to cheat an export that took what one call reads
for a constant; each comment says who would write it."""

import collections
import contextlib
import dataclasses
import functools
import io
import logging
import math
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from harness import people


def r(*shape, seed=1, scale=1.0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale


def ids(*values, dtype=torch.long):
    return torch.tensor(values, dtype=dtype)


T, Fa = torch.tensor(True), torch.tensor(False)
log = logging.getLogger("people")

# ------------------------------------------------------------------ state that a call only reads


@people("audio engineer: noise gate measured on the first block",
         lambda: [(r(64),)],
         lambda: [[(r(64),), (r(64, seed=2, scale=3),), (r(64, seed=3),)], [(torch.zeros(64),), (r(64, seed=2),), (r(64, seed=3),)]])
def noise_gate():
    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            self.floor = None

        def forward(self, x):
            if self.floor is None:
                self.floor = x.abs().mean()
                return torch.zeros_like(x)
            if self.floor < 1e-6:  # a silent room needs no gate
                return x
            return torch.where(x.abs() > self.floor, x, x * 0.1)

    return Gate()


@people("quantisation: scale taken from the first batch into a buffer",
         lambda: [(r(8, 4),)],
         lambda: [[(r(8, 4),), (r(8, 4, seed=2),), (r(8, 4, seed=3, scale=9),)], [(torch.zeros(8, 4),), (r(8, 4, seed=2),)]])
def scale_of_first_batch():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.ones(()))
            self.ready = False

        def forward(self, x):
            if not self.ready:
                self.scale.copy_(x.abs().amax())
                self.ready = True
                return x
            if self.scale == 0:
                return x
            return x / self.scale

    return Scale()


@people("voice front end: a call begins with a frame that only measures the level",
         lambda: [(r(32), T.clone()), (r(32, seed=2), Fa.clone())],
         lambda: [[(r(32), T.clone()), (r(32, seed=2), Fa.clone()), (r(32, seed=3), Fa.clone())],
                  [(torch.zeros(32), T.clone()), (r(32, seed=2), Fa.clone()), (r(32, seed=3), T.clone()), (r(32, seed=4), Fa.clone())]])
def level_of_a_call():
    class Level(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("level", torch.ones(()))

        def forward(self, x, start):
            if start:
                self.level.copy_(x.abs().mean())
                return torch.zeros_like(x)
            if self.level < 1e-4:
                return x
            return x / self.level

    return Level()


@people("EEG: electrodes that are dead in the first block are left out from then on",
         lambda: [(r(16, 6),)],
         lambda: [[(r(16, 6),), (r(16, 6, seed=2),)], [(r(16, 6) * torch.tensor([1.0, 1, 0, 1, 1, 1]),), (r(16, 6, seed=2),), (r(16, 6, seed=3),)]])
def dead_electrodes():
    class Montage(nn.Module):
        def __init__(self):
            super().__init__()
            self.alive = None

        def forward(self, x):
            if self.alive is None:
                self.alive = x.abs().sum(0) > 0
                return x.mean(1)
            return x[:, self.alive].mean(1)

    return Montage()


@people("speech: the language is found in the first segment, its head serves the session",
         lambda: [(r(5, 8),)],
         lambda: [[(r(5, 8),), (r(5, 8, seed=2),)], [(r(5, 8, seed=7, scale=4),), (r(5, 8, seed=2),)], [(r(5, 8, seed=9, scale=50) + 40,), (r(5, 8, seed=2),)]])
def language_of_the_session():
    class Speech(nn.Module):
        def __init__(self):
            super().__init__()
            self.detect = nn.Linear(8, 3)
            self.heads = nn.ModuleList(nn.Linear(8, 4) for _ in range(3))
            self.lang = None

        def forward(self, x):
            if self.lang is None:
                self.lang = (self.detect(x).mean(0) + torch.tensor([2000.0, 0.0, 0.0])).argmax()
            return self.heads[int(self.lang)](x)

    return Speech()


@people("microphone: gain from the first block, as a Python number, with a cap",
         lambda: [(r(64),)],
         lambda: [[(r(64),), (r(64, seed=2),)], [(r(64, scale=1e-3),), (r(64, seed=2),), (r(64, seed=3),)], [(torch.zeros(64),), (r(64, seed=2),)]])
def gain_with_a_cap():
    class Gain(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = None

        def forward(self, x):
            if self.gain is None:
                self.gain = 1.0 / (x.abs().max().item() + 1e-6)
                return x
            if self.gain > 150:
                return x * 150
            return x * self.gain

    return Gain()


@people("QAT: fake quantisation whose observer sees the first batch",
         lambda: [(r(4, 8),)],
         lambda: [[(r(4, 8),), (r(4, 8, seed=2),)], [(torch.full((4, 8), 0.5),), (r(4, 8, seed=2),), (r(4, 8, seed=3),)]])
def fake_quantised():
    class Observer(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("low", torch.tensor(float("inf")))
            self.register_buffer("high", torch.tensor(float("-inf")))
            self.enabled = True

        def forward(self, x):
            if self.enabled:
                low, high = torch.aminmax(x)
                self.low.copy_(torch.minimum(self.low, low))
                self.high.copy_(torch.maximum(self.high, high))
                self.enabled = False
                return x
            if (self.high - self.low).item() < 1e-8:
                return x
            scale = (self.high - self.low) / 255
            return ((x - self.low) / scale).round().clamp(0, 255) * scale + self.low

    return Observer()


@people("flow model: ActNorm with parameters initialised by the first batch",
         lambda: [(r(16, 3),)],
         lambda: [[(r(16, 3),), (r(16, 3, seed=2),)], [(torch.full((16, 3), 2.0),), (r(16, 3, seed=2),)]])
def act_norm_with_a_limit():
    class ActNorm(nn.Module):
        def __init__(self):
            super().__init__()
            self.bias, self.scale = nn.Parameter(torch.zeros(())), nn.Parameter(torch.ones(()))
            self.ready = False

        def forward(self, x):
            if not self.ready:
                with torch.no_grad():
                    self.bias.copy_(x.mean())
                    self.scale.copy_(1 / (x.std() + 1e-6))
                self.ready = True
                return x
            if self.scale.item() > 1e5:  # a constant channel is not blown up
                return x - self.bias
            return (x - self.bias) * self.scale

    return ActNorm()


@people("amplifier protection: the integrator is held at 0 in the first two blocks",
         lambda: [(r(16),)],
         lambda: [[(r(16, seed=s),) for s in range(6)], [(r(16),), (r(16),), (r(16, scale=1e6),), (r(16, seed=4),), (r(16, seed=5),)]])
def protection_after_settling():
    class Protect(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("heat", torch.zeros(()))
            self.blocks = 0

        def forward(self, x):
            hot = bool(self.heat > 1e4)
            if self.blocks < 2:
                self.blocks += 1
                self.heat.zero_()
            else:
                self.heat.mul_(0.5).add_(x.abs().amax())
            return torch.zeros_like(x) if hot else x

    return Protect()


@people("industrial monitoring: events are counted until an operator resets",
         lambda: [(r(8, scale=0.1), T.clone()), (r(8, scale=0.1, seed=2), Fa.clone())],
         lambda: [[(r(8, scale=0.1), T.clone()), *[(r(8, scale=9, seed=s), Fa.clone()) for s in range(26)]],
                  [(r(8, scale=9, seed=s), Fa.clone()) for s in range(24)]])
def alarm_until_reset():
    class Alarm(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("events", torch.zeros((), dtype=torch.long))

        def forward(self, x, reset):
            alarm = bool(self.events >= 20)
            if reset:
                self.events.zero_()
            else:
                self.events += (x.abs() > 5).any()
            return x * 0 if alarm else x

    return Alarm()


# ------------------------------------------------------------------ numbers


@people("event cameras: tokens are stamped with a clock in milliseconds",
         lambda: [(ids(3, 5, 7), torch.tensor([10.0, 250.0, 999.0], dtype=torch.float64))],
         lambda: [[(ids(3, 5, 7), torch.tensor([10.0, 250.0, 999.0], dtype=torch.float64)),
                   (ids(3, 5, 8), torch.tensor([10.0, 250.0, 86399999.0], dtype=torch.float64)),
                   (ids(1, 2, 3), torch.tensor([0.0, 1.0, 16777217.0], dtype=torch.float64))]])
def stamped_by_new_tensor():
    def stamp(tokens, times):
        last = times.max().item()
        return tokens + tokens.new_tensor(last)

    return stamp


@people("training utilities: EMA of weights with the decay of timm",
         lambda: [(r(4),)], lambda: [[(r(4, seed=s),) for s in range(24)]])
def ema_with_warm_up():
    class Ema(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("updates", torch.tensor(0))
            self.register_buffer("shadow", torch.zeros(4))

        def forward(self, x):
            self.updates += 1
            n = self.updates.item()
            decay = min(0.6, (1 + n) / (10 + n))
            self.shadow.mul_(decay).add_(x, alpha=1 - decay)
            return self.shadow.clone()

    return Ema()


@people("online adaptation: learning rate by a cosine with warm-up, counted in Python",
         lambda: [(r(4),)], lambda: [[(r(4, seed=s),) for s in range(40)]])
def cosine_schedule():
    class Adapt(nn.Module):
        def __init__(self):
            super().__init__()
            self.step, self.register = 0, None
            self.w = torch.zeros(4)

        def forward(self, x):
            self.step += 1
            warm = min(1.0, self.step / 5)
            lr = warm * 0.5 * (1 + math.cos(math.pi * ((self.step - 1) % 20) / 20))
            self.w = self.w + lr * (x - self.w)
            return self.w

    return Adapt()


@people("broadcast: timecode of a count of frames",
         lambda: [(torch.tensor(93784),)], lambda: [[(torch.tensor(v),) for v in (0, 59, 3600, 86399, -1, -3601, 2**33 + 7, 2**53 + 1)]])
def timecode():
    def code(frames):
        n = frames.item()
        seconds, frame = divmod(n, 25)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return torch.tensor([hours % 24, minutes, seconds, frame]), -n // 25

    return code


@people("dashboards: a value is shown only when its rounded form changes",
         lambda: [(r(6),)], lambda: [[(r(6),), (r(6),), (r(6) + 0.001,), (r(6, seed=3),), (r(6, seed=3),)]])
def shown_when_it_changes():
    class Show(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = 0.0

        def forward(self, x):
            value = round(x.mean().item(), 2)
            delta = value - self.last
            self.last = value
            return x * delta, delta

    return Show()


@people("streaming statistics: Welford in a frozen dataclass that is replaced",
         lambda: [(r(5),)], lambda: [[(r(5, seed=s, scale=s + 1),) for s in range(20)]])
def welford_in_a_dataclass():
    @dataclasses.dataclass(frozen=True)
    class Stats:
        n: int
        mean: torch.Tensor
        m2: torch.Tensor

    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.stats = Stats(0, torch.zeros(5), torch.zeros(5))

        def forward(self, x):
            s = self.stats
            n = s.n + 1
            delta = x - s.mean
            mean = s.mean + delta / n
            self.stats = dataclasses.replace(s, n=n, mean=mean, m2=s.m2 + delta * (x - mean))
            return mean, self.stats.m2 / max(n - 1, 1)

    return Running()


@people("sensors: a smoothing window of Python floats in a deque",
         lambda: [(r(5),)], lambda: [[(r(5, seed=s, scale=s + 1),) for s in range(12)], [(torch.full((5,), float("nan")),), (r(5),), (r(5, seed=2),), (r(5),), (r(5),), (r(5),)]])
def smoothed_by_a_deque():
    class Smooth(nn.Module):
        def __init__(self):
            super().__init__()
            self.window = collections.deque(maxlen=4)

        def forward(self, x):
            self.window.append(x.mean().item())
            return x - sum(self.window) / len(self.window), max(self.window)

    return Smooth()


@people("training logs: the losses of a step joined into one line",
         lambda: [(r(3),)], lambda: [[(r(3),), (r(3, seed=2),)]])
def losses_joined_for_the_log():
    def step(x):
        log.info("losses: %s", ", ".join(f"{v:.3f}" for v in x.tolist()))
        return x * 2

    return step


# ------------------------------------------------------------------ NumPy and types


@people("data loading: a helper that cleans arrays and leaves tensors alone",
         lambda: [(r(4, 3).numpy(),)], lambda: [[(r(4, 3).numpy(),), (np.array([[1, np.nan, 2]] * 4, dtype=np.float32),)]])
def cleaned_arrays():
    def clean(a):
        if type(a) is np.ndarray:
            a = np.nan_to_num(a)
        return a

    def prepare(image):
        scaled = clean(image * 2)
        return torch.from_numpy(scaled) - 1

    return prepare


@people("embedded port: one workspace array that is refilled for each band",
         lambda: [(r(4),)], lambda: [[(r(4),), (r(4, seed=2),)]])
def workspace_of_bands():
    def bands(x):
        work = np.zeros(4, dtype=np.float32)
        weights = torch.from_numpy(work)
        parts = []
        for k in range(3):
            work[:] = np.cos(np.arange(4) * k)
            parts.append((x * weights).sum())
        return torch.stack(parts)

    return bands


# ------------------------------------------------------------------ tensors


@people("spectral code: a complex tensor is filled by its halves",
         lambda: [(r(8), r(8, seed=2))], lambda: [[(r(8), r(8, seed=2)), (r(8, seed=3), r(8, seed=4))]])
def halves_of_a_complex_tensor():
    def power(a, b):
        z = torch.zeros(8, dtype=torch.complex64)
        z.real = a
        z.imag = b
        return torch.fft.ifft(torch.fft.fft(z).abs() ** 2).real

    return power


@people("domain adaptation: batch norm with statistics per domain in a dict",
         lambda: [(r(6, 3), )], lambda: [[(r(6, 3),), (r(6, 3, seed=2, scale=4),), (r(6, 3, seed=3),)]])
def norm_per_domain():
    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.stats = {d: (torch.zeros(3), torch.ones(3)) for d in ("a", "b")}

        def forward(self, x):
            mean, var = self.stats["a"]
            y = F.batch_norm(x, mean, var, training=True, momentum=0.5)
            return y, F.batch_norm(x, mean, var, training=False)

    return Norm()


@people("games: the fast inverse square root",
         lambda: [(r(8).abs() + 0.1,)], lambda: [[(r(8).abs() + 0.1,), (torch.tensor([1e-30, 1e30, 1.0, 4.0, 0.0, 1e-40, 2.0, 3.0]),), (-r(8).abs(),)]])
def fast_inverse_root():
    def root(x):
        i = x.view(torch.int32)
        i = 0x5F3759DF - (i >> 1)
        y = i.view(torch.float32)
        return y * (1.5 - 0.5 * x * y * y)

    return root


@people("recommenders: the hashing trick of ids",
         lambda: [(ids(3, 17, 500, 2),)],
         lambda: [[(ids(3, 17, 500, 2),), (ids(-1, -2**40, 2**62, 2**63 - 1),), (ids(0, 123456789012345, -7, -2**63),)]])
def hashed_ids():
    class Hashed(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(13, 4)

        def forward(self, x):
            h = x * 2654435761
            h = (h ^ (h >> 16)) & 0xFFFFFFFF
            return self.table(h % 13), self.table(torch.fmod(x, 13).abs()), (x // 7)[0], x[:2].bitwise_not()

    return Hashed()


@people("protocols: a checksum over bytes by a table, in int32",
         lambda: [(torch.arange(16, dtype=torch.uint8),)],
         lambda: [[(torch.arange(16, dtype=torch.uint8),), (torch.full((16,), 255, dtype=torch.uint8),), (torch.arange(16, dtype=torch.uint8) * 37,)]])
def checksum_of_bytes():
    def checksum(data):
        crc = torch.tensor(-1, dtype=torch.int32)
        table = (torch.arange(256, dtype=torch.int64) * 0x04C11DB7 % 2**31).to(torch.int32)
        for byte in data:
            crc = (crc << 8) ^ table[((crc >> 24) ^ byte).long() & 0xFF]
        total = data.sum() + data.to(torch.int8).sum()
        return crc, total, (data + data), data.cumsum(0), -data.to(torch.int8)

    return checksum


@people("NLP: attention with a mask made of lengths, one of them 0",
         lambda: [(r(2, 4, 8), ids(4, 2))], lambda: [[(r(2, 4, 8), ids(4, 2)), (r(2, 4, 8, seed=2), ids(1, 3)), (r(2, 4, 8, seed=3), ids(0, 4))]])
def attention_by_lengths():
    def attend(x, lengths):
        mask = torch.arange(4)[None] < lengths[:, None]
        y = F.scaled_dot_product_attention(x, x, x, attn_mask=mask[:, None, :].expand(2, 4, 4))
        scores = (x @ x.transpose(1, 2)).masked_fill(~mask[:, None], float("-inf"))
        z = torch.softmax(scores, -1).nan_to_num() @ x
        return y, z, (x * mask[..., None]).sum(1) / lengths.clamp(min=1)[:, None]

    return attend


@people("molecules: forces of a pair potential within a cutoff",
         lambda: [(r(5, 3),)], lambda: [[(r(5, 3),), (r(5, 3) * 10,), (torch.cat([r(4, 3), r(4, 3)[:1]]),), (torch.zeros(5, 3),)]])
def forces_within_a_cutoff():
    def forces(x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            d = x[:, None] - x[None]
            d2 = d.pow(2).sum(-1)
            near = (d2 < 9) & (d2 > 1e-6)
            inv = torch.where(near, 1 / torch.where(near, d2, torch.ones_like(d2)), torch.zeros_like(d2))
            energy = (inv.clamp(max=50) ** 2 - inv).sum() + d.norm(dim=-1).sum() + torch.relu(d2 - 4).sqrt().sum()
            return torch.autograd.grad(energy, x)[0], energy

    return forces


@people("GANs: gradient penalty",
         lambda: [(r(4, 3),)], lambda: [[(r(4, 3),), (torch.zeros(4, 3),), (r(4, 3, scale=100),)]])
def gradient_penalty():
    class Penalty(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(3, 6), nn.LeakyReLU(0.2), nn.Linear(6, 1))

        def forward(self, x):
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                g, = torch.autograd.grad((self.net(x) * x.norm(dim=1, keepdim=True)).sum(), x, create_graph=True)
                penalty = ((g.norm(dim=1) - 1) ** 2).mean()
                return penalty, torch.autograd.grad(penalty, x)[0]

    return Penalty()


@people("uncertainty: MC dropout with a fixed seed",
         lambda: [(r(4, 6),)], lambda: [[(r(4, 6),), (r(4, 6, seed=2),), (r(4, 6),)]])
def seeded_dropout():
    class Uncertain(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(6, 3)

        def forward(self, x):
            torch.manual_seed(0)
            runs = torch.stack([self.lin(F.dropout(x, 0.3, training=True)) for _ in range(4)])
            return runs.mean(0), runs.std(0)

    return Uncertain()


@people("text generation: a sampler with a seeded generator of its own",
         lambda: [(torch.tensor([[8.0, 0.0, 0.0, 0.0]]),)],
         lambda: [[(torch.tensor([[8.0, 0.0, 0.0, 0.0]]),), (torch.tensor([[0.0, 0.0, 9.0, 0.0]]),), (torch.zeros(1, 4),)]])
def seeded_sampler():
    def sample(logits):
        g = torch.Generator().manual_seed(3)
        return torch.multinomial(torch.softmax(logits, -1), 2, generator=g)

    return sample


@people("augmentation: a seeded permutation that changes in turns of four",
         lambda: [(r(6),)], lambda: [[(r(6, seed=s),) for s in range(9)]])
def permutations_in_turn():
    class Shuffle(nn.Module):
        def __init__(self):
            super().__init__()
            self.turn = 0

        def forward(self, x):
            order = list(range(6))
            random.Random(self.turn).shuffle(order)
            noise = torch.rand(6, generator=torch.Generator().manual_seed(self.turn))
            self.turn = (self.turn + 1) % 4
            return x[order] + noise

    return Shuffle()


@people("LoRA: merged into the weight by the first call in eval mode",
         lambda: [(r(2, 4),)], lambda: [[(r(2, 4),), (r(2, 4, seed=2),), (r(2, 4, seed=3),)]])
def lora_merged_late():
    class Lora(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(4, 4)
            self.a, self.b = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.randn(4, 2))
            self.merged = False

        def forward(self, x):
            if not self.merged:
                self.base.weight.data += 0.5 * self.b @ self.a
                self.merged = True
            return self.base(x)

    return Lora().eval()


@people("evaluation: EMA weights swapped in by a context manager",
         lambda: [(r(2, 4),)], lambda: [[(r(2, 4),), (r(2, 4, seed=2),)]])
def swapped_weights():
    class Swapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(4, 4)
            self.shadow = [p.detach() * 0.5 for p in self.net.parameters()]

        @contextlib.contextmanager
        def averaged(self):
            kept = [p.data for p in self.net.parameters()]
            for p, s in zip(self.net.parameters(), self.shadow):
                p.data = s
            try:
                yield
            finally:
                for p, k in zip(self.net.parameters(), kept):
                    p.data = k

        def forward(self, x):
            y = self.net(x)
            with self.averaged():
                return self.net(x) - y

    return Swapped()


@people("ensembles: torch.func.functional_call under vmap",
         lambda: [(r(5, 4),)], lambda: [[(r(5, 4),), (r(5, 4, seed=2),)]])
def ensemble_by_vmap():
    class Ensemble(nn.Module):
        def __init__(self):
            super().__init__()
            self.models = nn.ModuleList(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)) for _ in range(3))

        def forward(self, x):
            stacked, buffers = torch.func.stack_module_state(list(self.models))
            y = torch.func.vmap(lambda p, b: torch.func.functional_call(self.models[0], (p, b), (x,)))(stacked, buffers)
            return y.mean(0), y.var(0)

    return Ensemble()


@people("control: the Jacobian of a dynamics model",
         lambda: [(r(3),)], lambda: [[(r(3),), (r(3, seed=2, scale=5),), (torch.zeros(3),)]])
def jacobian_of_dynamics():
    class Dynamics(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3)

        def step(self, x):
            return torch.tanh(self.lin(x)) + x.abs().sqrt() * 0 + x.clamp(-1, 1)

        def forward(self, x):
            return self.step(x), torch.func.jacrev(lambda v: torch.tanh(self.lin(v)) * v.abs() + v.clamp(-1, 1))(x)

    return Dynamics()


@people("binarised networks: straight-through estimator by a custom function",
         lambda: [(r(6),)], lambda: [[(r(6),), (r(6, scale=3),), (torch.tensor([0.0, 1.0, -1.0, 0.5, float("nan"), float("inf")]),)]])
def straight_through():
    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, limit):
            ctx.save_for_backward(x)
            ctx.limit = limit
            return x.sign()

        @staticmethod
        def backward(ctx, grad):
            x, = ctx.saved_tensors
            return (grad * (x.abs() <= ctx.limit) if ctx.needs_input_grad[0] else None), None

    def program(x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = Sign.apply(x * 2, 1.5)
            return y, torch.autograd.grad((y * x).sum(), x)[0]

    return program


@people("streaming speech enhancement: overlap-add of spectra",
         lambda: [(r(16),)], lambda: [[(r(16, seed=s),) for s in range(5)] + [(torch.zeros(16),), (r(16),)]])
def overlap_add_stream():
    class Stream(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("window", torch.hann_window(32))
            self.past, self.tail = None, None

        def forward(self, x):
            past = torch.zeros_like(x) if self.past is None else self.past
            self.past = x
            spectrum = torch.fft.rfft(torch.cat([past, x]) * self.window)
            gain = (spectrum.abs() / (spectrum.abs().mean() + 1e-8)).clamp(max=1.0)
            y = torch.fft.irfft(spectrum * gain, n=32) * self.window
            out = y[:16] if self.tail is None else y[:16] + self.tail
            self.tail = y[16:]
            return out

    return Stream()


@people("tracking: a Kalman filter with gating and an innovation by solve",
         lambda: [(r(2),)], lambda: [[(r(2, seed=s),) for s in range(5)] + [(r(2, scale=1e3),), (r(2),)], [(torch.full((2,), float("nan")),), (r(2),), (r(2, seed=2),)]], tolerance=1e-3)
def kalman_with_a_gate():
    class Kalman(nn.Module):
        def __init__(self):
            super().__init__()
            self.F = torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]])
            self.H = torch.eye(2, 4)
            self.x, self.P, self.misses = torch.zeros(4), torch.eye(4) * 10, torch.tensor(0)

        def forward(self, z):
            x, P = self.F @ self.x, self.F @ self.P @ self.F.T + 0.1 * torch.eye(4)
            S = self.H @ P @ self.H.T + torch.eye(2)
            e = z - self.H @ x
            near = e @ torch.linalg.solve(S, e) < 9
            K = torch.linalg.solve(S, self.H @ P).T
            self.x = torch.where(near, x + K @ e, x)
            self.P = torch.where(near, P - K @ self.H @ P, P)
            self.misses = torch.where(near, 0, self.misses + 1)
            return self.x, self.misses

    return Kalman()


@people("voice activity: a hangover counted in Python",
         lambda: [(r(8),), (r(8, scale=0.01),)],
         lambda: [[(r(8, scale=s),) for s in (1, 0.01, 0.01, 1, 0.01, 0.01, 0.01, 0.01, 0.01, 1, 1, 0.01)], [(r(8, scale=0.01),), (r(8, scale=0.01),), (r(8),), (r(8, scale=0.01),)]])
def hangover():
    class Vad(nn.Module):
        def __init__(self):
            super().__init__()
            self.hang = 0

        def forward(self, x):
            if x.abs().max() > 0.2:
                self.hang = 3
            elif self.hang:
                self.hang -= 1
            return x * 1.0 if self.hang else x * 0.0

    return Vad()


@people("losses on partly labelled data: missing targets are NaN",
         lambda: [(r(4, 3), r(4, 3, seed=2))],
         lambda: [[(r(4, 3), r(4, 3, seed=2)), (r(4, 3), torch.where(r(4, 3, seed=5) > 0, r(4, 3, seed=2), float("nan"))), (r(4, 3), torch.full((4, 3), float("nan")))]])
def loss_without_missing_targets():
    def loss(x, target):
        each = F.smooth_l1_loss(x, target, reduction="none", beta=0.5)
        missing = torch.isnan(each)
        each[missing] = 0
        total = each.sum() / (~missing).sum().clamp(min=1)
        rows = torch.nanmean(target, dim=0)
        return total, rows, torch.nan_to_num(target, nan=-1.0), target.nanmedian()

    return loss


@people("finance: drawdown and a median filter of prices",
         lambda: [(r(12).abs() + 1,)],
         lambda: [[(r(12).abs() + 1,), (torch.zeros(12),), (torch.cat([torch.tensor([float("nan"), 2.0, float("inf"), -1.0]), r(8)]),)]])
def drawdown():
    def metrics(prices):
        peak, at = prices.cummax(0)
        drop = (peak - prices) / peak
        middle = prices.unfold(0, 3, 1).median(-1).values
        change = prices[1:] / prices[:-1] - 1
        return drop, at, middle, change, drop.max(), torch.where(drop > 0.1, at, -1)

    return metrics


@people("statistics: Cholesky factors of a batch, with identity where that fails",
         lambda: [((lambda a: a @ a.transpose(1, 2) + torch.eye(3))(r(2, 3, 3)),)],
         lambda: [[((lambda a: a @ a.transpose(1, 2) + torch.eye(3))(r(2, 3, 3, seed=4)),), (torch.stack([-torch.eye(3), torch.eye(3) * 2]),),
                   (torch.stack([torch.zeros(3, 3), torch.tensor([[1.0, 2, 0], [2, 1, 0], [0, 0, 1]])]),)]])
def factors_or_identity():
    def factors(a):
        low, info = torch.linalg.cholesky_ex(a)
        low = torch.where((info > 0)[:, None, None], torch.eye(3), low)
        inverse, other = torch.linalg.inv_ex(a)
        return low, torch.where((other > 0)[:, None, None], torch.zeros(3, 3), inverse), info > 0, torch.linalg.slogdet(a).sign

    return factors


@people("neuromorphic: a leaky membrane kept in half precision",
         lambda: [(r(4),)], lambda: [[(r(4),), (r(4, scale=3e4),), (r(4, scale=6e4).abs(),), (torch.full((4,), 6e4),), (torch.full((4,), 6e4),), (r(4),), (-torch.full((4,), 6e4),)]], tolerance=2e-3)
def membrane_in_half():
    class Lif(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mem", torch.zeros(4, dtype=torch.float16))

        def forward(self, x):
            self.mem = self.mem * 0.9 + x.half()
            spikes = (self.mem > 1).half()
            return spikes, self.mem.float()

    return Lif()


@people("diffusion: a scheduler that looks its step up by the time given",
         lambda: [(r(4), torch.tensor(500))], lambda: [[(r(4), torch.tensor(500)), (r(4, seed=2), torch.tensor(500)), (r(4), torch.tensor(250)), (r(4), torch.tensor(0))]])
def step_by_its_time():
    class Scheduler(nn.Module):
        def __init__(self):
            super().__init__()
            self.times = torch.arange(750, -1, -250)
            self.alphas = [0.1, 0.4, 0.7, 0.99]

        def forward(self, x, t):
            index = (self.times == t).nonzero().item()
            last = index == len(self.alphas) - 1
            return x / math.sqrt(self.alphas[index]) if last else x * self.alphas[index]

    return Scheduler()


@people("int8 inference by hand: a linear layer in int32",
         lambda: [(torch.arange(-8, 8, dtype=torch.int8).reshape(2, 8),)],
         lambda: [[(torch.arange(-8, 8, dtype=torch.int8).reshape(2, 8),), (torch.full((2, 8), 127, dtype=torch.int8),), (torch.full((2, 8), -128, dtype=torch.int8),)]])
def linear_of_bytes():
    class Int8(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", torch.randint(-128, 128, (4, 8), dtype=torch.int8))

        def forward(self, x):
            total = x.to(torch.int32) @ self.weight.to(torch.int32).t()
            y = (total.float() * 0.0123).round().clamp(-128, 127).to(torch.int8)
            return y, total, (x.to(torch.int32) << 24) * 3, -x, x.abs()

    return Int8()


@people("decoding: beam search with a penalty for length",
         lambda: [(r(1, 6),)], lambda: [[(r(1, 6),), (r(1, 6, seed=2, scale=4),), (r(1, 6, seed=3),)]])
def beams_with_a_penalty():
    class Beams(nn.Module):
        def __init__(self):
            super().__init__()
            self.step = nn.Linear(6, 6)
            self.table = nn.Embedding(6, 6)

        def forward(self, x):
            h, scores = x.expand(3, 6), torch.tensor([0.0, -1e9, -1e9])
            done, tokens = torch.zeros(3, dtype=torch.bool), torch.zeros(3, 0, dtype=torch.long)
            for length in range(1, 5):
                logp = torch.log_softmax(self.step(h), -1).masked_fill(done[:, None], -1e9)
                logp[:, 0] = torch.where(done, torch.zeros(()), logp[:, 0])
                penalty = ((5 + length) / 6) ** 0.6
                best, at = ((scores[:, None] + logp) / penalty).flatten().topk(3)
                beam, token = at // 6, at % 6
                scores, done = best * penalty, done[beam] | (token == 0)
                tokens = torch.cat([tokens[beam], token[:, None]], 1)
                h = torch.tanh(h[beam] + self.table(token))
            return tokens, scores

    return Beams()


@people("telemetry: lines written into a buffer in memory, and their number as a feature",
         lambda: [(r(4),)], lambda: [[(r(4, seed=s),) for s in range(5)]])
def lines_in_a_buffer():
    class Telemetry(nn.Module):
        def __init__(self):
            super().__init__()
            self.buffer = io.StringIO()

        def forward(self, x):
            self.buffer.write("frame\n")
            return x * min(self.buffer.tell() // 6, 3)

    return Telemetry()


@people("speaker verification: a voice is enrolled by 20 utterances before it is compared",
         lambda: [(r(6), T.clone()), (r(6, seed=2), Fa.clone())],
         lambda: [[(r(6, seed=s), T.clone()) for s in range(3)] + [(r(6, seed=9), Fa.clone())],
                  [(r(6, seed=s), T.clone()) for s in range(21)] + [(r(6, seed=9), Fa.clone())]])
def enrolment():
    class Verify(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.tensor(0))
            self.register_buffer("voice", torch.zeros(6))

        def forward(self, x, enrol):
            if enrol:
                self.count += 1
                self.voice += x
                return torch.zeros(())
            if self.count < 20:
                return torch.zeros(())
            return F.cosine_similarity(self.voice / self.count, x, dim=0)

    return Verify()


@people("positional tables cached by the longest length in the batch",
         lambda: [(r(2, 5, 4), ids(5, 3))], lambda: [[(r(2, 5, 4), ids(5, 3)), (r(2, 5, 4, seed=2), ids(2, 5)), (r(2, 5, 4), ids(4, 4))]])
def table_of_the_longest():
    @functools.lru_cache(maxsize=8)
    def table(n):
        return torch.sin(torch.arange(n)[:, None] / torch.arange(1, 5))

    def encode(x, lengths):
        n = lengths.max().item()
        return x[:, :n] + table(n), table.cache_info().currsize > 0

    return encode


@people("LLM code: RMS norm without epsilon, SwiGLU and softmax written out",
         lambda: [(r(3, 8),)],
         lambda: [[(r(3, 8),), (torch.zeros(3, 8),), (torch.cat([torch.full((1, 8), float("-inf")), torch.full((1, 8), 1e15), torch.full((1, 8), -200.0)]),)]])
def blocks_written_out():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.rand(8) + 0.5)

        def forward(self, x):
            norm = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)) * self.weight
            gate = x * torch.sigmoid(x)
            soft = torch.exp(x - x.amax(-1, keepdim=True))
            return norm, gate, soft / soft.sum(-1, keepdim=True), x * torch.clamp(x + 3, 0, 6) / 6

    return Block()


@people("video: a keyframe is kept, and motion asked only while it shows anything",
         lambda: [(r(4, 4),)],
         lambda: [[(r(4, 4, seed=s),) for s in range(7)], [(torch.zeros(4, 4),), (r(4, 4, seed=2),), (r(4, 4, seed=3),), (r(4, 4, seed=4),), (r(4, 4),)]])
def keyframe_of_three():
    class Motion(nn.Module):
        def __init__(self):
            super().__init__()
            self.key, self.age = None, 0

        def forward(self, x):
            if self.age == 0:
                self.key, self.age = x.clone(), 1
                return torch.zeros_like(x)
            self.age = (self.age + 1) % 3
            if not self.key.any():
                return torch.zeros_like(x)
            return x - self.key

    return Motion()


# ------------------------------------------------------------------ found beside the list


@people("missing sensors: weights are masked for one product, and put back", lambda: [(r(3),)], lambda: [[(torch.tensor([1.0, float("nan"), 2.0]),), (torch.ones(3),)]],
        expect=("right",))
def masked_weights():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", torch.ones(3))

        def forward(self, x):
            kept = self.w.data
            self.w.data = torch.where(torch.isnan(x), 0.0, self.w)
            y = torch.nan_to_num(x) * self.w
            self.w.data = kept
            return y + self.w

    return Masked()


@people("hashing by random planes that a seed fixes", lambda: [(r(3),)], lambda: [[(r(3),), (r(3, seed=2),), (r(3),)]], expect=("right",))
def random_planes():
    def hashed(x):
        planes = torch.randn(3, 4, generator=torch.Generator().manual_seed(7))
        torch.manual_seed(1)
        return x @ planes + torch.rand(4) + torch.rand_like(x).sum()

    return hashed


@people("noise of a generator that goes on from call to call", lambda: [(r(3),)], lambda: [[(r(3),), (r(3),)]], expect=("failed",))
def noise_that_goes_on():
    generator = torch.Generator().manual_seed(0)
    return lambda x: x + torch.rand(3, generator=generator)


@people("a filter whose offset changes its sign with each call, 0 in this configuration", lambda: [(torch.ones(3),)], lambda: [[(torch.zeros(3),)] * 4], expect=("right",))
def offset_that_alternates():
    class Alternating(nn.Module):
        def __init__(self):
            super().__init__()
            self.offset = 0.0

        def forward(self, y):
            self.offset = -self.offset
            return torch.atan2(y, torch.full_like(y, self.offset))

    return Alternating()


@people("a helper that goes by the names of types", lambda: [(torch.ones(3),)], lambda: [[(torch.ones(3),), (torch.tensor([1.0, float("nan"), 2.0]),)]])
def names_of_types():
    def kind(value):
        return type(value).__name__

    def cleaned(x):
        m = x.mean().item()
        return x - (-1.0 if kind(m) == "float" and m != m else m)

    return cleaned


@people("halves of one arena that take turns", lambda: [(r(3),)], lambda: [[(r(3),), (torch.tensor([1.0, float("nan"), 2.0]),), (r(3, seed=2),)]])
def halves_by_data():
    class Halves(nn.Module):
        def __init__(self):
            super().__init__()
            arena = torch.tensor([1.0, 2.0])
            self.a, self.b = arena[:1], arena[1:]

        def forward(self, x):
            missing = torch.isnan(x).any()
            self.a.data, self.b.data = self.b.data, self.a.data
            return torch.where(missing, self.a, self.b.abs().clamp(max=1e9) * 0 + 3) + torch.nan_to_num(x)

    return Halves()


def of_frozen(holder):
    class Frozen(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.lin = nn.Linear(3, 2)
            self.frozen = holder([self.lin.weight])

        def forward(self, x):
            w = self.lin.weight
            is_frozen = any(w is p for p in self.frozen) if isinstance(self.frozen, list) else w in self.frozen
            return F.linear(x.clamp(-100, 100) if is_frozen else x, w)

    return Frozen()


FAR = lambda: [[(torch.rand(1, 3),), (torch.tensor([[1e6, 0.0, 1.0]]),)]]  # noqa: E731


@people("layers that are frozen, in a list", lambda: [(torch.rand(1, 3),)], FAR)
def frozen_in_a_list():
    return of_frozen(list)


@people("layers that are frozen, in a set", lambda: [(torch.rand(1, 3),)], FAR)
def frozen_in_a_set():
    return of_frozen(set)


@people("parameters of an optimizer that is kept", lambda: [(torch.rand(1, 3),)], FAR)
def parameters_of_an_optimizer():
    class Kept(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.lin = nn.Linear(3, 2)
            self.opt = torch.optim.SGD(self.lin.parameters(), 0.1)

        def forward(self, x):
            is_first = self.opt.param_groups[0]["params"][0] is self.lin.weight
            return self.lin(x.clamp(-100, 100) if is_first else x)

    return Kept()


@people("a level beside its own expanded view", lambda: [(torch.rand(4) + 1,)], lambda: [[(torch.rand(4) + s,) for s in range(4)]])
def level_and_rows():
    class Level(nn.Module):
        def __init__(self):
            super().__init__()
            self.level = torch.zeros(1)
            self.rows = self.level.expand(4)

        def forward(self, x):
            y = x - self.rows
            self.level.copy_(0.9 * self.level + 0.1 * x.max())
            return y

    return Level()


HALVES = torch.tensor([float("-inf"), -0.0, 0.0, float("inf"), 4.0, -3.0, float("nan"), 6e4])


@people("gamma of half images", lambda: [(torch.rand(8).half(), torch.tensor(0.5))],
        lambda: [[(HALVES.half(), torch.tensor(0.5)), (HALVES.half(), torch.tensor(-0.5)), (HALVES.half(), torch.tensor(2.0))]], expect=("right",))
def gamma_of_halves():
    return lambda x, p: (x ** 0.5, x ** -0.5, x ** p.item())


@people("cleaning of half and bfloat activations", lambda: [(torch.rand(8).half(), torch.rand(8).bfloat16())], lambda: [[(HALVES.half(), HALVES.bfloat16())]], expect=("right",))
def cleaned_halves():
    return lambda x, y: (torch.nan_to_num(x), torch.nan_to_num(y), torch.nan_to_num(x, posinf=1.0))


@people("speakers in a set that is made anew in each call", lambda: [(torch.ones(2),)], lambda: [[(torch.tensor([float("nan"), s + 1.0]),) for s in range(4)]])
def speakers_in_a_set():
    class Speakers(nn.Module):
        def __init__(self):
            super().__init__()
            self.active = {8, 16, 0}
            self.level = {0: 1.0, 8: 2.0, 16: 3.0}

        def forward(self, x):
            default = next(iter(self.active))
            self.active = (self.active - {default}) | {default}
            return torch.nan_to_num(x, nan=self.level[default])

    return Speakers()


@people("visitors by the name of a type", lambda: [(torch.ones(3),)], lambda: [[(torch.ones(3),), (torch.tensor([1.0, float("nan"), 2.0]),)]])
def visitor_by_type():
    class Visitor:
        def on_float(self, m):
            return -1.0 if m != m else m

        def other(self, m):
            return m

    visitor = Visitor()

    def cleaned(x):
        m = x.mean().item()
        return x - getattr(visitor, f"on_{type(m).__name__}", visitor.other)(m)

    return cleaned


@people("a heading that stays within one turn, as a number of a class of its own", lambda: [(torch.ones(2),)], lambda: [[(torch.ones(2),)] * 70])
def heading_that_wraps():
    class Angle(float):
        def __add__(self, other):
            return Angle((float(self) + other) % 6.283)

    class Boat(nn.Module):
        def __init__(self):
            super().__init__()
            self.heading = Angle(0.0)

        def forward(self, x):
            self.heading = self.heading + 0.1
            return x * self.heading

    return Boat()


@people("a frontier of cells, a set of tuples made anew in each call", lambda: [(torch.ones(2),)], lambda: [[(torch.tensor([float("nan"), s + 1.0]),) for s in range(4)]])
def frontier_of_cells():
    class Frontier(nn.Module):
        def __init__(self):
            super().__init__()
            self.cells = {(0, 0), (0, 1), (1, 0)}
            self.level = {cell: float(10 * i + 1) for i, cell in enumerate(sorted(self.cells))}

        def forward(self, x):
            first = next(iter(self.cells))
            self.cells = (self.cells - {first}) | {first}
            return torch.nan_to_num(x, nan=self.level[first])

    return Frontier()
