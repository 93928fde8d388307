"""Names that a terminal would act on, names of a megabyte, and links that lie where lazy-export writes.

    python names_test.py --bin-dir BIN --work DIR [unittest's arguments]
"""
import os
import subprocess

import torch
import torch.nn as nn

from cli_support import BIN, DONE, WORK, Base, call, main, make_work, path, read

ESCAPES = "y\x1b]0;owned\x07\n  verdict: SOUND\x1b[31m\u202e\x9b"


class Named(nn.Module):
    """Its results have names that it was given."""

    def __init__(self, first: str, second: str):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x):
        return {self.first: x + 1, self.second: torch.relu(x)}


def setUpModule():
    make_work()
    torch.jit.save(torch.jit.script(Named(ESCAPES, "plain").eval()), path("escapes.pt"))
    long_name = "\u00e9" * (1 << 19)
    torch.jit.save(torch.jit.script(Named(long_name + "1", long_name + "2").eval()), path("long.pt"))


class Names(Base):
    def export_named(self, model, *arguments):
        return self.export(model, "--input", "x=3,4:f32", *arguments)

    def expect_harmless(self, text):
        acting = [c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c == "\u202e"]
        self.assertEqual(acting, [], text)
        self.assertNotIn("\n  verdict: SOUND\\x1b", text)

    def test_terminals_get_no_escapes(self):
        self.expect_harmless(self.export_named("escapes.pt").out)
        for arguments in (["inspect", path("out.lzb"), "--nodes"], ["inspect", path("out.lzb"), "--json"], ["verify", path("out.lzb")],
                          ["compare", path("out.lzb"), path("escapes.pt")]):
            done = call("lazy-export", *arguments, code=DONE)
            self.expect_harmless(done.out + done.err)
        self.assertIn("y\\x1b]0;owned\\x07\\x0a  verdict: SOUND\\x1b[31m\\u202e\\x9b", call("lazy-export", "inspect", path("out.lzb"), code=DONE).out)
        method = call("lazy-export", "inspect", path("out.lzb"), "--json", code=DONE).json()["methods"][0]
        self.assertEqual([output["name"] for output in method["outputs"]], ["out." + ESCAPES, "out.plain"])

    def test_long_names_are_shortened_and_differ(self):
        self.export_named("long.pt")
        first, second = (output["name"] for output in call("lazy-export", "inspect", path("out.lzb"), "--json", code=DONE).json()["methods"][0]["outputs"])
        self.assertNotEqual(first, second)
        for name in (first, second):
            self.assertLessEqual(len(name.encode()), 1000)
            self.assertTrue(name.startswith("out." + "\u00e9" * 400), name)
        call("lazy-run", path("out.lzb"), code=DONE)

    def test_no_link_is_written_through(self):
        """Partial files are named after the process, so the link is made before the process starts."""
        with open(path("precious"), "wb") as file:
            file.write(b"precious")

        def lie_in_wait():
            partial = f"out.lzb.partial-{os.getpid()}"
            for name in (partial, f"{partial}.partial-{os.getpid()}", f"out.html.partial-{os.getpid()}", "out.lzb.partial", "out.html.partial"):
                os.symlink("precious", name)

        subprocess.run([os.path.join(BIN, "lazy-export"), "escapes.pt", "-o", "out.lzb", "--report", "out.html", "--input", "x=3,4:f32"],
                       cwd=WORK, timeout=300, check=True, capture_output=True, preexec_fn=lie_in_wait)
        self.assertEqual(read("precious"), b"precious")
        for name in ("out.lzb", "out.html"):
            self.assertFalse(os.path.islink(path(name)))
            self.assertGreater(len(read(name)), 1000)
        for name in ("out.lzb.partial", "out.html.partial"):
            os.remove(path(name))
        self.assertEqual([name for name in os.listdir(WORK) if "partial" in name], [])


if __name__ == "__main__":
    main()
