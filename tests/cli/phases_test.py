"""TorchScript modules that change their attributes from call to call: bundles beside torch, in a row of calls."""
import os
import sys
import unittest

import numpy as np
import torch

from cli_support import BIN, DONE, UNSUPPORTED, WORK, Base, call, main, make_work, path  # noqa: F401

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../host_tracer/frontends/torchscript"))
import torchscript_fixtures as fixtures  # noqa: E402


def setUpModule():
    make_work()


class Phases(Base):
    def row(self, case, calls=6, *arguments):
        """Exports a fixture and makes a row of calls of the bundle and of torch. Returns the export's summary."""
        torch.manual_seed(0)
        module, inputs = case()
        module.save(path("m.pt"))
        shape = ",".join(map(str, inputs["x"].shape))
        summary = self.export("m.pt", "--input", f"x={shape}:f32", "--json", *arguments).json()
        given = [torch.randn(inputs["x"].shape) for _ in range(calls)]
        files = []
        for i, x in enumerate(given):
            np.save(path(f"x{i}.npy"), x.numpy())
            files += ["--input", f"x=x{i}.npy"]
        done = call("lazy-run", path("out.lzb"), *files, "--json", "--output-dir", path("row"), code=DONE).json()
        eager = torch.jit.load(path("m.pt"))
        for x, run in zip(given, done["runs"], strict=True):
            got = np.load(os.path.join(WORK, run["outputs"][0]["file"]))
            with torch.no_grad():
                np.testing.assert_allclose(got, eager(x).numpy(), rtol=1e-4, atol=1e-5)
        return summary

    def test_rows_of_calls(self):
        for case in (fixtures.streams, fixtures.remembers, fixtures.alternates, fixtures.fills, fixtures.warms_up, fixtures.carries,
                     fixtures.collects, fixtures.rotates):
            with self.subTest(case.__name__):
                summary = self.row(case)
                self.assertEqual(summary["verdict"], "SOUND")
                self.assertGreater(summary["traces"], 1)

    def test_a_state_that_requires_gradients_begins_as_in_the_file(self):
        self.row(fixtures.ran_with_gradients)

    def test_what_settles_is_one_program(self):
        summary = self.row(fixtures.tables)
        self.assertEqual(summary["traces"], 1)
        self.assertEqual([finding["id"] for finding in summary["findings"]], ["settled"])

    def test_what_never_comes_again_is_refused_by_name(self):
        fixtures.growing_cache()[0].save(path("m.pt"))
        self.refuses("lazy-export", path("m.pt"), "-o", path("out.lzb"), "--input", "x=1,3:f32", code=UNSUPPORTED,
                     says=["'cache' (float32[17, 3] after 16 calls)"])

    def test_sizes_that_vary_are_refused(self):
        fixtures.streams()[0].save(path("m.pt"))
        self.refuses("lazy-export", path("m.pt"), "-o", path("out.lzb"), "--input", "x=1,3:f32", "--dynamic", "x.0=batch:1..4",
                     code=UNSUPPORTED, says=["leave --dynamic out"])

    def test_compare(self):
        self.row(fixtures.streams)
        compared = call("lazy-export", "compare", path("out.lzb"), path("m.pt"), "--json", code=DONE).json()
        self.assertGreater(compared["compared"], 0)

    def test_two_samples(self):
        self.row(fixtures.alternates, 6, "--sample", "x=3:f32", "--sample", "x=3:f32")


if __name__ == "__main__":
    main()
