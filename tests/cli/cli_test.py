"""lazy-export and lazy-run on good and bad input; bundles of any size are in dynamic_test.py.
One test knows the lines of TwoUnsupported by their numbers.

    python cli_test.py --bin-dir BIN --work DIR [unittest's arguments]
"""
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import unittest
import zipfile

import numpy as np
import torch
import torch.nn as nn

from cli_support import (BAD_FILE, BIN, BROKEN, DONE, IO, LIMIT, MISMATCH, RUN_FAILED, UNSUPPORTED, USAGE, WORK, Base, call, main,
                         make_work, path, read, write_model)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Lookup(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)

    def forward(self, ids):
        return self.table(ids)


class TwoUnsupported(nn.Module):
    def forward(self, x):
        y = torch.linalg.svdvals(x)
        return torch.linalg.qr(x)[0] + y


class Results(nn.Module):
    """The same tensor twice, an input as it came, and numbers."""

    def forward(self, x):
        y = x + 1
        return y, y, x, 7, 2.5, True


class Early(nn.Module):
    """Leaves the loop when the values say so; answers a dict."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, steps: int = 9):
        done = 0
        while bool(x.abs().sum() > 1.0) and done < steps:
            x = torch.tanh(self.fc(x)) * 0.4
            done += 1
        return {"x": x, "pair": (x * 2, x + 1)}


class Smuggles(nn.Module):
    def forward(self, x):
        return x + torch.full([4], float(x.sum()))


class Picky(nn.Module):
    def forward(self, x):
        assert x.shape[0] % 3 == 0, "threes only"
        return x.reshape(-1, 3, x.shape[1]) * 2


class Pair(nn.Module):
    def forward(self, x, y):
        return x * 2, y + 1


class Twos(nn.Module):
    def forward(self, x):
        return x.reshape(-1, 2) + 1


class Forked(nn.Module):
    def forward(self, x):
        y = x
        for _ in range(x.shape[0]):
            y = torch.relu(y + x)
        return y


class Leaky(nn.Module):
    """Bakes a value at large sizes only."""

    def forward(self, x):
        if x.shape[0] > 10:
            return x + torch.full([4], float(x.sum()))
        return x + 1


class Counts(nn.Module):
    def forward(self, x):
        return x * 2, x.shape[0]


class Endless(nn.Module):
    def forward(self, x):
        for _ in range(100000000):
            x = x + 1
        return x


def write_models():
    torch.manual_seed(0)
    write_model("mlp.pt2", Mlp(), (torch.randn(2, 4),))
    write_model("unsupported.pt2", TwoUnsupported(), (torch.randn(3, 3),))
    write_model("results.pt2", Results(), (torch.randn(2, 2),))
    write_model("lookup.pt2", Lookup(), (torch.tensor([1, 2, 3]),))
    write_model("dynamic.pt2", Mlp(), (torch.randn(2, 4),),
                dynamic_shapes=({0: torch.export.Dim("rows", min=1, max=64)},))
    batch = torch.export.Dim("batch", max=8)
    write_model("unbounded.pt2", Mlp(), (torch.randn(2, 4),), dynamic_shapes=({0: torch.export.Dim("rows")},))
    write_model("derived.pt2", Pair(), (torch.randn(3), torch.randn(4)), dynamic_shapes=({0: batch}, {0: batch + 1}))
    write_model("guarded.pt2", Twos(), (torch.randn(2, 4),), dynamic_shapes=({0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO},))
    for name, module in (("picky", Picky()), ("forked", Forked()), ("leaky", Leaky()), ("counts", Counts())):
        torch.jit.save(torch.jit.script(module.eval()), path(name + ".pt"))
    torch.jit.save(torch.jit.trace(Mlp().eval(), torch.randn(2, 4)), path("script.pt"))
    for name, module in (("early", Early()), ("smuggles", Smuggles()), ("endless", Endless())):
        torch.jit.save(torch.jit.script(module.eval()), path(name + ".pt"))
    torch.save(Mlp().state_dict(), path("weights.pt"))
    with open(path("text.pt2"), "w") as f:
        f.write("this is no zip archive\n")
    with open(path("mlp.pt2"), "rb") as f:
        whole = f.read()
    with open(path("cut.pt2"), "wb") as f:
        f.write(whole[:len(whole) // 2])
    with zipfile.ZipFile(path("foreign.pt2"), "w") as z:
        z.writestr("hello.txt", "hello")


def write_arrays():
    rng = np.random.default_rng(0)
    np.save(path("good.npy"), rng.standard_normal((2, 4)).astype(np.float32))
    np.save(path("wrong_shape.npy"), np.zeros((2, 5), np.float32))
    np.save(path("wrong_dtype.npy"), np.zeros((2, 4), np.float64))
    np.save(path("complex.npy"), np.zeros((2, 4), np.complex64))
    np.save(path("ids_outside.npy"), np.array([1, 99, 3], np.int64))
    np.save(path("ids.npy"), np.array([9, 0, 3], np.int64))
    with open(path("good.npy"), "rb") as f:
        whole = f.read()
    with open(path("cut.npy"), "wb") as f:
        f.write(whole[:-5])
    with open(path("text.npy"), "w") as f:
        f.write("no array")


def setUpModule():
    make_work()
    write_models()
    write_arrays()
    for name in ("mlp", "results", "lookup"):
        call("lazy-export", path(name + ".pt2"), "-o", path(name + ".lzb"), "--quiet", code=DONE)


class ExportFailures(Base):
    """Every failure names its culprit, has its exit code, and leaves no file."""

    def fails(self, model, *arguments, code, says):
        before = set(os.listdir(WORK))
        done = self.refuses("lazy-export", path(model), "-o", path("out.lzb"), *arguments, code=code, says=says)
        self.assertEqual(done.out, "")
        self.assertEqual(set(os.listdir(WORK)), before)
        as_json = call("lazy-export", path(model), "-o", path("out.lzb"), *arguments, "--json", code=code).json()
        self.assertEqual(as_json["error"]["exit_code"], code)
        for text in says:
            self.assertIn(text, as_json["error"]["message"])
        self.assertEqual(set(os.listdir(WORK)), before)

    def test_missing_file(self):
        self.fails("nothing.pt2", code=IO, says=["nothing.pt2"])

    def test_folder(self):
        self.fails(".", code=IO, says=["not a regular file"])

    def test_text_file(self):
        self.fails("text.pt2", code=BAD_FILE, says=["text.pt2", "not a zip archive"])

    def test_cut_file(self):
        self.fails("cut.pt2", code=BAD_FILE, says=["cut.pt2"])

    def test_foreign_zip(self):
        self.fails("foreign.pt2", code=BAD_FILE, says=["foreign.pt2"])

    def test_torchscript_without_inputs(self):
        self.fails("script.pt", code=USAGE, says=["'x'", "x: Tensor", "--input"])

    def test_sample_form(self):
        self.fails("script.pt", "--sample", "x", code=USAGE, says=["--sample", "NAME=FILE.npy"])
        self.fails("script.pt", "--sample", "x=2,4:f32,x=2,4:f32", code=USAGE, says=["twice"])

    def test_checkpoint(self):
        self.fails("weights.pt", code=BAD_FILE, says=["weights.pt", "torch.save"])

    def test_all_unsupported_operators_with_their_lines(self):
        self.fails("unsupported.pt2", code=UNSUPPORTED, says=["svd", "qr", "cli_test.py:43", "cli_test.py:44"])

    def test_dynamic_dims_without_a_bound(self):
        self.fails("unbounded.pt2", code=USAGE, says=["input 'x', dim 0 has no upper bound", "--dynamic x.0=NAME:1..MAX", "--static"])

    def test_dynamic_against_the_file(self):
        self.fails("dynamic.pt2", "--dynamic", "x.0=rows:1..65", code=USAGE, says=["'rows' (input 'x', dim 0)", "1 to 64"])
        self.fails("dynamic.pt2", "--dynamic", "x.1=width:1..8", code=USAGE, says=["input 'x', dim 1 is fixed in the .pt2"])
        self.fails("mlp.pt2", "--dynamic", "x.0=rows:1..8", code=USAGE, says=["input 'x', dim 0 is fixed in the .pt2"])
        self.fails("dynamic.pt2", "--dynamic", "x.0=rows:1..8", "--static", code=USAGE, says=["--static", "--dynamic"])
        self.fails("dynamic.pt2", "--sample", "x=2,4:f32", "--sample", "x=65,4:f32", code=USAGE, says=["'x.0' is 65 in sample 1", "1 to 64"])
        self.fails("guarded.pt2", "--dynamic", "x.0=a:2..8", "--dynamic", "x.1=b:2..8", code=USAGE,
                   says=["at a=", "exported for sizes where", "L['x'].size()", "multiples"])

    def test_dynamic_form(self):
        for text in ("x", "x.0", "x.0=", "x=rows:1..8", "x.y=rows:1..8", "x.0=rows:8", "x.0=rows:0..8", "x.0=rows:1..8/0"):
            self.fails("script.pt", "--input", "x=2,4:f32", "--dynamic", text, code=USAGE, says=[f"--dynamic {text}: "])
        self.fails("script.pt", "--input", "x=2,4:f32", "--dynamic", "x.0=rows:9..8", code=USAGE, says=["MIN 9 is more than MAX 8"])

    def test_dynamic_dims_that_are_not(self):
        def fails(*dims, says):
            dynamic = [word for dim in dims for word in (("--dynamic", dim) if dim.startswith(("x.", "y.")) else (dim,))]
            self.fails("script.pt", "--input", "x=2,4:f32", *dynamic, code=USAGE, says=says)

        fails("y.0=rows:1..8", says=["no input 'y'", "it has x"])
        fails("x.2=rows:1..8", says=["input 'x' has 2 dims, no dim 2"])
        fails("x.0=rows", says=["'rows' has no upper bound", "x.0=rows:1..MAX"])
        fails("x.0=rows:3..8", says=["'rows' is 2 in the sample", "3 to 8"])
        fails("x.0=rows:1..8/4", says=["'rows' is 2 in the sample", "4 to 8, a multiple of 4"])
        fails("x.0=rows:1..8", "x.1=rows", says=["'rows' is 2 in the sample's input 'x', dim 0, and 4 in input 'x', dim 1"])
        fails("x.0=rows:1..8", "x.0=more:1..8", says=["given twice"])
        fails("x.0=rows:1..8", "--sample", "x=2,4:f32", "--sample", "x=9,4:f32", says=["'rows' is 9 in sample 1", "1 to 8"])
        fails("x.0=rows", "--sample", "x=2,4:f32", "--sample", "x=2,4:f32", says=["'rows' has no upper bound"])

    def test_dynamic_sizes_that_the_program_refuses(self):
        self.fails("picky.pt", "--input", "x=6,4:f32", "--dynamic", "x.0=rows:1..30", code=USAGE,
                   says=["at rows=", "the program raises", "threes only", "multiples"])

    def test_dynamic_path(self):
        self.fails("forked.pt", "--input", "x=6,4:f32", "--dynamic", "x.0=rows:1..60", code=UNSUPPORTED, says=["rows=", "cli_test.py"])

    def test_dynamic_numbers_among_the_results(self):
        self.fails("counts.pt", "--input", "x=3,4:f32", "--dynamic", "x.0=rows:1..9", code=UNSUPPORTED, says=["'out.1' is a number", "rows="])

    def test_dynamic_findings(self):
        self.fails("leaky.pt", "--input", "x=6,4:f32", "--dynamic", "x.0=rows:1..30", code=BROKEN,
                   says=["at rows=", "BROKEN", "cli_test.py"])

    def test_unknown_input_name(self):
        self.fails("mlp.pt2", "--input", "z=" + path("good.npy"), code=USAGE, says=["'z'", "x"])

    def test_input_shape(self):
        self.fails("mlp.pt2", "--input", "x=" + path("wrong_shape.npy"), code=USAGE, says=["'x'", "2, 5", "2,4"])
        self.fails("mlp.pt2", "--input", "x=3,4:f32", code=USAGE, says=["'x'", "3, 4"])

    def test_input_dtype(self):
        self.fails("mlp.pt2", "--input", "x=" + path("wrong_dtype.npy"), code=USAGE, says=["'x'"])
        self.fails("mlp.pt2", "--input", "x=2,4:i64", code=USAGE, says=["'x'"])

    def test_input_file(self):
        self.fails("mlp.pt2", "--input", "x=" + path("none.npy"), code=IO, says=["none.npy"])
        self.fails("mlp.pt2", "--input", "x=" + path("cut.npy"), code=USAGE, says=["cut.npy"])
        self.fails("mlp.pt2", "--input", "x=" + path("text.npy"), code=USAGE, says=["text.npy", "not a .npy"])
        self.fails("mlp.pt2", "--input", "x=" + path("complex.npy"), code=USAGE, says=["complex.npy", "<c8"])

    def test_input_form(self):
        self.fails("mlp.pt2", "--input", "x", code=USAGE, says=["NAME=FILE.npy"])
        self.fails("mlp.pt2", "--input", "x=2,4:f31", code=USAGE, says=["f31"])
        self.fails("mlp.pt2", "--input", "x=2,4:f32", "--input", "x=2,4:f32", code=USAGE, says=["twice"])

    def test_output_folder_missing(self):
        done = self.refuses("lazy-export", path("mlp.pt2"), "-o", path("no/such/out.lzb"), code=IO, says=["no/such"])
        self.assertFalse(os.path.exists(path("no")))
        self.assertEqual(done.out, "")

    def test_output_is_a_folder(self):
        os.makedirs(path("folder.lzb"), exist_ok=True)
        self.refuses("lazy-export", path("mlp.pt2"), "-o", path("folder.lzb"), code=IO, says=["folder.lzb"])
        self.assertEqual(os.listdir(path("folder.lzb")), [])

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_output_cannot_be_written(self):
        self.refuses("lazy-export", path("mlp.pt2"), "-o", "/proc/out.lzb", code=IO, says=["/proc/out.lzb"])

    def test_unknown_pass(self):
        self.fails("mlp.pt2", "--dump-after", "no_such_pass", code=USAGE, says=["no_such_pass", "simplify"])

    def test_an_older_bundle_stays(self):
        shutil.copy(path("mlp.lzb"), path("out.lzb"))
        before = read("out.lzb")
        call("lazy-export", path("unsupported.pt2"), "-o", path("out.lzb"), code=UNSUPPORTED)
        self.assertEqual(read("out.lzb"), before)

    def test_command_line(self):
        for arguments in ([], ["mlp.pt2"], ["-o", "out.lzb"], ["mlp.pt2", "-o", "x.lzb", "--nonsense"], ["inspect"]):
            done = call("lazy-export", *arguments, "--json")
            self.assertEqual(done.code, USAGE, arguments)
            self.assertIn("error", done.json())
            self.assertIn("--help", done.err)


class Exports(Base):
    def test_summary(self):
        done = self.export("mlp.pt2")
        for text in ("input       x: f32[2,4]", "output ", "captured", "parameters  67", "arena", "shapes", "check"):
            self.assertIn(text, done.out)

    def test_json_is_one_object(self):
        summary = self.export("mlp.pt2", "--json").json()
        self.assertEqual(summary["inputs"], [{"name": "x", "dtype": "f32", "shape": [2, 4]}])
        self.assertEqual(summary["outputs"][0]["shape"], [2, 3])
        self.assertEqual(summary["shapes"]["cpu"], 0)
        self.assertEqual(summary["parameters"], {"count": 67, "bytes": 268})
        self.assertEqual(summary["bytes"], os.path.getsize(path("out.lzb")))
        self.assertEqual(summary["reference_nodes"], [])
        self.assertTrue(all(line["ok"] for line in summary["check"]))
        self.assertEqual(len(summary["check"]), 1)

    def test_levels_of_the_check(self):
        for model, inputs in (("mlp.pt2", []), ("script.pt", ["--input", "x=2,4:f32"])):
            for level in ("none", "sample", "full"):
                checked = self.export(model, *inputs, "--check", level, "--json").json()["checked"]
                self.assertEqual(checked["level"], level)
                self.assertEqual(checked["calls"] > 0, level != "none")
                self.assertEqual(checked["altered_compared"] > 2, level == "full")
        self.assertEqual(self.export("mlp.pt2", "--no-check", "--json").json()["checked"]["level"], "none")
        self.assertIn("altered inputs (seed 1)", self.export("mlp.pt2").out)
        self.assertIn("not made: --check none", self.export("mlp.pt2", "--check", "none").out)
        self.assertEqual(call("lazy-export", path("mlp.pt2"), "-o", path("out.lzb"), "--check", "more").code, USAGE)

    def test_refused_inputs_are_told(self):
        done = self.export("early.pt", "--input", "x=2,4:f32", "--report", path("out.html"))
        self.assertRegex(done.out, r"the bundle refused \d+ of \d+ altered inputs")
        self.assertRegex(read("out.html").decode(), r"the bundle refused \d+ of \d+ altered inputs")

    def test_quiet(self):
        done = self.export("mlp.pt2", "--quiet")
        self.assertEqual((done.out, done.err), ("", ""))

    def test_the_same_bytes_again(self):
        self.export("mlp.pt2")
        first = read("out.lzb")
        self.export("mlp.pt2")
        self.assertEqual(read("out.lzb"), first)
        shutil.copy(path("mlp.pt2"), path("renamed.pt2"))
        self.export("renamed.pt2")
        self.assertEqual(read("out.lzb"), first)

    def test_strip_samples(self):
        self.export("mlp.pt2", "--strip-samples")
        self.assertLess(os.path.getsize(path("out.lzb")), os.path.getsize(path("mlp.lzb")))
        method = call("lazy-export", "inspect", path("out.lzb"), "--json", code=DONE).json()["methods"][0]
        self.assertEqual(method["samples"], 0)
        self.refuses("lazy-run", path("out.lzb"), code=USAGE, says=["no samples"])

    def test_static(self):
        self.export("dynamic.pt2", "--static")
        method = call("lazy-export", "inspect", path("out.lzb"), "--json").json()["methods"][0]
        self.assertEqual(method["inputs"][0]["shape"], [2, 4])

    def test_static_at_another_size(self):
        self.export("dynamic.pt2", "--static", "--input", "x=5,4:f32")
        method = call("lazy-export", "inspect", path("out.lzb"), "--json").json()["methods"][0]
        self.assertEqual(method["inputs"][0]["shape"], [5, 4])
        call("lazy-run", path("out.lzb"), code=DONE)

    def test_dynamic_dims_that_follow_others(self):
        self.export("derived.pt2")
        for size in (5, 6):
            np.save(path(f"rows{size}.npy"), np.ones(size, "float32"))
        call("lazy-run", path("out.lzb"), "--input", "x=" + path("rows5.npy"), "--input", "y=" + path("rows6.npy"), code=DONE)
        self.refuses("lazy-run", path("out.lzb"), "--input", "x=" + path("rows5.npy"), "--input", "y=" + path("rows5.npy"), code=USAGE,
                     says=["input 'y' dim 0 is 5 = x.0 + 1, 'x.0' is 5 by input 'x'"])

    def test_input_becomes_the_sample(self):
        self.export("mlp.pt2", "--input", "x=" + path("good.npy"))
        call("lazy-run", path("out.lzb"), code=DONE)
        self.assertIn(np.load(path("good.npy")).tobytes(), read("out.lzb"))

    def test_dumps_go_to_stderr(self):
        done = self.export("mlp.pt2", "--dump-trace", "--dump-after", "import", "--json")
        self.assertIn("aten::", done.err)
        self.assertIn("# after import", done.err)
        done.json()

    def test_html_report(self):
        self.export("mlp.pt2", "--report", path("out.html"))
        page = read("out.html").decode()
        for text in ("<svg", "f32[2,4]", "linear", "Versions", "</html>"):
            self.assertIn(text, page)
        self.assertNotIn("http://", page.replace("http://www.w3.org", ""))

    def test_help_and_version(self):
        for tool in ("lazy-export", "lazy-run"):
            self.assertIn("xit codes", call(tool, "--help", code=DONE).out)
            self.assertIn("0.1.0", call(tool, "--version", code=DONE).out)


class TorchScript(Base):
    def test_traced(self):
        summary = self.export("script.pt", "--input", "x=" + path("good.npy"), "--json").json()
        self.assertEqual(summary["verdict"], "SOUND")
        self.assertEqual(summary["findings"], [])
        self.assertEqual(summary["inputs"], [{"name": "x", "dtype": "f32", "shape": [2, 4]}])
        self.assertEqual(summary["outputs"][0]["name"], "out")
        done = call("lazy-run", path("out.lzb"), "--input", "x=" + path("good.npy"), "--json", "--output-dir",
                    path("script_run"), code=DONE).json()
        y = np.load(os.path.join(WORK, done["outputs"][0]["file"]))
        eager = torch.jit.load(path("script.pt"))(torch.from_numpy(np.load(path("good.npy"))))
        np.testing.assert_allclose(y, eager.detach().numpy(), rtol=0, atol=1e-5)

    def test_hashes(self):
        summary = self.export("script.pt", "--input", "x=2,4:f32", "--json").json()
        self.assertEqual(summary["model_sha256"], hashlib.sha256(read("script.pt")).hexdigest())
        self.assertEqual(summary["bundle_sha256"], hashlib.sha256(read("out.lzb")).hexdigest())
        self.assertIn("--input x=2,4:f32", summary["command_line"])
        kinds = {leaf["kind"]: leaf for leaf in summary["leaves"]}
        self.assertEqual(kinds["parameter"]["count"], 4)
        self.assertEqual(kinds["parameter"]["bytes"], 268)

    def test_branches_on_values_are_guards(self):
        summary = self.export("early.pt", "--input", "x=2,4:f32", "--json").json()
        self.assertEqual(summary["verdict"], "SPECIALIZED")
        self.assertGreater(len(summary["guards"]), 1)
        for guard in summary["guards"]:
            self.assertTrue(guard["file"].endswith("cli_test.py"), guard)
        self.assertEqual([o["name"] for o in summary["outputs"]], ["out.x", "out.pair.0", "out.pair.1"])
        self.assertTrue(all(line["ok"] for line in summary["check"]))
        text = self.export("early.pt", "--input", "x=2,4:f32", "--report", path("out.html")).out
        self.assertIn("SPECIALIZED", text)
        page = read("out.html").decode()
        for part in ("SPECIALIZED", "Guards", "cli_test.py", "Memory plan", "Cost by module"):
            self.assertIn(part, page)

    def test_a_broken_guard_is_refused_by_line(self):
        np.save(path("large.npy"), np.full((2, 4), 3, np.float32))
        np.save(path("zeros.npy"), np.zeros((2, 4), np.float32))
        self.export("early.pt", "--input", "x=" + path("large.npy"))
        self.refuses("lazy-run", path("out.lzb"), "--input", "x=" + path("zeros.npy"), code=RUN_FAILED,
                     says=["cli_test.py:"])

    def test_two_samples_make_two_variants(self):
        np.save(path("large.npy"), np.full((2, 4), 3, np.float32))
        np.save(path("zeros.npy"), np.zeros((2, 4), np.float32))
        summary = self.export("early.pt", "--sample", "x=" + path("large.npy"), "--sample",
                              "x=" + path("zeros.npy"), "--json").json()
        self.assertTrue(all(line["ok"] for line in summary["check"]))
        self.assertEqual(len(summary["check"]), 6)
        self.assertEqual(summary["traces"], 2)
        eager = torch.jit.load(path("early.pt"))
        for name in ("large", "zeros"):
            done = call("lazy-run", path("out.lzb"), "--input", f"x={path(name + '.npy')}", "--json", "--output-dir",
                        path("variants"), code=DONE).json()
            x = np.load(os.path.join(WORK, done["outputs"][0]["file"]))
            want = eager(torch.from_numpy(np.load(path(name + ".npy"))))["x"].detach().numpy()
            np.testing.assert_allclose(x, want, rtol=0, atol=1e-5)

    def test_samples_of_two_shapes(self):
        summary = self.export("script.pt", "--sample", "x=2,4:f32", "--sample", "x=5,4:f32", "--json").json()
        self.assertEqual(summary["verdict"], "SOUND")
        call("lazy-run", path("out.lzb"), code=DONE)

    def test_numbers_are_fixed(self):
        summary = self.export("early.pt", "--input", "x=2,4:f32", "--input", "steps=1", "--json").json()
        self.assertTrue(any("'steps' is fixed at 1" in note for note in summary["notes"]))

    def test_baked_values_give_no_bundle(self):
        inputs = ("--input", "x=" + path("good.npy"))
        done = self.refuses("lazy-export", path("smuggles.pt"), "-o", path("out.lzb"), *inputs, "--report",
                            path("out.html"), code=BROKEN, says=["BROKEN", "cli_test.py", "--allow"])
        self.assertFalse(os.path.exists(path("out.lzb")))
        self.assertIn("BROKEN", read("out.html").decode())
        as_json = call("lazy-export", path("smuggles.pt"), "-o", path("out.lzb"), *inputs, "--json", code=BROKEN).json()
        self.assertEqual(as_json["error"]["exit_code"], BROKEN)
        self.assertEqual(as_json["verdict"], "BROKEN")
        ids = {f["id"] for f in as_json["findings"] if f["severity"] == "error"}
        self.assertTrue(ids)
        allowed = [word for i in ids for word in ("--allow", i)]
        summary = self.export("smuggles.pt", *inputs, *allowed, "--json").json()
        self.assertEqual(summary["verdict"], "ALLOWED")
        self.assertEqual(set(summary["allowed"]), ids)
        self.assertEqual(call("lazy-export", "inspect", path("out.lzb"), "--json", code=DONE).json()["verdict"], "ALLOWED")
        self.assertIn("verdict: ALLOWED", call("lazy-export", "inspect", path("out.lzb"), code=DONE).out)
        where = next(f for f in as_json["findings"] if f["severity"] == "error")
        one = f"{where['id']}@{os.path.basename(where['file'])}:{where['line']}"
        summary = self.export("smuggles.pt", *inputs, "--allow", one, "--allow", "random", "--json").json()
        self.assertEqual(summary["allowed"], {where["id"]: 1})
        self.assertIn("allow 'random' let nothing through", summary["notes"])
        self.refuses("lazy-export", path("smuggles.pt"), "-o", path("none.lzb"), *inputs, "--allow", "backed-value",
                     code=USAGE, says=["no finding 'backed-value'", "baked-value"])
        self.assertTrue(os.path.exists(path("out.lzb")))
        self.assertEqual(done.out, "")

    def test_interrupt(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            before = set(os.listdir(WORK))
            running = subprocess.Popen(
                [os.path.join(BIN, "lazy-export"), path("endless.pt"), "-o", path("out.lzb"), "--input", "x=2:f32"],
                stderr=subprocess.PIPE, text=True, cwd=WORK)
            running.stderr.readline()  # it is tracing
            running.send_signal(number)
            _, err = running.communicate(timeout=60)
            self.assertEqual(running.returncode, 128 + number, err)
            self.assertEqual(set(os.listdir(WORK)), before)


class OutputsOfAllKinds(Base):
    def test_repeated_outputs_inputs_and_numbers(self):
        done = call("lazy-run", path("results.lzb"), "--json", "--output-dir", path("results"), code=DONE).json()
        self.assertEqual(len(done["outputs"]), 3)
        y, again, x = (np.load(os.path.join(WORK, o["file"])) for o in done["outputs"])
        np.testing.assert_array_equal(y, again)
        np.testing.assert_allclose(y, x + 1)
        self.assertEqual([l["value"] for l in done["literals"]], [7, 2.5, True])
        self.assertEqual([l["position"] for l in done["literals"]], [3, 4, 5])

    def test_inspect_names_them(self):
        method = call("lazy-export", "inspect", path("results.lzb"), "--json").json()["methods"][0]
        self.assertEqual([l["value"] for l in method["literals"]], ["7", "2.5", "true"])


class Inspect(Base):
    def test_text_and_json(self):
        text = call("lazy-export", "inspect", path("mlp.lzb"), "--nodes", code=DONE).out
        self.assertIn("linear", text)
        info = call("lazy-export", "inspect", path("mlp.lzb"), "--json", code=DONE).json()
        method = info["methods"][0]
        self.assertEqual(method["ops"], {"linear": 2})
        self.assertEqual(method["constants"]["count"], 4)
        self.assertEqual([n["backend"] for n in method["node_list"]], ["cpu", "cpu"])
        self.assertIn("cli_test.py", method["node_list"][0]["source"])

    def test_compare(self):
        """A bundle beside the model that it was made of, and beside one whose second layer is another."""
        right = call("lazy-export", "compare", path("mlp.lzb"), path("mlp.pt2"), code=DONE).out
        self.assertIn("no value differs from eager's", right)
        self.assertIn("second/linear", right)
        other = torch.export.load(path("mlp.pt2"))
        with torch.no_grad():
            other.state_dict["second.bias"][1] += 0.1
        torch.export.save(other, path("other.pt2"))
        wrong = call("lazy-export", "compare", path("mlp.lzb"), path("other.pt2"), "--json")
        self.assertEqual(wrong.code, MISMATCH)
        first = wrong.json()["first"]
        self.assertEqual((first["name"], first["op"], first["module"], first["backend"]), ("second/linear", "linear", "second", "cpu"))
        self.assertIn("cli_test.py", first["file"])
        self.assertAlmostEqual(first["max_error"], 0.1, 4)
        text = call("lazy-export", "compare", path("mlp.lzb"), path("other.pt2"), "--quiet", "--backend", "reference")
        self.assertEqual(text.code, MISMATCH)
        self.assertRegex(text.out, r"^the first value that differs from eager's: node 1, second/linear \(aten::\w+ at second")
        self.assertEqual(call("lazy-export", "compare", path("mlp.lzb"), path("other.pt2"), "--bound", "1").code, DONE)

    def test_compare_names_files(self):
        self.assertEqual(call("lazy-export", "compare", path("none.lzb"), path("mlp.pt2")).code, IO)
        self.assertEqual(call("lazy-export", "compare", path("mlp.lzb"), path("none.pt2")).code, IO)
        self.assertEqual(call("lazy-export", "compare", path("mlp.pt2"), path("mlp.pt2")).code, BAD_FILE)
        self.assertEqual(call("lazy-export", "compare", path("mlp.lzb"), path("mlp.pt2"), "--backend", "gpu").code, USAGE)

    def test_a_full_disk_leaves_nothing_half_written(self):
        """No file may grow beyond a block, as on a disk that is full."""
        before = b"what was there before"
        for arguments in (("mlp.pt2", "-o", "full.lzb"), ("mlp.pt2", "-o", "full.lzb", "--report", "full.html"),
                          ("inspect", "mlp.lzb", "--report", "full.html")):
            for name in ("full.lzb", "full.html"):
                with open(path(name), "wb") as file:
                    file.write(before)
            done = subprocess.run([os.path.join(BIN, "lazy-export"), *arguments], capture_output=True, text=True, cwd=WORK, timeout=300,
                                  restore_signals=False, check=False,  # Python ignores SIGXFSZ: writing fails, as it would there
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)))
            self.assertEqual(done.returncode, IO, done.stderr)
            self.assertRegex(done.stderr, r"cannot write full\.(lzb|html): File too large")
            for name in ("full.lzb", "full.html"):
                self.assertEqual(read(name), before, (arguments, name))
            self.assertEqual([name for name in os.listdir(WORK) if "partial" in name], [])

    def test_verify(self):
        self.assertIn("valid", call("lazy-export", "verify", path("mlp.lzb"), code=DONE).out)

    def test_verify_holds_a_bundle_to_limits(self):
        for option, steps in (("--memory-limit", 64), ("--work-limit", 10), ("--node-work-limit", 10)):
            self.refuses("lazy-export", "verify", path("mlp.lzb"), option, str(steps), code=LIMIT, says=[option[2:].replace("-", "_")])
            call("lazy-export", "verify", path("mlp.lzb"), option, str(1 << 20), code=DONE)
            self.refuses("lazy-export", "verify", path("mlp.lzb"), option, "x", code=USAGE, says=[option])

    def compiled_array(self, name, whole):
        """Compiles NAME.c and NAME.h, as C and as C++; the array holds these bytes, aligned. Answers what the sizes say."""
        with open(path("array.cpp"), "w") as f:
            f.write(f"""#include <cstdio>
