"""Bundles of any size, each run by lazy-run beside the program.

    python dynamic_test.py --bin-dir BIN --work DIR [unittest's arguments]
"""
import math
import os

import numpy as np
import torch
import torch.nn as nn

from cli_support import DONE, UNSUPPORTED, USAGE, WORK, Base, call, main, make_work, path, read, write_model
from cli_test import Mlp


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8)
        self.block, self.head = nn.Conv2d(8, 8, 3, padding=1), nn.Linear(8, 5)

    def forward(self, x):
        y = torch.relu(self.norm(self.stem(x)))
        return self.head((y + torch.relu(self.block(y))).mean((2, 3)))


class Encoder(nn.Module):
    """Attention over ids and their positions, with a mask; `scaled` by its length, which is a number."""

    def __init__(self, scaled):
        super().__init__()
        self.scaled = scaled
        self.words, self.places = nn.Embedding(50, 16), nn.Embedding(128, 16)
        self.qkv, self.out, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)

    def forward(self, ids, mask):
        b, n = ids.shape
        x = self.words(ids) + self.places(torch.arange(n))
        q, k, v = self.qkv(x).view(b, n, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        w = q @ k.transpose(-1, -2) * 0.35 + (1 - mask)[:, None, None, :] * -1e4
        y = self.norm(x + self.out((w.softmax(-1) @ v).transpose(1, 2).reshape(b, n, 16)))
        return y / math.sqrt(n) if self.scaled else y


class Forked(nn.Module):
    """Long inputs take another path."""

    def forward(self, x):
        if x.shape[0] > 10:
            return torch.relu(x)
        return torch.sigmoid(x)


class Talks(nn.Module):
    """Says at large sizes what no bundle can say."""

    def forward(self, x):
        if x.shape[0] > 10:
            print("many")
        return x + 1


class Sums(nn.Module):
    """Of rows, and of about twice as many."""

    def forward(self, x, y):
        return x.sum(0) + y.sum(0) * y.shape[0]


class ByValues(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 5):
            return x * 3
        return x * 2


def setUpModule():
    make_work()
    torch.manual_seed(0)
    batch, seq, part = torch.export.Dim("batch", max=8), torch.export.Dim("seq", max=128), torch.export.Dim("_part", min=1, max=5)
    ids, mask = torch.arange(12).view(2, 6), torch.ones(2, 6)
    np.save(path("small_ids.npy"), np.arange(12).reshape(2, 6))
    np.save(path("small_mask.npy"), np.ones((2, 6), np.float32))
    write_model("encoder.pt2", Encoder(False), (ids, mask), dynamic_shapes=({0: batch, 1: seq}, {0: batch, 1: seq}))
    write_model("unbounded.pt2", Mlp(), (torch.randn(2, 4),), dynamic_shapes=({0: torch.export.Dim("rows")},))
    write_model("multiples.pt2", Cnn(), (torch.randn(2, 3, 32, 32),), dynamic_shapes=({2: 16 * part},))
    rows = torch.export.Dim("rows", min=1, max=20)
    write_model("follows.pt2", Sums(), (torch.randn(7, 4), torch.randn(15, 4)), dynamic_shapes=({0: rows}, {0: 2 * rows + 1}))
    write_model("alone.pt2", Mlp(), (torch.randn(5, 4),), dynamic_shapes=({0: rows + 2},))
    torch.jit.save(torch.jit.script(Sums()), path("sums.pt"))
    torch.jit.save(torch.jit.script(ByValues()), path("values.pt"))
    torch.jit.save(torch.jit.trace(Cnn().eval(), torch.randn(2, 3, 32, 32)), path("cnn.pt"))
    torch.jit.save(torch.jit.trace(Encoder(True).eval(), (ids, mask)), path("traced_encoder.pt"))
    for name, module in (("encoder", Encoder(True)), ("talks", Talks()), ("forked", Forked())):
        torch.jit.save(torch.jit.script(module.eval()), path(name + ".pt"))


class Dynamic(Base):
    def expect_as(self, program, inputs):
        arguments = []
        for name, value in inputs.items():
            np.save(path(f"at_{name}.npy"), value)
            arguments += ["--input", f"{name}=at_{name}.npy"]
        for backend in ("cpu", "reference"):
            done = call("lazy-run", path("out.lzb"), "--backend", backend, *arguments, "--json", "--output-dir", path("dynamic"), code=DONE).json()
            with torch.no_grad():
                eager = program(*(torch.from_numpy(value) for value in inputs.values())).numpy()
            ours = np.load(os.path.join(WORK, done["outputs"][0]["file"]))
            self.assertEqual(ours.shape, eager.shape)
            np.testing.assert_allclose(ours, eager, rtol=1e-4, atol=1e-4)

    @staticmethod
    def words(batch, length):
        rng = np.random.default_rng(batch * 1000 + length)
        mask = np.ones((batch, length), np.float32)
        mask[0, length // 2 + 1:] = 0
        return {"ids": rng.integers(0, 50, (batch, length)), "mask": mask}

    def refuses_run(self, inputs, *says):
        arguments = []
        for name, value in inputs.items():
            np.save(path(f"at_{name}.npy"), value)
            arguments += ["--input", f"{name}=at_{name}.npy"]
        self.refuses("lazy-run", path("out.lzb"), *arguments, code=USAGE, says=says)

    def test_encoders_of_torchscript(self):
        for model in ("encoder.pt", "traced_encoder.pt"):
            self.export(model, "--input", "ids=" + path("small_ids.npy"), "--input", "mask=" + path("small_mask.npy"),
                        "--dynamic", "ids.0=batch:1..8", "--dynamic", "ids.1=seq:1..128", "--dynamic", "mask.0=batch", "--dynamic", "mask.1=seq")
            program = torch.jit.load(path(model))
            for batch, length in ((1, 1), (2, 6), (3, 77), (8, 128), (5, 2)):
                self.expect_as(program, self.words(batch, length))
        self.refuses_run(self.words(9, 6), "'batch' is 9", "1 to 8")
        self.refuses_run({**self.words(2, 6), "mask": np.ones((2, 7), np.float32)}, "seq")

    def test_cnn_of_torchscript(self):
        self.export("cnn.pt", "--input", "x=2,3,32,32:f32", "--dynamic", "x.0=batch:1..8", "--dynamic", "x.2=height:16..64/16",
                    "--dynamic", "x.-1=width:16..64/16")
        program = torch.jit.load(path("cnn.pt"))
        for shape in ((1, 3, 16, 64), (8, 3, 64, 16), (3, 3, 48, 48)):
            self.expect_as(program, {"x": np.random.default_rng(1).standard_normal(shape).astype(np.float32)})
        self.refuses_run({"x": np.zeros((1, 3, 24, 16), np.float32)}, "'height' is 24", "16")

    def test_samples_bound_names(self):
        samples = ("--sample", "x=3,4:f32,y=5,4:f32", "--sample", "x=9,4:f32,y=2,4:f32")
        self.export("sums.pt", *samples, "--dynamic", "x.0=rows", "--dynamic", "y.0=more")
        program = torch.jit.load(path("sums.pt"))
        for rows, more in ((3, 2), (9, 5), (4, 4)):
            self.expect_as(program, {"x": np.ones((rows, 4), np.float32), "y": np.ones((more, 4), np.float32)})
        self.refuses_run({"x": np.ones((10, 4), np.float32), "y": np.ones((2, 4), np.float32)}, "'rows' is 10", "3 to 9")

    def test_a_sample_that_takes_another_path_by_its_values(self):
        np.save(path("low.npy"), np.zeros((3, 4), np.float32))
        np.save(path("high.npy"), np.ones((5, 4), np.float32))
        self.refuses("lazy-export", path("values.pt"), "-o", path("out.lzb"), "--sample", "x=" + path("low.npy"), "--sample", "x=" + path("high.npy"), "--dynamic", "x.0=rows",
                     code=UNSUPPORTED, says=["the bundle refuses sample 1", "leave the sample out"])

    def test_ranges_of_torchscript(self):
        report = self.export("forked.pt", "--input", "x=6,4:f32", "--dynamic", "x.0=rows:1..30").out
        self.assertIn("variant 0   rows: 1 to 10", report)
        self.assertIn("variant 1   rows: 11 to 30", report)
        self.assertIn("size    rows: 11 to 30", call("lazy-export", "inspect", path("out.lzb"), code=DONE).out)
        for rows in (1, 10, 11, 30):
            self.expect_as(Forked(), {"x": np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)})
        self.refuses_run({"x": np.zeros((31, 4), np.float32)}, "'rows' is 31", "1 to 30")

    def test_dims_of_a_pt2(self):
        summary = self.export("encoder.pt2", "--json").json()
        self.assertEqual(summary["verdict"], "SPECIALIZED")
        method = call("lazy-export", "inspect", path("out.lzb"), "--json", code=DONE).json()["methods"][0]
        self.assertEqual([(s["name"], s["min"], s["max"]) for s in method["symbols"]], [("ids.0", 1, 8), ("ids.1", 1, 128)])
        self.assertGreater(method["reserved_bytes"], method["arena_bytes"])
        self.assertIn("(at most ", call("lazy-export", "inspect", path("out.lzb"), code=DONE).out)
        program = torch.export.load(path("encoder.pt2")).module()
        for batch, length in ((2, 6), (3, 77), (8, 128), (5, 2)):
            self.expect_as(program, self.words(batch, length))
        self.refuses_run(self.words(2, 129), "'ids.1' is 129", "128")

    def test_multiples_of_a_pt2(self):
        self.export("multiples.pt2")
        program = torch.export.load(path("multiples.pt2")).module()
        for height in (16, 32, 80):
            self.expect_as(program, {"x": np.random.default_rng(1).standard_normal((2, 3, height, 32)).astype(np.float32)})
        self.refuses_run({"x": np.zeros((2, 3, 40, 32), np.float32)}, "'x.2' is 40", "16")

    def expect_sums(self, name):
        for rows in (1, 2, 20, 7):
            x, y = (np.random.default_rng(rows).standard_normal((n, 4)).astype(np.float32) for n in (rows, 2 * rows + 1))
            self.expect_as(Sums(), {"x": x, "y": y})
        self.refuses_run({"x": np.zeros((3, 4), np.float32), "y": np.zeros((8, 4), np.float32)}, "'y' dim 0", "is 8, which is", f"2*{name} + 1 of no '{name}'")
        self.refuses_run({"x": np.zeros((3, 4), np.float32), "y": np.zeros((9, 4), np.float32)}, f"is 9 = 2*{name} + 1, '{name}' is 3 by input 'x'")
        self.refuses_run({"x": np.zeros((21, 4), np.float32), "y": np.zeros((43, 4), np.float32)}, f"'{name}' is 21, allowed are 1 to 20")
        self.assertIn(f"2*{name} + 1", call("lazy-export", "inspect", path("out.lzb"), code=DONE).out)

    def test_sizes_that_follow_from_others(self):
        self.export("follows.pt2")
        self.expect_sums("x.0")
        self.export("follows.pt2", "--dynamic", "y.0=2*rows+1")
        self.expect_sums("rows")
        self.export("sums.pt", "--input", "x=7,4:f32", "--input", "y=15,4:f32", "--dynamic", "x.0=rows:1..20", "--dynamic", "y.0=2*rows+1")
        self.expect_sums("rows")
        self.refuses("lazy-export", path("sums.pt"), "--input", "x=7,4:f32", "--input", "y=14,4:f32", "--dynamic", "x.0=rows:1..20", "--dynamic",
                     "y.0=2*rows+1", "-o", path("none.lzb"), code=USAGE, says=["is 14 in the sample, which is 2*rows + 1 of no 'rows'"])

    def test_a_size_that_follows_from_one_that_no_input_has(self):
        self.export("alone.pt2")
        program = torch.export.load(path("alone.pt2")).module()
        for rows in (3, 22, 9):
            self.expect_as(program, {"x": np.ones((rows, 4), np.float32)})
        self.refuses_run({"x": np.ones((23, 4), np.float32)}, "allowed are 1 to 20")

    def test_dynamic_names_and_bounds_the_dims_of_a_pt2(self):
        self.export("unbounded.pt2", "--dynamic", "x.0=rows:1..9")
        program = torch.export.load(path("unbounded.pt2")).module()
        self.expect_as(program, {"x": np.ones((9, 4), np.float32)})
        self.refuses_run({"x": np.ones((10, 4), np.float32)}, "'rows' is 10")
        self.export("encoder.pt2", "--dynamic", "mask.1=seq:2..16")
        self.expect_as(torch.export.load(path("encoder.pt2")).module(), self.words(3, 16))
        self.refuses_run(self.words(3, 17), "'seq' is 17")

    def test_notes_are_those_of_all_sizes(self):
        notes = lambda *dynamic: self.export("talks.pt", "--input", "x=2,4:f32", *dynamic, "--json").json()["notes"]  # noqa: E731
        self.assertFalse(any("prim::Print" in note for note in notes()))
        self.assertTrue(any("prim::Print" in note for note in notes("--dynamic", "x.0=rows:1..30")))

    def test_the_same_bytes_again(self):
        self.export("encoder.pt2")
        first = read("out.lzb")
        self.export("encoder.pt2")
        self.assertEqual(first, read("out.lzb"))

    def test_without_a_check_and_samples(self):
        self.export("encoder.pt2", "--check", "none", "--strip-samples")
        self.expect_as(torch.export.load(path("encoder.pt2")).module(), self.words(3, 16))


if __name__ == "__main__":
    main()
