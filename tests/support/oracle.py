"""PyTorch as an oracle whose answer depends on the processor.

Its own kernels exist for several vector units, and oneDNN's, which take some of its calls, are made for the processor
at hand; they do not agree everywhere: gelu(inf) is NaN from oneDNN with AVX-512, elsewhere inf. So torch is asked twice:
as it comes, and in a process of its own with neither vectors nor oneDNN.
"""
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

_PLAIN = {"ATEN_CPU_CAPABILITY": "default"}
_RUN = """
import importlib, pickle, sys
import torch
torch.backends.mkldnn.enabled = False
sys.path[:0] = sys.argv[5:]
answer = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])(*pickle.load(open(sys.argv[3], 'rb')))
pickle.dump(answer, open(sys.argv[4], 'wb'))
"""


def answers(function, *arguments):
    """[what function(*arguments) gives on torch as it comes, what it gives on plain torch]. The function stands at the
    top level of a file; arguments and answer are pickled."""
    return [function(*arguments), _on_plain_torch(function, arguments)]


def _on_plain_torch(function, arguments):
    source = pathlib.Path(sys.modules[function.__module__].__file__).resolve()
    with tempfile.TemporaryDirectory() as folder:
        given, answer = pathlib.Path(folder) / "given", pathlib.Path(folder) / "answer"
        given.write_bytes(pickle.dumps(arguments))
        subprocess.run([sys.executable, "-B", "-c", _RUN, source.stem, function.__name__, given, answer,
                        str(source.parent), *sys.path], check=True, env={**os.environ, **_PLAIN})
        return pickle.loads(answer.read_bytes())
