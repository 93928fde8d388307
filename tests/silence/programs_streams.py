"""Models that go on from call to call or decide by what they compute: decoding, streaming, normalisation, memories."""

import collections
import copy

import torch
from harness import case
from torch import nn
from torch.nn.utils import parametrizations, parametrize

X = [(torch.randn(2, 3),) for _ in range(7)]
IDS = [(torch.randint(0, 9, (1, 4)),) for _ in range(6)]
STREAM = [(torch.randn(1, 2, 4),) for _ in range(6)]


@case(STREAM[0], STREAM, expect=("right",))
def streaming_convolution():
    class Stream(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.tail = nn.Conv1d(2, 3, 3), None

        def forward(self, x):
            tail = torch.zeros(1, 2, 2) if self.tail is None else self.tail
            whole = torch.cat([tail, x], -1)
            self.tail = whole[..., -2:].detach()
            return self.conv(whole)

    return Stream().eval()


@case(X[0], X)
def memory_bank():
    class Bank(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("bank", torch.zeros(8, 3))
            self.register_buffer("place", torch.zeros(1, dtype=torch.long))

        def forward(self, x):
            place = int(self.place)
            self.bank[place:place + 2] = x
            self.place[0] = (place + 2) % 8
            return x @ self.bank.t()

    return Bank()


@case(X[0], X)
def position_counter():
    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.step = nn.Embedding(32, 3), 0

        def forward(self, x):
            y = x + self.table.weight[self.step]
            self.step += 1
            return y

    return Step().eval()


@case(X[0], X)
def rolling_shift():
    class Shift(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, x):
            self.n += 1
            return torch.roll(x, self.n, 1)

    return Shift()


@case(X[0], X)
def best_so_far():
    class Best(nn.Module):
        def __init__(self):
            super().__init__()
            self.best = float("-inf")

        def forward(self, x):
            self.best = max(self.best, x.max().item())
            return x / (1 + abs(self.best))

    return Best()


@case(X[0], X)
def running_range():
    class Range(nn.Module):
        def __init__(self):
            super().__init__()
            self.low, self.high = 0.0, 0.0

        def forward(self, x):
            self.low, self.high = min(self.low, x.min().item()), max(self.high, x.max().item())
            return (x - self.low) / (self.high - self.low)

    return Range()


@case(X[0], X)
def counts_in_a_tuple():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = (0, 1.0)

        def forward(self, x):
            steps, scale = self.state
            self.state = (steps + 1, scale * 0.9)
            return x * scale + steps

    return Net()


@case(X[0], X)
def array_kept_from_inputs():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = None

        def forward(self, x):
            y = x if self.last is None else x - torch.from_numpy(self.last)
            self.last = x.numpy()
            return y

    return Net()


@case(X[0], X)
def array_of_averages():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            import numpy as np

            self.mean = np.zeros(3, dtype=np.float32)

        def forward(self, x):
            self.mean = 0.5 * self.mean + 0.5 * x.mean(0).numpy()
            return x - torch.from_numpy(self.mean)

    return Net()


@case(X[0], X)
def teacher_by_ema():
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.student = nn.Linear(3, 3)
            self.teacher = copy.deepcopy(self.student)
            for p in self.student.parameters():
                p.data.mul_(1.5)

        @torch.no_grad()
        def forward(self, x):
            for ours, theirs in zip(self.teacher.parameters(), self.student.parameters()):
                ours.data.mul_(0.9).add_(theirs.data, alpha=0.1)
            return self.teacher(x) - self.student(x)

    return Pair()


@case(X[0], X)
def weights_by_assignment():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.n = nn.Linear(3, 3), 0

        def forward(self, x):
            self.n = min(self.n + 1, 6)
            if self.n == 5:
                self.layer.weight.data = self.layer.weight.data * 10
            return self.layer(x)

    return Net().eval()


@case(X[0], X)
def parameter_is_replaced():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.n = nn.Parameter(torch.ones(3)), 0

        def forward(self, x):
            self.n = min(self.n + 1, 6)
            if self.n == 4:
                self.scale = nn.Parameter(torch.full((3,), 5.0))
            return x * self.scale

    return Net()


@case(X[0], X)
def state_dict_is_loaded():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.n = nn.Linear(3, 3), 0
            self.best = {k: v * 10 for k, v in self.layer.state_dict().items()}

        def forward(self, x):
            self.n = min(self.n + 1, 6)
            if self.n == 5:
                self.layer.load_state_dict(self.best)
            return self.layer(x)

    return Net().eval()


@case(X[0], X)
def buffer_registered_in_forward():
    class Net(nn.Module):
        def forward(self, x):
            if not hasattr(self, "mean"):
                self.register_buffer("mean", x.mean(0))
            self.mean = 0.5 * self.mean + 0.5 * x.mean(0)
            return x - self.mean

    return Net()


@case(X[0], X)
def list_of_parameters_grows():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scales = nn.ParameterList([nn.Parameter(torch.ones(3))])

        def forward(self, x):
            if len(self.scales) < 4:
                self.scales.append(nn.Parameter(torch.full((3,), 2.0)))
            for scale in self.scales:
                x = x * scale
            return x

    return Net()


@case(X[0], X)
def dict_of_modules_changes():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads, self.n = nn.ModuleDict({"a": nn.Tanh(), "b": nn.ReLU()}), 0

        def forward(self, x):
            self.n = min(self.n + 1, 6)
            if self.n == 5:
                self.heads["a"] = nn.Sigmoid()
                del self.heads["b"]
            return sum(head(x) for head in self.heads.values())

    return Net()


@case(X[0], X)
def weight_norm_layer():
    return parametrizations.weight_norm(nn.Linear(3, 4)).eval()


@case(X[0], X)
def old_weight_norm():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nn.utils.weight_norm(nn.Linear(3, 4)).eval()


@case(X[0], X)
def spectral_norm_in_training():
    return parametrizations.spectral_norm(nn.Linear(3, 4)).train()


@case(X[0], X)
def own_parametrization_counts():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, w):
            self.n = min(self.n + 1, 6)
            return w * (2 if self.n < 5 else 100)

    layer = nn.Linear(3, 3).eval()
    parametrize.register_parametrization(layer, "weight", Scale(), unsafe=True)
    return layer


@case(X[0], X)
def hooks_before_and_after():
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh()).eval()
    seen = collections.deque(maxlen=2)

    def before(module, args):
        seen.append(args[0].mean(0))
        return (args[0] - sum(seen) / len(seen),)

    net[0].register_forward_pre_hook(before)
    net[1].register_forward_hook(lambda module, args, result: result * len(seen))
    return net


