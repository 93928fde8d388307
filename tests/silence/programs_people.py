"""What people write: state that later calls only ask, observers, gates, enrolments, caches, arrays. Written in order to cheat an export that took what one call reads
for a constant; each comment says who would write it."""

import collections
import dataclasses
import logging
import math

import numpy as np
import torch
import torch.nn.functional as F
from drawn_inputs import FALSE, TRUE, ids, r
from harness import people
from torch import nn

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
         lambda: [(r(32), TRUE.clone()), (r(32, seed=2), FALSE.clone())],
         lambda: [[(r(32), TRUE.clone()), (r(32, seed=2), FALSE.clone()), (r(32, seed=3), FALSE.clone())],
                  [(torch.zeros(32), TRUE.clone()), (r(32, seed=2), FALSE.clone()), (r(32, seed=3), TRUE.clone()), (r(32, seed=4), FALSE.clone())]])
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
         lambda: [(r(8, scale=0.1), TRUE.clone()), (r(8, scale=0.1, seed=2), FALSE.clone())],
         lambda: [[(r(8, scale=0.1), TRUE.clone()), *[(r(8, scale=9, seed=s), FALSE.clone()) for s in range(26)]],
                  [(r(8, scale=9, seed=s), FALSE.clone()) for s in range(24)]])
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
