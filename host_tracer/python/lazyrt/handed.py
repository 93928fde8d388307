"""Objects of libraries that a program gets hold of by a call, as in logging.getLogger(name): nobody knows them by a name of its code."""

import collections
import contextlib
import sys
import types

import torch

from lazyrt.code_names import attributes_of, is_file_of_library

_CONTAINERS = (dict, list, set, collections.deque)
_NEVER = (torch.Tensor, torch.nn.Module, type, types.ModuleType, types.FunctionType, types.MethodType, types.FrameType)
_MOST = 10_000


@contextlib.contextmanager
def calls_shown_to(look):
    """While active, look(frame, event, value) is told of this thread's calls, as by sys.setprofile; of none where somebody else watches it."""
    if sys.getprofile() is not None:
        yield
        return
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


class Handed:
    """What functions of libraries gave to the user's code while it was watched, and who else holds."""

    def __init__(self):
        self.found = {}  # id -> object

    @contextlib.contextmanager
    def watched(self):
        """For this thread, where nobody else watches it."""
        given = {}

        def look(frame, event, value):
            if event == "return" and _is_handed_out(frame) and _may_be_kept(value) and len(given) < _MOST:
                given[id(value)] = value

        try:
            with calls_shown_to(look):
                yield
        finally:
            self._keep(given)

    def _keep(self, given):
        while given:
            here, value = given.popitem()
            if sys.getrefcount(value) > 2:  # this name, and the argument
                self.found[here] = value


def _may_be_kept(value):
    if value is None or isinstance(value, _NEVER):
        return False
    return isinstance(value, _CONTAINERS) or type(attributes_of(value)) is dict


def _is_handed_out(frame):
    """From a library's frame to one of the user's."""
    caller = frame.f_back
    return caller is not None and is_file_of_library(frame.f_code.co_filename) and not is_file_of_library(caller.f_code.co_filename)