@case(X[0], X)
def hook_removes_itself():
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh()).eval()
    left = [4]

    def hook(module, args, result):
        left[0] -= 1
        if left[0] == 0:
            handle.remove()
        return result * 3

    handle = net[1].register_forward_hook(hook)
    return net


@case(X[0], X)
def batch_norm_without_momentum():
    return nn.Sequential(nn.BatchNorm1d(3, momentum=None)).train()


@case(X[0], X)
def batch_norm_counts_batches():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(3)

        def forward(self, x):
            y = self.norm(x)
            return y * (2 if self.norm.num_batches_tracked < 5 else 100)

    return Net().train()


@case(X[0], X)
def warm_up_then_eval():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.n = nn.BatchNorm1d(3), 0

        def forward(self, x):
            self.n = min(self.n + 1, 4)
            self.norm.train(self.n < 4)
            return self.norm(x)

    return Net()


@case(X[0], X)
def early_exit():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks, self.head = nn.ModuleList(nn.Linear(3, 3) for _ in range(3)), nn.Linear(3, 2)

        def forward(self, x):
            for i, block in enumerate(self.blocks):
                x = torch.tanh(block(x))
                scores = self.head(x).softmax(-1)
                if scores.max(-1).values.min().item() > 0.6:
                    break
            return scores, i

    return Net().eval()


