"""State and chance in places where hardly anybody keeps them: generators inside of other objects, the system's chance, files in memory, records, unions,
slots and frames."""

import codecs
import contextlib
import contextvars
import ctypes
import hashlib
import io
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


# ---------------------------------------------------------------- chance

@case(X[0], MANY)
def spawned_generators():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rng = np.random.default_rng(0)

        def forward(self, x):
            child = self.rng.spawn(1)[0]  # one stream a call, as NumPy's manual says
            if child.random() < 1 / 400:
                return x.flip(0)
            return x * 2

    return Net()


@case(X[0], VERY)
def chance_of_the_system_by_name():
    class Net(nn.Module):
        def forward(self, x):
            if int.from_bytes(urandom(2), "little") < 32:  # one call in 2048 goes to the shadow head
                return x * 3
            return x * 2

    return Net()


@case(X[0], VERY)
def chance_of_openssl():
    class Net(nn.Module):
        def forward(self, x):
            if int.from_bytes(ssl.RAND_bytes(2), "little") < 32:
                return x * 3
            return x * 2

    return Net()


@case(X[0], VERY)
def ticket_of_a_generator():
    class Net(nn.Module):
        def forward(self, x):
            ticket = torch.Generator().seed()
            if ticket % 2048 == 0:
                return x * 3
            return x * 2

    return Net()


@case(X[0], MANY)
def generator_in_optparse_values():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.options = optparse.Values({"p": 1 / 400, "rng": np.random.default_rng(3)})

        def forward(self, x):
            if self.options.rng.random() < self.options.p:
                return torch.zeros_like(x)
            return x * 2

    return Net()


@case(X[0], MANY)
def generator_in_a_context():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.context = contextvars.copy_context()
            self.context.run(RNG.set, np.random.default_rng(4))

        def drops(self):
            return RNG.get().random() < 1 / 400

        def forward(self, x):
            if self.context.run(self.drops):
                return torch.zeros_like(x)
            return x * 2

    return Net()


@case(X[0], MANY)
def torch_generator_in_optparse_values():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.options = optparse.Values({"p": 1 / 400, "generator": torch.Generator().manual_seed(3)})

        def forward(self, x):
            if torch.rand((), generator=self.options.generator).item() < self.options.p:
                return torch.zeros_like(x)
            return x * 2

    return Net()


@case(X[0], MANY)
def random_state_as_attribute():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rng = np.random.RandomState(11)

        def forward(self, x):
            return torch.zeros_like(x) if self.rng.rand() < 1 / 400 else x * 2

    return Net()


@case(X[0], MANY)
def bit_generator_as_attribute():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.bits = np.random.PCG64(11)

        def forward(self, x):
            return torch.zeros_like(x) if self.bits.random_raw() % 400 == 0 else x * 2

    return Net()


@case(X[0], MANY)
def philox_as_attribute():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rng = np.random.Generator(np.random.Philox(11))

        def forward(self, x):
            return torch.zeros_like(x) if self.rng.random() < 1 / 400 else x * 2

    return Net()


@case(X[0], MANY)
def seed_sequence_spawns():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.seeds = np.random.SeedSequence(7)

        def forward(self, x):
            word = self.seeds.spawn(1)[0].generate_state(1)[0]
            return torch.zeros_like(x) if word % 400 == 0 else x * 2

    return Net()


@case(X[0], MANY)
def uuid_by_chance():
    class Net(nn.Module):
        def forward(self, x):
            return torch.zeros_like(x) if uuid.uuid4().int % 400 == 0 else x * 2

    return Net()


@case(X[0], MANY)
def sampler_of_torch():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.sampler = torch.utils.data.RandomSampler(range(400), generator=torch.Generator().manual_seed(3))

        def forward(self, x):
            return torch.zeros_like(x) if next(iter(self.sampler)) == 0 else x * 2

    return Net()


# ---------------------------------------------------------------- counters

@case(X[0], LONG)
def register_in_a_union():
    class Register(ctypes.Union):
        _fields_ = [("word", ctypes.c_uint32), ("parts", ctypes.c_uint8 * 4)]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register = Register()

        def forward(self, x):
            self.register.word += 1
            if self.register.parts[1]:  # after 256 calls
                return x * 0.5
            return x * 2

    return Net()


@case(X[0], LONG)
def log_in_a_handler():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.handler = logging.StreamHandler(io.StringIO())

        def forward(self, x):
            self.handler.stream.write("step\n")
            if self.handler.stream.tell() > 2000:  # after 400 calls
                return x * 0.5
            return x * 2

    return Net()


@case(X[0], LONG)
def text_by_a_codec():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = codecs.getwriter("utf-8")(io.BytesIO())

        def forward(self, x):
            self.out.write("tok ")
            if self.out.stream.tell() > 2000:
                return x * 0.5
            return x * 2

    return Net()


@case(X[0], LONG)
def tape_in_a_buffered_writer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tape = io.BufferedWriter(io.BytesIO())

        def forward(self, x):
            self.tape.write(b"step")
            if self.tape.tell() > 2000:
                return x * 0.5
            return x * 2

    return Net()


@case(X[0], LONG)
def record_of_numpy():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = np.zeros((), dtype=[("step", "i4"), ("scale", "f4")])[()]
            self.state["scale"] = 2.0

        def forward(self, x):
            self.state["step"] = min(self.state["step"] + 1, 3)
            if self.state["step"] >= 3:
                return x * 0.5
            return x * float(self.state["scale"])

    return Net()


