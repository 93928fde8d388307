"""install.py SOURCE WORK BUILD [SETTING...]: `pip install` of the source into WORK/site, built in the folder BUILD, which
is kept between runs; then an export and a load with what was installed."""

import os
import shutil
import subprocess
import sys

USE = """
import sys, numpy
import lazyrt
assert "torch" not in sys.modules, "import lazyrt imported torch"
assert lazyrt.__file__.startswith(sys.argv[1]), lazyrt.__file__
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4)).eval()
x = torch.randn(3, 8)
report = lazyrt.export(model, (x,), sys.argv[2])
assert report.verdict == "SOUND", report
y = lazyrt.load(sys.argv[2])(x.numpy())
numpy.testing.assert_allclose(y, model(x).detach().numpy(), rtol=1e-4, atol=1e-5)
"""

LOAD = """
import sys, numpy, lazyrt
program = lazyrt.load(sys.argv[1], threads=2)
assert program(numpy.zeros((3, 8), numpy.float32)).shape == (3, 4)
assert "torch" not in sys.modules, "load imported torch"
"""


def main(source, work, build, *settings):
    site = os.path.join(work, "site")
    shutil.rmtree(site, ignore_errors=True)
    os.makedirs(work, exist_ok=True)
    environment = dict(os.environ)
    if shutil.which("ccache"):
        environment.setdefault("CMAKE_C_COMPILER_LAUNCHER", "ccache")
        environment.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-build-isolation", "--no-deps", "--no-index"]
    options = [item for setting in (f"build-dir={build}", *settings) for item in ("--config-settings", setting)]
    subprocess.run([*pip, "--target", site, *options, source], check=True, env=environment, cwd=work)
    environment["PYTHONPATH"] = site
    bundle = os.path.join(work, "m.lzb")
    for script in ([USE, site, bundle], [LOAD, bundle]):
        subprocess.run([sys.executable, "-c", *script], check=True, env=environment, cwd=work)


if __name__ == "__main__":
    main(*sys.argv[1:])
