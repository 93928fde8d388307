"""Calls that copy or give a view, as their operand lies in memory: contiguous, reshape, to and their like.

Lazy tensors lie in rows whatever was done to them, so that such calls may share memory where eager's do not, or the other way round. Where a
program writes into tensors or asks for strides, eager is asked what each of its calls shares with its operands, and what it says of strides;
where that is something else, the program is captured anew with eager's copies, views and answers."""

import collections
import os
import sys

import torch
from torch._C import _functorch
from torch.overrides import TorchFunctionMode

from lazyrt import _tracer, scripts
from lazyrt.errors import Error
from lazyrt.fast_paths import open_to_modes
from lazyrt.tensors import HERE, is_lazy, is_write, tensors_in

_Tensor = torch.Tensor
_MAY_COPY = {getattr(owner, name) for name in scripts.MAY_COPY for owner in (_Tensor, torch) if hasattr(owner, name)}
WINDOWS = (torch.as_strided, _Tensor.as_strided)
ASK_FOR_STRIDES = (_Tensor.stride, _Tensor.is_contiguous, _Tensor.storage_offset, _Tensor.dim_order)
# What functionalization takes for copies, and eager gives views for.
VIEWS_FOR = {torch.unsafe_chunk: torch.chunk, _Tensor.unsafe_chunk: torch.chunk, torch.unsafe_split: torch._VF.split, _Tensor.unsafe_split: torch._VF.split,
             torch.unsafe_split_with_sizes: torch.split_with_sizes, _Tensor.unsafe_split_with_sizes: torch.split_with_sizes}
_ADVICE = "clone() what it writes into"

# Of one call: how many tensors it takes, and the shapes of its results; for each of them the operands that share its memory, and those that
# are the same piece of it; what the call says of strides.
Answer = collections.namedtuple("Answer", "count shapes shared equal strides")
_Known = collections.namedtuple("_Known", "known shared equal")
_Pair = collections.namedtuple("_Pair", "key operand operand_writes result result_writes")


class _Log:
    """The calls of one run. A call's key is its function and line, and how often it was there before."""

    def __init__(self):
        self.answers, self.latest = {}, None
        self._counts = collections.Counter()

    def key(self, func, frame):
        while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
            frame = frame.f_back
        place = (func, frame.f_code.co_filename, frame.f_lineno)
        self._counts[place] += 1
        return (*place, self._counts[place])

    def note(self, func, frame, operands, results, strides=None):
        """The key and the answer of the call that is made now."""
        answer = Answer(len(operands), [t.shape for t in results], _shared(operands, results), [_equal_to(t, operands) for t in results], strides)
        key = self.key(func, frame)
        self.answers[key], self.latest = answer, key
        return key, answer


class EagerAnswers(TorchFunctionMode):
    """Writes down the calls of a run in eager."""

    def __init__(self):
        super().__init__()
        self._log = _Log()
        self.answers = self._log.answers
        self._scripts = scripts.Calls(self._scripted)

    def __enter__(self):
        self._scripts.__enter__()
        self._fast_paths = open_to_modes()
        self._fast_paths.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self._fast_paths.__exit__(*error)
        self._scripts.__exit__(*error)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        return self._note(func, args, kwargs, func(*args, **kwargs), sys._getframe(1))

    def _scripted(self, script, args, kwargs, call, frame):
        result, copied = scripts.call_recorded(script, call)
        return self._note(script, args, kwargs, result, frame, copied)

    def _note(self, func, args, kwargs, result, frame, strides=None):
        with torch._C.DisableTorchFunction():
            operands, results = list(tensors_in((*args, *kwargs.values()))), list(tensors_in([result]))
            if func in ASK_FOR_STRIDES:
                strides = result
            elif func is _Tensor.numpy:
                strides = operands[0].stride()
            elif func in WINDOWS:
                strides = place_in_memory(operands[0])
            if operands and (results or strides is not None):
                self._log.note(_name_of_call(func), frame, operands, results, strides)
        return result


def place_in_memory(tensor):
    return tuple(tensor.stride()), tensor.storage_offset()


