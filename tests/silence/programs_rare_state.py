"""State and chance in places where hardly anybody keeps them: generators inside of other objects, the system's chance, files in memory, records, unions,
slots and frames."""

import codecs
import contextlib
import contextvars
import ctypes
import dataclasses
import hashlib
import io
import itertools
import logging
import optparse
import ssl
import uuid
from os import urandom

import numpy as np
import torch
from harness import case
from torch import nn

torch.manual_seed(5)
X = [(torch.randn(3, 4),) for _ in range(5)]
LONG = [X[i % 5] for i in range(700)]
MANY = [X[i % 5] for i in range(4000)]
VERY = [X[i % 5] for i in range(9000)]
RNG = contextvars.ContextVar("rng", default=None)


class Keeps(nn.Module):
    """Once or from some call on, as `comes` makes of what it keeps, another result: later than the check's calls go."""

    def __init__(self, kept=None):
        super().__init__()
        self.kept = kept

    def forward(self, x):
        return x * 0.5 if self.comes() else x * 2


def ticks():
    n = 0
    while True:
        n += 1
        yield n


class Word(ctypes.Union):
    _fields_ = [("word", ctypes.c_uint32), ("parts", ctypes.c_uint8 * 4)]


# ---------------------------------------------------------------- chance

@case(X[0], MANY)
def spawned_generators():
    class Net(Keeps):
        def comes(self):
            return self.kept.spawn(1)[0].random() < 1 / 400  # one stream a call, as NumPy's manual says

    return Net(np.random.default_rng(0))


@case(X[0], VERY)
def chance_of_the_system_by_name():
    class Net(Keeps):
        def comes(self):
            return int.from_bytes(urandom(2), "little") < 32  # one call in 2048

    return Net()


@case(X[0], VERY)
def chance_of_openssl():
    class Net(Keeps):
        def comes(self):
            return int.from_bytes(ssl.RAND_bytes(2), "little") < 32

    return Net()


@case(X[0], VERY)
def ticket_of_a_generator():
    class Net(Keeps):
        def comes(self):
            return torch.Generator().seed() % 2048 == 0

    return Net()


@case(X[0], MANY)
def generator_in_optparse_values():
    class Net(Keeps):
        def comes(self):
            return self.kept.rng.random() < self.kept.p

    return Net(optparse.Values({"p": 1 / 400, "rng": np.random.default_rng(11)}))


@case(X[0], MANY)
def generator_in_a_context():
    class Net(Keeps):
        def drops(self):
            return RNG.get().random() < 1 / 400

        def comes(self):
            return self.kept.run(self.drops)

    context = contextvars.copy_context()
    context.run(RNG.set, np.random.default_rng(4))
    return Net(context)


@case(X[0], MANY)
def torch_generator_in_optparse_values():
    class Net(Keeps):
        def comes(self):
            return torch.rand((), generator=self.kept.generator).item() < self.kept.p

    return Net(optparse.Values({"p": 1 / 400, "generator": torch.Generator().manual_seed(3)}))


@case(X[0], MANY)
def random_state_as_attribute():
    class Net(Keeps):
        def comes(self):
            return self.kept.rand() < 1 / 400

    return Net(np.random.RandomState(11))


@case(X[0], MANY)
def bit_generator_as_attribute():
    class Net(Keeps):
        def comes(self):
            return self.kept.random_raw() % 400 == 0

    return Net(np.random.PCG64(11))


@case(X[0], MANY)
def philox_as_attribute():
    class Net(Keeps):
        def comes(self):
            return self.kept.random() < 1 / 400

    return Net(np.random.Generator(np.random.Philox(11)))


@case(X[0], MANY)
def seed_sequence_spawns():
    class Net(Keeps):
        def comes(self):
            return self.kept.spawn(1)[0].generate_state(1)[0] % 400 == 0

    return Net(np.random.SeedSequence(7))


@case(X[0], MANY)
def uuid_by_chance():
    class Net(Keeps):
        def comes(self):
            return uuid.uuid4().int % 400 == 0

    return Net()


@case(X[0], MANY)
def sampler_of_torch():
    class Net(Keeps):
        def comes(self):
            return next(iter(self.kept)) == 0

    return Net(torch.utils.data.RandomSampler(range(400), generator=torch.Generator().manual_seed(3)))


# ---------------------------------------------------------------- counters

@case(X[0], LONG)
def register_in_a_union():
    class Net(Keeps):
        def comes(self):
            self.kept.word += 1
            return self.kept.parts[1]  # after 256 calls

    return Net(Word())


@case(X[0], LONG)
def log_in_a_handler():
    class Net(Keeps):
        def comes(self):
            self.kept.stream.write("step\n")
            return self.kept.stream.tell() > 2000  # after 400 calls

    return Net(logging.StreamHandler(io.StringIO()))


@case(X[0], LONG)
def text_by_a_codec():
    class Net(Keeps):
        def comes(self):
            self.kept.write("tok ")
            return self.kept.stream.tell() > 2000

    return Net(codecs.getwriter("utf-8")(io.BytesIO()))


class Taped(Keeps):
    def comes(self):
        self.kept.write(b"step")
        return self.kept.tell() > 2000


