"""The source of a node: the user's line and the path of the module that runs."""

import contextlib
import functools
import os
import threading

import numpy
import torch

from lazyrt import _tracer


def make_sources():
    folders = [os.path.dirname(os.path.abspath(module.__file__)) for module in (torch, numpy)]
    folders += [os.path.dirname(os.path.dirname(path(__file__))) for path in (os.path.abspath, os.path.realpath)]
    standard = os.path.dirname(os.path.abspath(contextlib.__file__))
    library = [os.path.join(standard, name) for name in os.listdir(standard) if not name.endswith("-packages")]
    return _tracer.Sources([*(folder + os.sep for folder in folders), *(name + os.sep * os.path.isdir(name) for name in library)])


@contextlib.contextmanager
def module_paths(paths, sources):
    """While active, `sources` knows which module of `paths` (id -> path) this thread is in. It replaces Module.__call__ rather than add global hooks:
    a module without any hooks does not call those that its own forward registers."""
    thread, real = threading.get_ident(), torch.nn.Module.__call__

    @functools.wraps(real)
    def call(module, *args, **kwargs):
        if threading.get_ident() != thread:
            return real(module, *args, **kwargs)
        sources.enter_module(paths.get(id(module), type(module).__name__))
        try:
            return real(module, *args, **kwargs)
        finally:
            sources.leave_module()

    torch.nn.Module.__call__ = call
    try:
        yield
    finally:
        torch.nn.Module.__call__ = real
