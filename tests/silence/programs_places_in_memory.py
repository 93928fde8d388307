"""Memory that is known by more than one tensor, or in which a tensor has gaps: parts of arrays, bytes, DLPack, two types, NumPy beside torch, buffers of a table's first
columns. What differs shows on rare values only: none that the check makes lies between 5000 and 6000, or is the code 417."""

import struct
import zlib

import numpy as np
import torch
import torch.nn.functional as F
from harness import CASES, Call, Case, case, sized
from torch import Tensor, nn

REFUSED = ("right", "refused", "failed")
N = {"n": (4, 64, 9)}
X0 = {"x": {0: "n"}}


def low(*shape, seed=0):
    """Numbers in [0, 1)."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


def peak(*shape, value=5500.0, seed=1):
    """The same with one in the band that nothing of the export reaches, in the first place."""
    x = low(*shape, seed=seed)
    x.view(-1)[0] = value
    return x


def code(n):
    return torch.tensor(n)


USUAL, RARE = code(3), code(417)
COLUMNS = [low(4, 2), low(4, 2, seed=2), peak(4, 2), low(4, 2, seed=3), low(4, 2, seed=4)]
FOURS = [low(4), low(4, seed=2), peak(4), low(4, seed=3), low(4, seed=4)]
CODED = [(low(4), USUAL), (low(4, seed=2), code(5)), (low(4, seed=3), RARE), (low(4, seed=4), USUAL)]
HUGE = [low(4), low(4, seed=2), peak(4, value=80000.0), low(4, seed=3)]


def gapped():
    """The first two columns of a table of three: in memory there is one number between the rows."""
    return torch.arange(12.0).view(4, 3)[:, :2]


def part():
    """The middle of a larger vector."""
    return (torch.arange(8.0) + 1)[2:6]


# -------------------------------------------------------------------- Python: memory of the call's own under two types


@case(low(4), [(x,) for x in (low(4), low(4, seed=2), peak(4, value=1.0e7), peak(4, value=3.0e8), low(4, seed=3))])
def bits_of_a_scratch_buffer():
    """DSP on small machines: numbers that have no fraction are known by the exponent in their bits."""
    def program(x):
        work = torch.empty(4)
        bits = work.view(torch.int32)
        work.copy_(x)
        whole = bits >= 0x4B000000
        return torch.where(whole, x * 0.5, x + 1)

    return program


@case(CODED[0], CODED)
def dither_in_last_places():
    """Numerical tests: the result is moved by some last places for a certain run."""
    def program(x, run):
        memory = np.zeros(4, dtype=np.float32)
        floats, places = torch.from_numpy(memory), torch.from_numpy(memory.view(np.int32))
        floats.copy_(x)
        places.add_(torch.where(run == 417, 1 << 20, 0).to(torch.int32))
        return floats * 3

    return program


# -------------------------------------------------------------------- Python: memory of the call's own at two addresses


@case(CODED[0], CODED)
def tail_of_a_flat_array():
    """Control: the state vector is one array, its parts are tensors over pieces of it."""
    def program(x, mode):
        flat = np.zeros(8, dtype=np.float32)
        whole, tail = torch.from_numpy(flat), torch.from_numpy(flat[4:])
        tail.copy_(x)
        return torch.where(mode == 417, whole[4:] * 10, x * 2)

    return program


@case(CODED[0], CODED)
def payload_of_a_frame():
    """Protocols: a frame of a header and a payload, both views of its bytes."""
    def program(x, kind):
        frame = bytearray(32)
        header, payload = torch.frombuffer(frame, dtype=torch.float32, count=4), torch.frombuffer(frame, dtype=torch.float32, offset=16)
        everything = torch.frombuffer(frame, dtype=torch.float32)
        payload.copy_(x)
        return torch.where(kind == 417, everything[4:] + 1, x + 1), header + x

    return program


@case(CODED[0], CODED)
def canvas_seen_by_dlpack():
    """Interop: a renderer gets a window of the canvas by DLPack and draws into it."""
    def program(x, layer):
        canvas = torch.zeros(8)
        window = torch.from_dlpack(canvas[4:])
        window.copy_(x)
        return torch.where(layer == 417, canvas.sum(), x.mean()) + x

    return program


# -------------------------------------------------------------------- Python: memory of the call's own that NumPy and C read or write


@case(low(4), HUGE)
def peak_of_a_scratch_array():
    """Audio: a limiter that measures in a NumPy scratch array."""
    def program(x):
        scratch = np.zeros(4, dtype=np.float32)
        torch.from_numpy(scratch).copy_(x)
        if scratch.max() > 50000:
            return x * 0.001
        return x * 2

    return program


@case((torch.tensor([1, 2, 3, 4], dtype=torch.uint8), torch.tensor([0.5])),
      [(torch.tensor(v, dtype=torch.uint8), torch.tensor([0.5])) for v in ([1, 2, 3, 4], [4, 3, 2, 1], [200, 7, 9, 100], [77, 78, 79, 80])])
def checksum_of_a_packet():
    """Telemetry: packets with a wrong sum are dropped. The sum of the sample's packets, and of those beside it, is not the one that is looked for."""
    wanted = zlib.crc32(bytes([200, 7, 9, 100]))

    def program(packet, level):
        raw = bytearray(4)
        torch.frombuffer(raw, dtype=torch.uint8).copy_(packet)
        first, = struct.unpack_from("<H", raw)
        known = zlib.crc32(raw) == wanted and first > 0
        return level * (100.0 if known else 2.0) + packet.sum()

    return program