def order_in_memory(shape, strides):
    """The dims in which the elements follow one another without gaps, outermost first; None where they do not."""
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], d))
    expected = 1
    for dim in reversed(order):
        if shape[dim] != 1 and strides[dim] != expected:
            return None
        expected *= shape[dim]
    return order


class Copies:
    """Of the runs of one capture. `eager`: answers by key, None where nobody has asked; `mended`: keys of calls whose results are made to
    share as in eager."""

    def __init__(self, eager=None, mended=frozenset()):
        self._eager, self._mended = eager, mended
        self.wrote = False  # a run writes into tensors
        self.asked = {}  # key -> what a call was told of strides; of TorchScript code that writes there, whether it copies
        self.written = {}  # key of a call whose result shares memory that is written afterwards -> whether strides decide on that
        self.begin()

    def begin(self):
        """A run of the program begins."""
        self._log, self._views, self._others = _Log(), [], []

    def end(self):
        self.answers = self._log.answers
        views = [(pair, depends) for pair, depends in self._views if _was_written_since(pair)]
        others = list(filter(_was_written_since, self._others))
        self._views, self._others = [], []
        self.written.update({pair.key: depends for pair, depends in views})
        if others:
            raise Error(f"the program writes into what {name_of(others[0].key)} gives, or into what that is made of, and they share memory otherwise in "
                        f"eager than in the capture: {_ADVICE}", "unsupported")

    def note_write(self):
        self.wrote = True

    def writes_into(self, args, kwargs):
        """[(lazy operand, how often it was written)] of a call that is to be made."""
        return [] if self.wrote else [(tensor, _writes(tensor)) for tensor in tensors_in((*args, *kwargs.values())) if is_lazy(tensor)]

    def look_for_writes(self, before):
        """After the call: it may write without being called so (inplace=True, running statistics)."""
        self.wrote |= any(_writes(tensor) != count for tensor, count in before)

    def ask(self, func, frame, own):
        """What eager says of strides in the call that is made now; `own` where that is not known."""
        key = self._log.key(_name_of_call(func), frame)
        known = None if self._eager is None else self._eager.get(key)
        self.asked[key] = own if known is None else known.strides
        return self.asked[key]

    def pass_by(self, func, frame):
        """A call that is a matter of others."""
        self._log.key(_name_of_call(func), frame)

    def scripted(self, script, args, kwargs, result, frame, current):
        """The result of TorchScript code that was called. Raises Error where it copies in eager what it gives a view of here, and writes there."""
        code = scripts.code_of(script)
        self.wrote |= code.writes
        made = self.take(script, args, kwargs, result, frame, current)
        if code.writes_copies:
            key = self._log.latest or self._log.key(_name_of_call(script), frame)
            known = None if self._eager is None else self._eager.get(key)
            self.asked[key] = known is not None and known.strides
            if self.asked[key]:
                raise Error(f"TorchScript code ('{script.name}') writes into what contiguous, reshape, flatten or to give there, or into what that is made of, "
                            f"and copies it in eager: {_ADVICE}, or write that code in Python", "unsupported")
        return made

    def take(self, func, args, kwargs, result, frame, current):
        """The result of a call, which shares as in eager where that is wanted. current(tensor): what the program has of it by now."""
        operands, results = [current(t) for t in tensors_in((*args, *kwargs.values()))], list(tensors_in([result]))
        self._log.latest = None
        if not operands or not results:
            return result
        key, answer = self._log.note(_name_of_call(func), frame, operands, results)
        if is_write(func, kwargs) or not any(map(is_lazy, results)):
            return result
        depends = func in _MAY_COPY or "memory_format" in kwargs or isinstance(func, scripts.KINDS) and scripts.code_of(func).copies
        made = [self._take_one(key, answer, i, operands, t, depends) if is_lazy(t) else t for i, t in enumerate(results)]
        return result if all(a is b for a, b in zip(made, results)) else _replaced(result, iter(made))

    def _take_one(self, key, answer, index, operands, result, depends):
        shared = answer.shared[index]
        self._views += [(pair, depends) for pair in _pairs(key, operands, result, shared)]
        return self._mend(key, set(shared), self._in_eager(key, answer, index), operands, result) if key in self._mended else result

    def _mend(self, key, shared, eager, operands, result):
        if shared == eager.shared:
            return result
        if eager.known and not eager.shared:
            return result.clone()
        if eager.equal and is_lazy(operands[eager.equal[0]]):
            return operands[eager.equal[0]]
        self._others += _pairs(key, operands, result, shared ^ eager.shared)
        return result

    def _in_eager(self, key, answer, index):
        known = None if self._eager is None else self._eager.get(key)
        if not _are_alike(known, answer):
            return _Known(False, set(), ())
        return _Known(True, set(known.shared[index]), known.equal[index])