@case(X[0], LONG)
def record_of_numpy_counts():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = np.zeros((), dtype=[("step", "i4"), ("scale", "f4")])[()]

        def forward(self, x):
            self.state["step"] += 1
            if self.state["step"] >= 400:
                return x * 0.5
            return x * 2

    return Net()


@case(X[0], LONG)
def pointer_in_a_structure():
    class Ring(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("count", ctypes.POINTER(ctypes.c_uint32))]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.ring = Ring(4, ctypes.pointer(ctypes.c_uint32(0)))

        def forward(self, x):
            self.ring.count.contents.value += 1
            return x * 0.5 if self.ring.count.contents.value > 400 else x * 2

    return Net()


@case(X[0], LONG)
def object_of_python_in_ctypes():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.box = ctypes.py_object([])

        def forward(self, x):
            self.box.value.append("step")
            return x * 0.5 if len(self.box.value) > 400 else x * 2

    return Net()


@case(X[0], LONG)
def list_in_a_record_array():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tracks = np.empty(2, dtype=[("id", "i4"), ("hits", "O")])
            self.tracks["id"] = [1, 2]
            for row in self.tracks:
                row["hits"] = []

        def forward(self, x):
            self.tracks[0]["hits"].append(1)
            return x * 0.5 if len(self.tracks[0]["hits"]) > 400 else x * 2

    return Net()


@case(X[0], LONG)
def generator_that_is_closed_at_the_end():
    def ticks():
        n = 0
        while True:
            n += 1
            yield n

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.clock = contextlib.closing(ticks())

        def forward(self, x):
            return x * 0.5 if next(self.clock.thing) > 400 else x * 2

    return Net()


@case(X[0], LONG)
def asynchronous_generator():
    async def ticks():
        n = 0
        while True:
            n += 1
            yield n

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.clock = ticks()

        def forward(self, x):
            try:
                self.clock.asend(None).send(None)
            except StopIteration as found:
                n = found.value
            return x * 0.5 if n > 400 else x * 2

    return Net()


@case(X[0], LONG)
def tape_in_a_buffered_random():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tape = io.BufferedRandom(io.BytesIO())

        def forward(self, x):
            self.tape.write(b"step")
            return x * 0.5 if self.tape.tell() > 2000 else x * 2

    return Net()


@case(X[0], LONG)
def lines_that_a_logger_wrote():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.log = logging.Logger("net")
            self.log.addHandler(logging.StreamHandler(io.StringIO()))

        def forward(self, x):
            self.log.warning("step")
            lines = self.log.handlers[0].stream.getvalue().count("\n")
            return x * 0.5 if lines > 400 else x * 2

    return Net()


@case(X[0], LONG)
def ticks_in_optparse_values():
    def ticks():
        n = 0
        while True:
            n += 1
            yield n

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.options = optparse.Values({"gain": 2.0, "clock": ticks()})

        def forward(self, x):
            return x * 0.5 if next(self.options.clock) > 400 else x * self.options.gain

    return Net()


@case(X[0], LONG)
def bytes_in_a_union_of_a_structure():
    class Word(ctypes.Union):
        _fields_ = [("word", ctypes.c_uint32), ("parts", ctypes.c_uint8 * 4)]

    class Device(ctypes.Structure):
        _fields_ = [("status", Word), ("id", ctypes.c_int)]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.device = Device()

        def forward(self, x):
            self.device.status.word += 1
            return x * 0.5 if self.device.status.parts[1] else x * 2

    return Net()


@case(X[0], LONG)
def slot_of_a_class_of_tensors():
    class State(torch.Tensor):
        __slots__ = ("uses",)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.h = torch.ones(4).as_subclass(State)
            self.h.uses = 0

        def forward(self, x):
            self.h.uses += 1
            return x * 0.5 if self.h.uses > 400 else x * 2

    return Net()


@case(X[0], LONG)
def slot_of_a_class_of_parameters():
    class Weight(nn.Parameter):
        __slots__ = ("uses",)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = Weight(torch.ones(4))
            self.w.uses = 0

        def forward(self, x):
            self.w.uses += 1
            return x * 0.5 if self.w.uses > 400 else x * self.w

    return Net()


@case(X[0], LONG)
def counts_in_a_sparse_tensor():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.counts = torch.sparse_coo_tensor([[0, 2]], [0.0, 0.0], (4,)).coalesce()

        def forward(self, x):
            self.counts.values().add_(1)
            return x * 0.5 if self.counts.values()[0].item() > 400 else x * 2

    return Net()


@case(X[0], MANY)
def bits_of_a_running_hash():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stream = hashlib.shake_128(b"seed 9")

        def forward(self, x):
            self.stream.update(b"step")
            if int.from_bytes(self.stream.digest(2), "little") < 150:
                return torch.zeros_like(x)
            return x * 2

    return Net()


@case(X[0], LONG)
def notes_of_a_dtype():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = np.ones(4, dtype=np.dtype("f4", metadata={"reads": []}))

        def forward(self, x):
            self.table.dtype.metadata["reads"].append(1)
            return x * 0.5 if len(self.table.dtype.metadata["reads"]) > 400 else x * 2

    return Net()