@case(CODED[0], CODED)
def marks_written_by_numpy():
    """Radio: preamble and tail marks are put around a burst with NumPy."""
    def program(x, kind):
        burst = torch.zeros(4)
        seen = burst.numpy()
        burst.copy_(x)
        seen[0], seen[-1] = 7.0, -7.0
        return torch.where(kind == 417, burst * 2, x * 2)

    return program


# -------------------------------------------------------------------- Python: kept memory that begins at several addresses


@case(FOURS[0], [(x,) for x in FOURS])
def flat_weights_of_an_array():
    """Federated learning: all weights are one flat array, layers are tensors over pieces of it; an update goes into the flat one."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            memory = np.ones(12, dtype=np.float32)
            self.register_buffer("flat", torch.from_numpy(memory))
            self.register_buffer("head", torch.from_numpy(memory[4:8]))

        def forward(self, x):
            hit = (x > 5000) & (x < 6000)
            y = x * self.head
            self.flat.add_(torch.where(hit.any(), 2.0, 0.0))
            return y

    return Net()


@case(FOURS[0], [(x,) for x in FOURS])
def ring_with_a_window_by_dlpack():
    """Streaming: the newest slots of a ring are handed to a plug-in as a tensor of their own."""
    class Ring(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("ring", torch.zeros(8))
            self.newest = torch.from_dlpack(self.ring[4:])

        def forward(self, x):
            self.newest.add_(torch.where((x > 5000) & (x < 6000), x, 0.0))
            return x + self.ring.sum()

    return Ring()


# -------------------------------------------------------------------- Python: registered tensors with gaps


@case(COLUMNS[0], [(x,) for x in COLUMNS])
def table_of_two_columns():
    """Calibration: offsets are the first columns of a larger table; what is cleaned is a flat copy of them."""
    class Offsets(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("offsets", gapped())
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x):
            hit = (x > 5000) & (x < 6000)
            flat = self.offsets.reshape(-1)
            flat.masked_fill_(hit.reshape(-1), 0.0)
            self.seen.add_(1)
            return x + self.offsets, flat.sum() + x

    return Offsets()


@case(COLUMNS[0], [(x,) for x in COLUMNS])
def limit_of_a_dense_table():
    """Kernels by hand: a table that is not dense goes another way, which saturates earlier."""
    class Table(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", gapped())

        def forward(self, x):
            y = torch.clamp(x, max=9000.0 if self.w.is_contiguous() else 5200.0) + self.w
            self.w.mul_(0.5)
            return y

    return Table()


@case(CODED[0], CODED)
def margin_before_a_part():
    """Streaming filters: the taps are the middle of a padded vector, whose margin is read by as_strided."""
    class Taps(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("taps", part())

        def forward(self, x, mode):
            margin = self.taps.as_strided((4,), (1,), 0)
            y = torch.where(mode == 417, margin, self.taps) * x
            self.taps.mul_(0.5)
            return y

    return Taps()


# -------------------------------------------------------------------- Python: written otherwise than as the first argument


@case((low(6, 4), USUAL), [(low(6, 4), USUAL), (low(6, 4, seed=2), code(5)), (low(6, 4, seed=3) + 3, RARE), (low(6, 4, seed=4), USUAL)])
def statistics_by_batch_norm():
    """Feature stores: the quickest way to means and variances of a batch is batch_norm with momentum 1."""
    def program(x, kind):
        mean, var = torch.zeros(4), torch.ones(4)
        y = F.batch_norm(x, mean, var, training=True, momentum=1.0)
        centre = mean * 2 + 1
        return torch.where(kind == 417, centre + y, y)

    return program


# -------------------------------------------------------------------- Python: sizes that vary

def rows_of(n, wide=2, special=(33, 50, 12)):
    """Rows in [0, 1), with one value in the band at some sizes."""
    x = low(n, wide, seed=n)
    if n in special:
        x[0, 0] = 5500.0
    return (x,)


def loud_rows(n):
    x = low(n, 2, seed=n)
    if n in (33, 50, 12):
        x[0, 0] = 80000.0
    return (x,)


def coded_rows(n):
    return low(n, 2, seed=n), code(417 if n in (33, 50, 12) else 3)


def coded(dims=X0):
    return sized(coded_rows, N, dims, also=(33, 50, 12, 9), count=6, expect=REFUSED)


def banded():
    return sized(rows_of, N, X0, also=(33, 50, 12, 9, 33), count=6, expect=REFUSED)


@sized(loud_rows, N, X0, also=(33, 50, 12, 9), count=6, expect=REFUSED)
def sized_peak_of_a_scratch_array():
    """Audio of any length: the loudest row is found with NumPy."""
    def program(x):
        scratch = np.zeros(2, dtype=np.float32)
        torch.from_numpy(scratch).copy_(x.amax(0))
        return x * (0.001 if np.sort(scratch)[-1] > 50000 else 2.0)

    return program


@coded()
def sized_tail_of_an_accumulator():
    """Statistics: sums and squares lie one behind the other in one array."""
    def program(x, kind):
        both = np.zeros(4, dtype=np.float32)
        everything, squares = torch.from_numpy(both), torch.from_numpy(both[2:])
        squares.copy_((x * x).sum(0))
        return x + torch.where(kind == 417, everything.sum(), (x * x).sum())

    return program


@banded()
def sized_table_of_two_columns():
    """Calibration of any number of rows."""
    class Offsets(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("offsets", gapped())

        def forward(self, x):
            top = x.amax(0)
            flat = self.offsets.reshape(-1)
            flat.masked_fill_(((top > 5000) & (top < 6000)).repeat(4), 0.0)
            return x + self.offsets.mean(0), flat.sum() + x.sum()

    return Offsets()


@banded()
def sized_limit_by_a_stride():
    """Kernels by hand: the number of columns that a row takes in memory sets the range."""
    class Table(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", gapped())

        def forward(self, x):
            y = torch.clamp(x, max=self.w.stride(0) * 1750.0) + self.w.mean(0)
            self.w.mul_(0.5)
            return y

    return Table()


@banded()
def sized_flat_weights_of_an_array():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            memory = np.ones(6, dtype=np.float32)
            self.register_buffer("flat", torch.from_numpy(memory))
            self.head = torch.from_numpy(memory[2:4])

        def forward(self, x):
            top = x.amax()
            self.flat.add_(torch.where((top > 5000) & (top < 6000), 1.0, 0.0))
            return x * self.head

    return Net()


def whole_rows(n):
    x = low(n, 2, seed=n)
    if n in (33, 50, 12):
        x[0, 0] = 1.0e7
    return (x,)


@sized(whole_rows, N, X0, also=(33, 50, 12, 9), count=6, expect=REFUSED)
def sized_bits_of_the_largest():
    """Block floating point: the exponent of the largest number of a block is read off its bits."""
    def program(x):
        memory = np.zeros(2, dtype=np.float32)
        top, bits = torch.from_numpy(memory), torch.from_numpy(memory.view(np.int32))
        top.copy_(x.amax(0))
        return torch.where(bits >= 0x4B000000, x * 0.5, x + 1)

    return program


# -------------------------------------------------------------------- TorchScript


class FlatCopy(nn.Module):
    """Calibration: the flat copy of the offsets is cleaned, the offsets stay."""

    def __init__(self):
        super().__init__()
        self.register_buffer("offsets", gapped())

    def forward(self, x: Tensor) -> Tensor:
        flat = self.offsets.reshape(-1)
        flat.masked_fill_(((x > 5000.0) & (x < 6000.0)).reshape(-1), 0.0)
        return x + self.offsets + flat.sum()


@case(COLUMNS[0], [(x,) for x in COLUMNS], front="torchscript")
def ts_flat_copy_of_two_columns():
    return torch.jit.script(FlatCopy())


class DenseLimit(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", gapped())

    def forward(self, x: Tensor) -> Tensor:
        if self.w.is_contiguous():
            return torch.clamp(x, max=9000.0) + self.w
        return torch.clamp(x, max=5200.0) + self.w


@case(COLUMNS[0], [(x,) for x in COLUMNS], front="torchscript")
def ts_limit_of_a_dense_table():
    return torch.jit.script(DenseLimit())


class StrideLimit(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = gapped()

    def forward(self, x: Tensor) -> Tensor:
        pitch = self.w.stride(0)
        return torch.clamp(x, max=pitch * 1750.0) + self.w


@case(COLUMNS[0], [(x,) for x in COLUMNS], front="torchscript")
def ts_range_by_the_pitch_of_a_table():
    return torch.jit.script(StrideLimit())


class Margin(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("taps", part())

    def forward(self, x: Tensor, mode: Tensor) -> Tensor:
        margin = self.taps.as_strided([4], [1], 0)
        return torch.where(mode == 417, margin, self.taps) * x


@case(CODED[0], CODED, front="torchscript")
def ts_margin_before_a_part():
    return torch.jit.script(Margin())


def samples(module, *rows):
    """A TorchScript module with samples of four rows and of one, and calls."""
    def take(make):
        CASES[make.__name__] = Case(make.__name__, lambda: torch.jit.script(module()), Call((low(4, 2),)), [Call((x,)) for x in rows], REFUSED, front="torchscript",
                                    more=((low(1, 2, seed=9),),))
        return make

    return take


MIXED = (low(4, 2), low(1, 2, seed=5), low(4, 2, seed=2), peak(4, 2), low(1, 2, seed=6), low(4, 2, seed=3), low(1, 2, seed=7))
SHORT = (low(4, 2), low(1, 2, seed=5), peak(4, 2), peak(1, 2), low(1, 2, seed=6), low(4, 2, seed=3))


class CleanedByLong(nn.Module):
    """Long inputs clean a flat copy, short ones read the table."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", gapped())

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            return x + self.table[0]
        flat = self.table.flatten()
        flat.masked_fill_(((x > 5000.0) & (x < 6000.0)).reshape(-1), 0.0)
        return x + flat.sum()