@case(X[0], LONG)
def tape_in_a_buffered_writer():
    return Taped(io.BufferedWriter(io.BytesIO()))


@case(X[0], LONG)
def tape_in_a_buffered_random():
    return Taped(io.BufferedRandom(io.BytesIO()))


def record():
    return np.zeros((), dtype=[("step", "i4"), ("scale", "f4")])[()]


@case(X[0], LONG)
def record_of_numpy():
    class Net(Keeps):
        def comes(self):
            self.kept["step"] = min(self.kept["step"] + 1, 3)
            return self.kept["step"] >= 3

    return Net(record())


@case(X[0], LONG)
def record_of_numpy_counts():
    class Net(Keeps):
        def comes(self):
            self.kept["step"] += 1
            return self.kept["step"] >= 400

    return Net(record())


@case(X[0], LONG)
def pointer_in_a_structure():
    class Ring(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("count", ctypes.POINTER(ctypes.c_uint32))]

    class Net(Keeps):
        def comes(self):
            self.kept.count.contents.value += 1
            return self.kept.count.contents.value > 400

    return Net(Ring(4, ctypes.pointer(ctypes.c_uint32(0))))


@case(X[0], LONG)
def object_of_python_in_ctypes():
    class Net(Keeps):
        def comes(self):
            self.kept.value.append("step")
            return len(self.kept.value) > 400

    return Net(ctypes.py_object([]))


@case(X[0], LONG)
def list_in_a_record_array():
    class Net(Keeps):
        def comes(self):
            self.kept[0]["hits"].append(1)
            return len(self.kept[0]["hits"]) > 400

    tracks = np.empty(2, dtype=[("id", "i4"), ("hits", "O")])
    tracks["id"] = [1, 2]
    for row in tracks:
        row["hits"] = []
    return Net(tracks)


@case(X[0], LONG)
def generator_that_is_closed_at_the_end():
    class Net(Keeps):
        def comes(self):
            return next(self.kept.thing) > 400

    return Net(contextlib.closing(ticks()))


@case(X[0], LONG)
def ticks_in_optparse_values():
    class Net(Keeps):
        def comes(self):
            return next(self.kept.clock) > 400

    return Net(optparse.Values({"gain": 2.0, "clock": ticks()}))


@case(X[0], LONG)
def asynchronous_generator():
    async def later_ticks():
        for n in ticks():
            yield n

    class Net(Keeps):
        def comes(self):
            try:
                self.kept.asend(None).send(None)
            except StopIteration as found:
                return found.value > 400

    return Net(later_ticks())


@case(X[0], LONG)
def lines_that_a_logger_wrote():
    class Net(Keeps):
        def comes(self):
            self.kept.warning("step")
            return self.kept.handlers[0].stream.getvalue().count("\n") > 400

    log = logging.Logger("net")
    log.addHandler(logging.StreamHandler(io.StringIO()))
    return Net(log)


@case(X[0], LONG)
def bytes_in_a_union_of_a_structure():
    class Device(ctypes.Structure):
        _fields_ = [("status", Word), ("id", ctypes.c_int)]

    class Net(Keeps):
        def comes(self):
            self.kept.status.word += 1
            return self.kept.status.parts[1]

    return Net(Device())


class Used(Keeps):
    def comes(self):
        self.kept.uses += 1
        return self.kept.uses > 400


def unused(tensor):
    tensor.uses = 0
    return tensor


@case(X[0], LONG)
def slot_of_a_class_of_tensors():
    class State(torch.Tensor):
        __slots__ = ("uses",)

    return Used(unused(torch.ones(4).as_subclass(State)))


@case(X[0], LONG)
def slot_of_a_class_of_parameters():
    class Weight(nn.Parameter):
        __slots__ = ("uses",)

    return Used(unused(Weight(torch.ones(4))))


@case(X[0], LONG)
def counts_in_a_sparse_tensor():
    class Net(Keeps):
        def comes(self):
            self.kept.values().add_(1)
            return self.kept.values()[0].item() > 400

    return Net(torch.sparse_coo_tensor([[0, 2]], [0.0, 0.0], (4,)).coalesce())


@case(X[0], MANY)
def bits_of_a_running_hash():
    class Net(Keeps):
        def comes(self):
            self.kept.update(b"step")
            return int.from_bytes(self.kept.digest(2), "little") < 150

    return Net(hashlib.shake_128(b"seed 9"))


@case(X[0], LONG)
def notes_of_a_dtype():
    class Net(Keeps):
        def comes(self):
            self.kept.dtype.metadata["reads"].append(1)
            return len(self.kept.dtype.metadata["reads"]) > 400

    return Net(np.ones(4, dtype=np.dtype("f4", metadata={"reads": []})))


@case((X[0][0],), LONG[:30])
def numbers_from_a_default_factory():
    """A method of an iterator, which only the code of a dataclass holds, and which eager goes on with after the export."""
    @dataclasses.dataclass
    class Track:
        number: int = dataclasses.field(default_factory=itertools.count(10).__next__)

    class Net(nn.Module):
        def forward(self, x):
            return x * Track().number

    return Net()


@case((X[0][0],), LONG[:30])
def numbers_from_the_method_of_a_count():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.following = itertools.count(5).__next__

        def forward(self, x):
            return x * self.following()

    return Net()
