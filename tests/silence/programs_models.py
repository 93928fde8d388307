"""Models that people write, and what they do with tensors: halves of them, other types, gradients, samplers, caches, losses."""

import contextlib
import functools
import math
import random

import torch
import torch.nn.functional as F
from drawn_inputs import FALSE, TRUE, ids, r
from harness import people
from torch import nn


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


@people("speaker verification: a voice is enrolled by 20 utterances before it is compared",
         lambda: [(r(6), TRUE.clone()), (r(6, seed=2), FALSE.clone())],
         lambda: [[(r(6, seed=s), TRUE.clone()) for s in range(3)] + [(r(6, seed=9), FALSE.clone())],
                  [(r(6, seed=s), TRUE.clone()) for s in range(21)] + [(r(6, seed=9), FALSE.clone())]])
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