def _pairs(key, operands, result, indices):
    return [_Pair(key, operands[i], _writes(operands[i]), result, _writes(result)) for i in indices]


def _was_written_since(pair):
    return _writes(pair.operand) != pair.operand_writes or _writes(pair.result) != pair.result_writes


def _writes(tensor):
    tensor = _unwrapped(tensor)
    if is_lazy(tensor):
        return _tracer.writes_into(tensor)
    return 0 if tensor.is_inference() else tensor._version


def name_of(key):
    """A call in words."""
    name = key[0] if isinstance(key[0], str) else getattr(key[0], "__name__", str(key[0]))
    return f"'{name}' ({os.path.basename(key[1])}:{key[2]})"


def _name_of_call(func):
    return func.name if isinstance(func, scripts.KINDS) else func


def _replaced(value, tensors):
    """The value with other tensors in their order."""
    if isinstance(value, _Tensor):
        return next(tensors)
    if not isinstance(value, (list, tuple)):
        return value
    items = [_replaced(item, tensors) for item in value]
    return value._make(items) if hasattr(value, "_make") else type(value)(items)


def _shared(operands, results):
    """For each result the numbers of the operands whose memory it shares."""
    places = [_memory_of(operand) for operand in operands]
    return [[i for i, place in enumerate(places) if place is not None and place == memory] for memory in map(_memory_of, results)]


def _unwrapped(tensor):
    """What vmap, grad and the like of torch.func have wrapped."""
    while _functorch.is_batchedtensor(tensor) or _functorch.is_gradtrackingtensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor


def _memory_of(tensor):
    """None for what has no memory of its own."""
    tensor = _unwrapped(tensor)
    try:
        return (_tracer.memory_of(tensor) if is_lazy(tensor) else tensor.untyped_storage().data_ptr()) or None
    except (RuntimeError, NotImplementedError):  # sparse tensors
        return None


def _equal_to(result, operands):
    """The numbers of the operands that are this very piece of memory."""
    place = _place_of(result)
    return [i for i, other in enumerate(operands) if other is result or place is not None and _place_of(other) == place]


def _place_of(tensor):
    memory, tensor = _memory_of(tensor), _unwrapped(tensor)
    return None if memory is None else (memory, tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype)


# -------------------------------------------------------------------- the capture


def capture_with_copies(run, capture, eager):
    """What capture() gives of `run`, the program as capture calls it; eager() gives the answers of eager in this call, None where it raises."""
    run.copies, answers, mended = Copies(), None, set()
    while True:
        error, trace = None, None
        try:
            trace = capture()
        except Exception as raised:
            error = raised
        done = run.copies
        answers = eager() if answers is None and (done.wrote or done.asked) else answers
        keeps = trace is None or bool(trace.states)
        more = set() if answers is None else set(_to_mend(done, answers, keeps)) - mended
        if not more and (answers is None or all(key not in answers or answers[key].strides == told for key, told in done.asked.items())):
            break
        mended |= more
        run.copies = Copies(answers, frozenset(mended))
        run.forget()
    if error is not None:
        raise error
    return trace


def _to_mend(done, answers, keeps):
    """Keys of calls that share otherwise in eager, as far as that may make a difference. `keeps`: later calls may write there."""
    for key, ours in done.answers.items():
        theirs = answers.get(key)
        if not _are_alike(theirs, ours):
            if done.written.get(key):
                yield key
        elif any(not set(b) <= set(a) or a != b and (keeps or key in done.written) for a, b in zip(ours.shared, theirs.shared)):
            yield key


def _are_alike(a, b):
    return a is not None and b is not None and a[:2] == b[:2]