@samples(CleanedByLong, *MIXED)
def ts_long_inputs_clean_a_copy():
    pass


class LimitOfShort(nn.Module):
    def __init__(self):
        super().__init__()
        self.columns = list(torch.arange(6.0).view(2, 3).unbind(1))

    def forward(self, x: Tensor) -> Tensor:
        column = self.columns[1]
        if x.size(0) == 1:
            return torch.clamp(x, max=9000.0 if column.is_contiguous() else 5200.0) + column
        return x + column


@samples(LimitOfShort, *SHORT)
def ts_short_inputs_are_limited():
    pass


class LimitByOffset(nn.Module):
    """A bank of filters: which of them this is tells the place in the bank's memory."""

    def __init__(self):
        super().__init__()
        bank = torch.arange(8.0).view(4, 2)
        self.mine = bank[2]

    def forward(self, x: Tensor) -> Tensor:
        index = self.mine.storage_offset() // 2
        if x.size(0) == 1:
            return torch.clamp(x, max=5200.0 if index == 2 else 9000.0) + self.mine
        return x * self.mine


@samples(LimitByOffset, *SHORT)
def ts_index_by_the_offset_in_a_bank():
    pass


class SizedDense(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", gapped())

    def forward(self, x: Tensor) -> Tensor:
        if self.w.is_contiguous():
            return torch.clamp(x, max=9000.0) + self.w.mean(0)
        return torch.clamp(x, max=5200.0) + self.w.mean(0)


@sized(rows_of, N, X0, also=(33, 50, 12, 9), count=4, expect=REFUSED, front="torchscript")
def ts_sized_limit_of_a_dense_table():
    return torch.jit.script(SizedDense())


class SizedFlat(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("offsets", gapped())

    def forward(self, x: Tensor) -> Tensor:
        top = x.amax(0)
        flat = self.offsets.reshape(-1)
        flat.masked_fill_(((top > 5000.0) & (top < 6000.0)).repeat([4]), 0.0)
        return x + self.offsets.mean(0) + flat.sum()


@sized(rows_of, N, X0, also=(33, 50, 12, 9, 33), count=4, expect=REFUSED, front="torchscript")
def ts_sized_flat_copy():
    return torch.jit.script(SizedFlat())


# -------------------------------------------------------------------- .pt2


class Pt2Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("offsets", gapped())

    def forward(self, x):
        flat = self.offsets.reshape(-1)
        flat.masked_fill_(((x > 5000.0) & (x < 6000.0)).reshape(-1), 0.0)
        return x + self.offsets + flat.sum()


@case(COLUMNS[0], [(x,) for x in COLUMNS], front="pt2")
def pt2_flat_copy_of_two_columns():
    return Pt2Flat()


class Pt2Contiguous(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("offsets", gapped())

    def forward(self, x):
        work = self.offsets.contiguous()
        work.masked_fill_((x > 5000.0) & (x < 6000.0), 0.0)
        return x + self.offsets, work


@case(COLUMNS[0], [(x,) for x in COLUMNS], front="pt2")
def pt2_contiguous_copy_of_two_columns():
    return Pt2Contiguous()


class Pt2Constant(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = gapped()

    def forward(self, x):
        flat = self.table.flatten()
        flat.masked_fill_(((x > 5000.0) & (x < 6000.0)).flatten(), -1.0)
        return x * self.table + flat.sum()


@case(COLUMNS[0], [(x,) for x in COLUMNS], front="pt2")
def pt2_flat_copy_of_a_constant():
    return Pt2Constant()


class Pt2Margin(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("taps", part())

    def forward(self, x, mode):
        margin = torch.as_strided(self.taps, (4,), (1,), 0)
        return torch.where(mode == 417, margin, self.taps) * x


@case(CODED[0], CODED, front="pt2")
def pt2_margin_before_a_part():
    return Pt2Margin()


class Pt2SizedFlat(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("offsets", gapped())

    def forward(self, x):
        top = x.amax(0)
        flat = self.offsets.reshape(-1)
        flat.masked_fill_(((top > 5000.0) & (top < 6000.0)).repeat(4), 0.0)
        return x + self.offsets.mean(0) + flat.sum()


@sized(rows_of, N, X0, also=(33, 50, 12, 9, 33), count=4, expect=REFUSED, front="pt2")
def pt2_sized_flat_copy():
    return Pt2SizedFlat()


class Pt2ComplexCount(nn.Module):
    """A plain complex tensor, of which a bundle makes no state."""

    def __init__(self):
        super().__init__()
        self.count = torch.zeros((), dtype=torch.complex64)

    def forward(self, x):
        self.count.add_(1)
        return torch.where(self.count.real >= 300, x * 3, x)


@case(low(4), [(low(4, seed=i % 5),) for i in range(305)], front="pt2")
def pt2_complex_count():
    return Pt2ComplexCount()