@case(IDS[0], IDS)
def greedy_decoding():
    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.head = nn.Embedding(9, 6), nn.Linear(6, 9)

        def forward(self, ids):
            for _ in range(4):
                token = self.head(self.table(ids).mean(1)).argmax(-1)
                ids = torch.cat([ids, token[:, None]], 1)
                if token.item() == 3:
                    break
            return ids

    return Decoder().eval()


@case(IDS[0], IDS)
def beam_search():
    class Beam(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.head = nn.Embedding(9, 6), nn.Linear(6, 9)

        def forward(self, ids):
            beams = [(0.0, ids)]
            for _ in range(2):
                grown = []
                for score, kept in beams:
                    values, tokens = self.head(self.table(kept).mean(1)).log_softmax(-1)[0].topk(2)
                    grown += [(score + v.item(), torch.cat([kept, t.view(1, 1)], 1)) for v, t in zip(values, tokens)]
                beams = sorted(grown, key=lambda beam: -beam[0])[:2]
            return beams[0][1], beams[0][0]

    return Beam().eval()


@case((torch.rand(5, 4), torch.rand(5)), [(torch.rand(5, 4), torch.rand(5)) for _ in range(4)])
def suppressed_boxes():
    def program(boxes, scores):
        order, kept = scores.argsort(descending=True), []
        while order.numel() > 0:
            first = order[0]
            kept.append(first)
            distance = (boxes[order] - boxes[first]).abs().sum(-1)
            order = order[distance > 0.8]
        return torch.stack(kept)

    return program


@case((torch.randn(1, 2, 4),), [(torch.randn(1, 2, 4),) for _ in range(5)])
def rotary_cache_grows():
    class Rotary(nn.Module):
        def __init__(self):
            super().__init__()
            self.cos, self.seen = torch.zeros(0, 4), 0

        def forward(self, x):
            self.seen += x.shape[1]
            if self.seen > self.cos.shape[0]:
                angles = torch.arange(2 * self.seen)[:, None] * torch.tensor([1.0, 0.1, 0.01, 0.001])
                self.cos = angles.cos()
            return x * self.cos[self.seen - x.shape[1]:self.seen]

    return Rotary()


@case((torch.randn(1, 1, 4),), [(torch.randn(1, 1, 4),) for _ in range(6)])
def fixed_kv_cache():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.keys, self.place = torch.zeros(1, 8, 4), 0

        def forward(self, x):
            self.keys[:, self.place] = x[:, 0]
            self.place += 1
            used = self.keys[:, :self.place]
            return (x @ used.transpose(1, 2)).softmax(-1) @ used

    return Attention()


@case((torch.randn(1, 1, 4),), [(torch.randn(1, 1, 4),) for _ in range(6)])
def ring_buffer():
    class Ring(nn.Module):
        def __init__(self):
            super().__init__()
            self.ring, self.place = torch.zeros(4, 4), 0

        def forward(self, x):
            self.ring[self.place % 4] = x[0, 0]
            self.place += 1
            return self.ring.mean(0) + x

    return Ring()


@case(X[0], X)
def exponent_of_decay():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.step = 0

        def forward(self, x):
            self.step += 1
            return x * (1 - 0.9 ** self.step)

    return Net()


@case(X[0], X)
def spikes_and_refractory():
    class Neuron(nn.Module):
        def __init__(self):
            super().__init__()
            self.v, self.rest = None, None

        def forward(self, x):
            if self.v is None:
                self.v, self.rest = torch.zeros_like(x), torch.zeros_like(x, dtype=torch.int64)
            active = self.rest == 0
            self.v = torch.where(active, self.v + x, self.v)
            spike = (self.v > 0.8) & active
            self.rest = torch.where(spike, torch.full_like(self.rest, 2), (self.rest - 1).clamp(min=0))
            self.v = self.v.masked_fill(spike, 0.0)
            return spike.float()

    return Neuron()


@case(X[0], X)
def learns_while_it_runs():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            with torch.enable_grad():
                loss = ((x * self.w) ** 2).mean()
                (grad,) = torch.autograd.grad(loss, self.w)
            return x * (self.w - 0.1 * grad)

    return Net()


@case(X[0], X)
def optimizer_inside():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.optimizer = torch.optim.SGD(self.layer.parameters(), lr=0.1, momentum=0.9)

        def forward(self, x):
            with torch.enable_grad():
                self.optimizer.zero_grad()
                self.layer(x).square().mean().backward()
                self.optimizer.step()
            return self.layer(x).detach()

    return Net()


@case(X[0], X)
def compiled_part():
    return nn.Sequential(nn.Linear(3, 3), torch.compile(nn.Tanh(), backend="eager")).eval()


@case(X[0], X)
def checkpointed_part():
    from torch.utils.checkpoint import checkpoint

    layer = nn.Sequential(nn.Linear(3, 3), nn.Tanh()).eval()
    return lambda x: checkpoint(layer, x, use_reentrant=False)


@case(X[0], X)
def functional_copy_of_module():
    layer = nn.Linear(3, 3).eval()

    def program(x):
        weights = {name: p * x.abs().mean() for name, p in layer.named_parameters()}
        return torch.func.functional_call(layer, weights, (x,))

    return program


@case(X[0], X)
def autocast_by_step():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.n = nn.Linear(3, 3), 0

        def forward(self, x):
            self.n = min(self.n + 1, 6)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.n >= 5):
                return self.layer(x).float() * (1 + self.layer(x).dtype.itemsize)

    return Net().eval()