#include "{name}.h"
int main() {{
  fwrite({name}_bundle, 1, sizeof({name}_bundle), stdout);
  using Sizes = {name}::forward;
  fprintf(stderr, "%zu %zu %zu %zu", Sizes::kBufferBytes, Sizes::kArenaBytes, Sizes::kPlanBytes, (size_t){name}_bundle % 64);
}}""")
        subprocess.run(["gcc", "-c", "-Wall", "-Werror", name + ".c"], cwd=WORK, check=True)
        subprocess.run(["g++", "-std=c++17", "-Wall", "-Werror", "array.cpp", name + ".o", "-o", "array"], cwd=WORK, check=True)
        done = subprocess.run([path("array")], capture_output=True, check=True)
        self.assertEqual(done.stdout, whole)
        buffer, arena, plan, off = map(int, done.stderr.split())
        self.assertEqual(off, 0)
        self.assertGreater(arena, 0)
        self.assertGreater(buffer, arena + plan)
        return buffer

    def test_c_array_of_a_bundle(self):
        call("lazy-export", "c-array", path("mlp.lzb"), "mlp_net", "-o", WORK, code=DONE)
        self.compiled_array("mlp_net", read("mlp.lzb"))

    def test_c_array_of_an_export(self):
        self.export("mlp.pt2", "--quiet", "--c-array", "made")
        self.compiled_array("made", read("out.lzb"))

    def test_explain_says_what_lazy_run_says(self):
        text = "there is no value %d"
        number = 2166136261
        for c in text.replace("l", "").encode():
            number = (number ^ c) * 16777619 & 0xFFFFFFFF
        code = f"{number:08x},7:0"
        told = call("lazy-export", "explain", code, path("mlp.lzb"), code=DONE).out
        self.assertEqual(told, call("lazy-run", "--explain", code, path("mlp.lzb"), code=DONE).out)
        self.assertIn("there is no value 7\n", told)
        self.assertIn("method 'forward', node 0: ", told)
        whole = call("lazy-export", "explain", code, path("mlp.lzb"), "--json", code=DONE).json()
        self.assertEqual(whole, {"code": code, "text": told.rstrip("\n")})
        self.refuses("lazy-export", "explain", "zz", path("mlp.lzb"), code=USAGE, says=["'zz' is not an error code"])
        self.refuses("lazy-export", "explain", "00000001", path("mlp.lzb"), code=USAGE, says=["00000001"])
        self.refuses("lazy-export", "explain", code, path("none.lzb"), code=IO, says=["none.lzb"])

    def test_c_array_refuses(self):
        for name in ("1st", "a-b", "", "a/b"):
            self.refuses("lazy-export", "c-array", path("mlp.lzb"), name, code=USAGE)
        self.refuses("lazy-export", path("mlp.pt2"), "-o", path("out.lzb"), "--c-array", "a-b", code=USAGE, says=["a-b"])
        self.assertFalse(os.path.exists(path("out.lzb")))
        self.refuses("lazy-export", "c-array", path("none.lzb"), "x", code=IO, says=["none.lzb"])
        self.refuses("lazy-export", "c-array", path("mlp.pt2"), "x", "-o", WORK, code=BAD_FILE)
        self.refuses("lazy-export", "c-array", path("mlp.lzb"), "x", "-o", path("no/such"), code=IO)
        self.assertFalse(os.path.exists(path("x.c")))

    def test_damaged_bundles(self):
        whole = bytearray(read("mlp.lzb"))
        for command in ("inspect", "verify"):
            self.refuses("lazy-export", command, path("none.lzb"), code=IO, says=["none.lzb"])
            self.refuses("lazy-export", command, path("mlp.pt2"), code=BAD_FILE, says=["mlp.pt2"])
            for size in (0, 1, 127, 128, 200, len(whole) - 1):
                with open(path("out.lzb"), "wb") as f:
                    f.write(whole[:size])
                self.refuses("lazy-export", command, path("out.lzb"), code=BAD_FILE, says=["out.lzb"])

    def test_verify_sees_a_flipped_bit_in_the_data(self):
        whole = bytearray(read("mlp.lzb"))
        weights = torch.export.load(path("mlp.pt2")).state_dict["first.weight"].detach().numpy().tobytes()
        at = bytes(whole).find(weights)
        self.assertGreater(at, 0)
        whole[at + 5] ^= 4
        with open(path("out.lzb"), "wb") as f:
            f.write(whole)
        self.refuses("lazy-export", "verify", path("out.lzb"), code=BAD_FILE, says=["checksum"])
        done = call("lazy-export", "verify", path("out.lzb"), "--json", code=BAD_FILE)
        self.assertIn("error", done.json())


class Run(Base):
    def test_samples(self):
        for backend in ("cpu", "reference"):
            self.assertIn("ok", call("lazy-run", path("mlp.lzb"), "--backend", backend, code=DONE).out)

    def test_limits_end_a_run(self):
        for options in (["--memory-limit", "4000"], ["--work-limit", "10"], ["--node-work-limit", "10"], ["--deadline", "1e-9"]):
            call("lazy-run", path("mlp.lzb"), *options, code=RUN_FAILED)
        call("lazy-run", path("mlp.lzb"), "--memory-limit", "1000000", "--deadline", "100", code=DONE)

    def test_mismatch_has_its_own_code(self):
        """A sample output changed in the file (its checksum is checked only on request)."""
        expected = torch.export.load(path("mlp.pt2"))
        sample = expected.module()(*expected.example_inputs[0]).detach().numpy().tobytes()
        whole = bytearray(read("mlp.lzb"))
        at = bytes(whole).rfind(sample)
        self.assertGreater(at, 0)
        whole[at:at + 4] = np.float32(1e3).tobytes()
        with open(path("out.lzb"), "wb") as f:
            f.write(whole)
        call("lazy-run", path("out.lzb"), code=MISMATCH)

    def test_given_input(self):
        done = call("lazy-run", path("mlp.lzb"), "--input", "x=" + path("good.npy"), "--json", "--output-dir",
                    path("run"), "--raw-output", path("raw.bin"), code=DONE).json()
        y = np.load(os.path.join(WORK, done["outputs"][0]["file"]))
        eager = torch.export.load(path("mlp.pt2")).module()(torch.from_numpy(np.load(path("good.npy"))))
        np.testing.assert_allclose(y, eager.detach().numpy(), rtol=0, atol=1e-5)
        self.assertEqual(read("raw.bin"), y.tobytes())

    def test_bench(self):
        done = call("lazy-run", path("mlp.lzb"), "--bench", "0.05", "--json", code=DONE).json()
        for key in ("latencies_ms", "load_ms", "first_ms", "cpu_ms", "vmhwm_kb", "bytes", "median_ms", "arena_bytes",
                    "workspace_bytes", "packed_weight_bytes"):
            self.assertIn(key, done)
        self.assertGreater(len(done["latencies_ms"]), 4)

    def test_bad_inputs_are_named(self):
        run = lambda value, code, *says: self.refuses(  # noqa: E731
            "lazy-run", path("mlp.lzb"), "--input", value, code=code, says=says)
        run("z=" + path("good.npy"), USAGE, "z", "x")
        run("x=" + path("wrong_shape.npy"), USAGE, "x", "5")
        run("x=" + path("wrong_dtype.npy"), USAGE, "x", "f64")
        run("x=" + path("cut.npy"), USAGE, "cut.npy")
        run("x=" + path("text.npy"), USAGE, "text.npy")
        run("x=" + path("none.npy"), IO, "none.npy")
        run("x", USAGE, "NAME=FILE.npy")

    def test_index_outside_the_table(self):
        for backend in ("cpu", "reference"):
            arguments = ("lazy-run", path("lookup.lzb"), "--backend", backend, "--input")
            call(*arguments, "ids=" + path("ids.npy"), code=DONE)
            self.refuses(*arguments, "ids=" + path("ids_outside.npy"), code=RUN_FAILED, says=["99"])

    def test_bad_bundles(self):
        self.refuses("lazy-run", path("mlp.pt2"), code=BAD_FILE, says=["mlp.pt2"])
        with open(path("out.lzb"), "wb") as f:
            f.write(read("mlp.lzb")[:1000])
        self.refuses("lazy-run", path("out.lzb"), code=BAD_FILE, says=["out.lzb"])

    def test_bad_options(self):
        for arguments in (["--threads", "0"], ["--backend", "gpu"], ["--bench", "-1"], ["--method", "other"]):
            call("lazy-run", path("mlp.lzb"), *arguments, code=USAGE)

    def test_links_no_libtorch(self):
        done = subprocess.run(["ldd", os.path.join(BIN, "lazy-run")], capture_output=True, text=True)
        self.assertNotIn("torch", done.stdout)


class Symbols(unittest.TestCase):
    @unittest.skipUnless(shutil.which("nm"), "there is no nm")
    def test_our_pthreadpool_stays_inside_lazy_export(self):
        done = subprocess.run(["nm", "-D", "--defined-only", os.path.join(BIN, "lazy-export")], capture_output=True,
                              text=True, check=True)
        self.assertNotIn("pthreadpool", done.stdout)
        self.assertNotIn("xnn_", done.stdout)


if __name__ == "__main__":
    main()
