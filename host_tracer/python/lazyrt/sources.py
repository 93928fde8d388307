"""Where nodes come from: the user's line and the path of the module that runs."""

import contextlib
import os
import threading

import torch

from lazyrt import _tracer


def make_sources():
    folders = [os.path.dirname(os.path.abspath(torch.__file__)), os.path.dirname(os.path.abspath(__file__)),
               os.path.dirname(os.path.realpath(__file__))]
    standard = [os.path.dirname(os.path.abspath(module.__file__)) for module in (contextlib,)]
    library = [os.path.join(standard[0], name) for name in ("contextlib.py", "functools.py", "threading.py", "copy.py")]
    return _tracer.Sources([*(folder + os.sep for folder in folders), *library])


@contextlib.contextmanager
def module_paths(paths, sources):
    """While active, `sources` knows which module of `paths` (id -> path) this thread is in."""
    thread = threading.get_ident()

    def enter(module, inputs):
        if threading.get_ident() == thread:
            sources.enter_module(paths.get(id(module), type(module).__name__))

    def leave(module, inputs, output):
        if threading.get_ident() == thread:
            sources.leave_module()

    hooks = torch.nn.modules.module
    handles = [hooks.register_module_forward_pre_hook(enter), hooks.register_module_forward_hook(leave, always_call=True)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