@case((torch.randn(3, 4, 2), torch.tensor([4, 2, 1])), [(torch.randn(3, 4, 2), torch.tensor(v)) for v in ([4, 2, 1], [3, 3, 3], [4, 4, 2])])
def packed_by_lengths():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(2, 3, batch_first=True)

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)[0]

    return Net().eval()


@case(X[0], X)
def array_written_in_place():
    import numpy as np

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.total = np.zeros((2, 3), dtype=np.float32)

        def forward(self, x):
            self.total += x.numpy()
            return torch.from_numpy(self.total.copy()) * 2

    return Net()


@case(X[0], X)
def two_arrays_of_one_memory():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.whole = self.row = None

        def forward(self, x):
            y = x if self.row is None else x + torch.from_numpy(self.row.copy())
            self.whole = (x * 2).numpy()
            self.row = self.whole[0]
            self.whole[:] = 1
            return y

    return Net()


@case(N := (torch.randn(5, 3), torch.tensor(2)), [(torch.randn(5, 3), torch.tensor(n)) for n in (2, 0, -1, 4)])
def row_by_number_is_written():
    """What eager selects is a view."""

    def program(x, n):
        x = x * 1
        row = x[n]
        row.add_(7)
        return x

    return program


@case(N, [(torch.randn(5, 3), torch.tensor(n)) for n in (2, 0, -1, 4)])
def row_by_number_sees_later_writes():
    def program(x, n):
        x = x * 1
        row = x[n.item()]
        x.mul_(2)
        return row + 1

    return program


@case(N, [(torch.randn(5, 3), torch.tensor(n)) for n in (2, 0, -1, 4, 7)])
def rows_and_columns_by_number():
    def program(x, n):
        y = x.clone()
        y[n, 1:] = 3.0
        y[..., n.item() % 3] = x[:, 0]
        return x[n], x[n.item() - 1, ::2], x[None, n, None, 0], y

    return program


@case(N, [(torch.randn(5, 3), torch.tensor(n)) for n in (2, 0, -1, 4)])
def row_by_number_counts_up():
    def program(x, n):
        x = x.clone()
        x[n] += 10
        x[n.item()] *= 2
        return x

    return program


@case(N, [(torch.randn(5, 3), torch.tensor(n)) for n in (2, 0, -1, 4)])
def row_by_number_is_written_late():
    def program(x, n):
        x = x.clone()
        row = x[n]
        row += 10
        x[n] = row
        row.mul_(2)
        return x

    return program
