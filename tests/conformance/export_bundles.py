"""What the exporter makes of a few models, with eager's results: bundles in FOLDER/models, and FOLDER/models.json, their cases
for make_bundles (platforms/posix/conformance/manifest.h says what is in them).

    export_bundles.py FOLDER
"""
import json
import os
import sys

import numpy as np
import torch
from torch import nn

import lazyrt

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "models"))

ZOO = ["ds_cnn", "conv_gru", "llama_tiny", "mobilenet_v2"]


class Stream(nn.Module):
    """Keeps a hidden state and a ring of what it saw."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(6, 8)
        self.hidden = torch.zeros(2, 8)
        self.register_buffer("ring", torch.zeros(2, 3, 8))

    def forward(self, x):
        self.hidden = self.cell(x, self.hidden)
        self.ring[:] = torch.cat((self.ring[:, 1:], self.hidden[:, None]), dim=1)
        return self.ring.mean(dim=1), self.hidden


class Gate(nn.Module):
    """Two paths, chosen by the values of x."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        return torch.relu(self.linear(x)) if x.mean() > 0 else torch.tanh(self.linear(x)) * 2


class Encoder(nn.Module):
    """Takes any batch and any length."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)

    def forward(self, ids):
        return self.layer(self.embedding(ids)).mean(dim=1)


class Writer:
    """The folder while it is written."""

    def __init__(self, folder):
        self.folder, self.cases = folder, []
        os.makedirs(os.path.join(folder, "models"), exist_ok=True)

    def export(self, name, model, calls, **options):
        bundle = f"models/{name}.lzb"
        lazyrt.export(model, calls, os.path.join(self.folder, bundle), **options)
        return bundle

    def array(self, name, array):
        np.save(os.path.join(self.folder, name), array.numpy())
        return name

    def step(self, name, inputs, outputs=None, error=None):
        step = {"inputs": [self.array(f"models/{name}.in{i}.npy", x) for i, x in enumerate(inputs)]}
        if error:
            step["error"] = error
        else:
            step["outputs"] = [self.array(f"models/{name}.out{i}.npy", y) for i, y in enumerate(outputs)]
        return step

    def steps(self, name, model, calls):
        """One step for each call; eager gives the results, one call after the other."""
        made = []
        for number, inputs in enumerate(calls):
            outputs = model(*inputs)
            made.append(self.step(f"{name}.{number}", inputs, outputs if isinstance(outputs, tuple) else (outputs,)))
        return made

    def add(self, name, bundle, steps):
        self.cases.append({"id": f"models/{name}", "bundle": bundle, "steps": steps})


def write_all(writer):
    torch.manual_seed(7)
    stream = Stream().eval()
    bundle = writer.export("stream", stream, (torch.randn(2, 6),))
    writer.add("stream_of_states", bundle, writer.steps("stream", stream, [(torch.randn(2, 6),) for _ in range(5)]))

    gate = Gate().eval()
    up, down = torch.rand(3, 16), -torch.rand(3, 16)
    bundle = writer.export("both_paths", gate, [(up,), (down,)])
    writer.add("variants", bundle, writer.steps("variants", gate, [(down * 0.5,), (up,), (up * 0.1,), (down,)]))
    bundle = writer.export("one_path", gate, (up,))
    guarded = writer.steps("guard", gate, [(up * 0.5,)])
    guarded.append(writer.step("guard.other_path", (down,), error="guard failed"))
    writer.add("guard", bundle, guarded + writer.steps("guard.after", gate, [(up,)]))

    encoder = Encoder().eval()
    bundle = writer.export("encoder", encoder, (torch.randint(0, 50, (2, 9)),),
                           dynamic={"ids": {0: ("batch", 1, 4), 1: ("seq", 1, 40)}})
    sizes = [(1, 1), (2, 9), (4, 40), (3, 17), (1, 40), (2, 2)]
    calls = [(torch.randint(0, 50, size),) for size in sizes]
    steps = writer.steps("sizes", encoder, calls)
    steps.append(writer.step("sizes.too_long", (torch.randint(0, 50, (1, 41)),), error="invalid argument"))
    steps.append(writer.step("sizes.no_such_index", (torch.full((1, 3), 50),), error="out of range"))
    writer.add("sizes", bundle, steps + writer.steps("sizes.after", encoder, calls[:1]))

    import zoo
    for name in ZOO:
        model, inputs = zoo.get(name)
        bundle = writer.export(name, model, tuple(inputs), check="sample")
        writer.add(name, bundle, [{"sample": 0}])


def main():
    writer = Writer(sys.argv[1])
    with torch.no_grad():
        write_all(writer)
    with open(os.path.join(sys.argv[1], "models.json"), "w") as file:
        json.dump(writer.cases, file, indent=1)


if __name__ == "__main__":
    main()
