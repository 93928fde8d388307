"""What a program asks about sizes: comparisons of extents and of what it computes from them.

A program is captured at some of the sizes that it may get, and a branch on another one (`if n == 137`) would not be seen. So eager runs it a few times with
extents that write down what they are compared with; where an answer changes within the bounds, the program is captured there, too."""

import builtins
import functools
import itertools
import math
import operator
import random
import sys

import torch
from torch.overrides import TorchFunctionMode

_MOST_RUNS = 24  # of a question's answers along a symbol: more than a bundle has ranges
_MOST_SIZES = 4096  # of a symbol at which questions are answered
_JOINT = 2000  # sizes of all symbols that are drawn for questions about several
_EACH = 3  # of these with either answer
_MOST_LEAVES = 20000
_COMPARISONS = {"__eq__": operator.eq, "__ne__": operator.ne, "__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge}
_ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod, "truediv": operator.truediv,
               "pow": operator.pow, "lshift": operator.lshift, "rshift": operator.rshift, "and": operator.and_, "or": operator.or_, "xor": operator.xor}
_UNARY = {"__neg__": operator.neg, "__pos__": operator.pos, "__abs__": abs, "__floor__": math.floor, "__ceil__": math.ceil, "__trunc__": math.trunc,
          "__round__": round}
_MATH = ("sqrt", "isqrt", "log", "log2", "log10", "exp")
_Tensor = torch.Tensor
_LEN = len


class _Log:
    """What one run reads and asks."""

    def __init__(self):
        self.leaves = []  # (place, value) of each extent that is read
        self.asked = {}  # (function, left, right), in order

    def leaf(self, value, place):
        if len(self.leaves) >= _MOST_LEAVES:
            return value
        self.leaves.append((place, value))
        return Size(value, self, ("leaf", len(self.leaves) - 1))

    def ask(self, function, left, right):
        self.asked[function, _form(left), _form(right)] = None


def _form(value):
    return value.form if isinstance(value, (Size, Real)) else value


def _plain(value):
    return int.__int__(value) if isinstance(value, Size) else float.__float__(value) if isinstance(value, Real) else value


class Size(int):
    """A whole number that knows from which extents it comes."""

    def __new__(cls, value, log, form):
        made = int.__new__(cls, value)
        made.log, made.form = log, form
        return made

    def __reduce__(self):
        return int, (_plain(self),)

    def __hash__(self):
        for key in _keys_near(sys._getframe(1)):
            self.log.ask(operator.eq, self, key)
        return int.__hash__(self)

    def bit_length(self):
        return _result(int.bit_length, self.log, self)


class Real(float):
    """The same of a real number."""

    def __new__(cls, value, log, form):
        made = float.__new__(cls, value)
        made.log, made.form = log, form
        return made

    def __reduce__(self):
        return float, (_plain(self),)

    __hash__ = float.__hash__


def _keys_near(frame):
    """Whole numbers among the keys of dicts and sets that the statement of a look-up may mean, and those written there."""
    near = [*frame.f_locals.values(), *(frame.f_globals.get(name) for name in frame.f_code.co_names), *frame.f_code.co_consts]
    near += [value for owner in frame.f_locals.values() for value in getattr(owner, "__dict__", {}).values()]
    near.append([const for const in frame.f_code.co_consts if type(const) is int])
    for value in near:
        if type(value) in (dict, set, frozenset, tuple, list) and len(value) <= 256:
            yield from (key for key in list(value) if type(key) is int)


def _result(function, log, *operands):
    value = function(*map(_plain, operands))
    kind = Size if type(value) is int else Real if type(value) is float else None
    return value if kind is None else kind(value, log, (function, *map(_form, operands)))


def _known(other):
    return isinstance(other, (int, float))


def _give_methods(kind):
    """Arithmetic and comparisons of a class."""
    def compare(function):
        def method(self, other):
            if not _known(other):
                return NotImplemented
            self.log.ask(function, self, other)
            return function(_plain(self), _plain(other))

        return method

    def forward(function):
        return lambda self, other, *rest: _result(function, self.log, self, other) if _known(other) and not rest else NotImplemented

    def backward(function):
        return lambda self, other, *rest: _result(function, self.log, other, self) if _known(other) and not rest else NotImplemented

    def unary(function):
        return lambda self, *more: _result(function, self.log, self, *more)

    def truth(self):
        self.log.ask(operator.ne, self, 0)
        return _plain(self) != 0

    for name, function in _COMPARISONS.items():
        setattr(kind, name, compare(function))
    for name, function in _ARITHMETIC.items():
        setattr(kind, f"__{name}__", forward(function))
        setattr(kind, f"__r{name}__", backward(function))
    for name, function in _UNARY.items():
        setattr(kind, name, unary(function))
    kind.__bool__ = truth
    kind.__divmod__ = lambda self, other: (self // other, self % other) if _known(other) else NotImplemented


_give_methods(Size)
_give_methods(Real)


class _Observed(TorchFunctionMode):
    """Extents that the program reads are Sizes."""

    def __init__(self, log):
        super().__init__()
        self.log = log

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func in _READS:
            frame = sys._getframe(1)
            place = (frame.f_code.co_filename, frame.f_lineno)
            if isinstance(result, torch.Size):
                return torch.Size([self.log.leaf(size, place) for size in result])
            if type(result) is int:
                return self.log.leaf(result, place)
        return result

    def __enter__(self):
        self.originals = {name: getattr(math, name) for name in _MATH}
        for name, original in self.originals.items():
            setattr(math, name, _of_sizes(original))
        builtins.len = self._len
        return super().__enter__()

    def _len(self, value):
        """The function makes a plain number of what __len__ gives."""
        if not isinstance(value, _Tensor) or value.dim() == 0:
            return _LEN(value)
        frame = sys._getframe(1)
        return self.log.leaf(_LEN(value), (frame.f_code.co_filename, frame.f_lineno))

    def __exit__(self, *exception):
        for name, original in self.originals.items():
            setattr(math, name, original)
        builtins.len = _LEN
        return super().__exit__(*exception)


_READS = {_Tensor.shape.__get__, _Tensor.size, _Tensor.numel, _Tensor.nelement, torch.numel}


def _of_sizes(function):
    @functools.wraps(function)
    def call(value, *more):
        if not more and isinstance(value, (Size, Real)):
            return _result(function, value.log, value)
        return function(value, *more)

    return call


# ---------------------------------------------------------------- what extents are

def _formula(points, values):
    """A function of a point that gives the values at these points; None where none is known."""
    if len(set(values)) == 1:
        return lambda point: values[0]
    for symbol in range(len(points[0])):
        sizes = [point[symbol] for point in points]
        if len(set(zip(sizes, values))) == len(set(sizes)):
            steps = _steps(sizes, values)
            if steps:
                return lambda point, symbol=symbol: steps(point[symbol])
    for symbols in itertools.combinations(range(len(points[0])), 2):
        products = [math.prod(point[s] for s in symbols) for point in points]
        steps = _steps(products, values) if len(set(zip(products, values))) == len(set(products)) else None
        if steps:
            return lambda point, symbols=symbols: steps(math.prod(point[s] for s in symbols))
    return None


def _steps(sizes, values):
    """a*((s+b)//d) + c with the smallest d"""
    pairs = sorted(set(zip(sizes, values)))
    (first, low), (last, high) = pairs[0], pairs[-1]
    for d in range(1, 65):
        for b in range(d):
            count = (last + b) // d - (first + b) // d
            if count == 0 or (high - low) % count:
                continue
            a = (high - low) // count
            c = low - a * ((first + b) // d)
            if all(a * ((s + b) // d) + c == value for s, value in pairs):
                return lambda s, a=a, b=b, c=c, d=d: a * ((s + b) // d) + c
    return None


class _Unknown(Exception):
    """What a question is about has no known formula."""


def _compiled(form, formulas):
    """A function of a point."""
    if not isinstance(form, tuple):
        return lambda point: form
    if form[0] == "leaf":
        if form[1] >= len(formulas) or formulas[form[1]] is None:
            raise _Unknown
        return formulas[form[1]]
    function, operands = form[0], [_compiled(operand, formulas) for operand in form[1:]]
    return lambda point: function(*(operand(point) for operand in operands))


class _Question:
    """A comparison as a function of a point: True, False, or None where it cannot be computed."""

    def __init__(self, function, left, right):
        self._function, self._left, self._right = function, left, right

    def __call__(self, point):
        try:
            return bool(self._function(self._left(point), self._right(point)))
        except (ArithmeticError, ValueError, TypeError):
            return None


def _questions(points, logs):
    """Those of the first run, as functions of points. What another run reads in the same order says what its extents are."""
    count = min(len(log.leaves) for log in logs)
    same = next((i for i in range(count) if len({log.leaves[i][0] for log in logs}) > 1), count)
    known = {}
    formulas = []
    for i in range(same):
        values = tuple(log.leaves[i][1] for log in logs)
        if values not in known:
            known[values] = _formula(points, values)
        formulas.append(known[values])
    for function, left, right in dict.fromkeys(question for log in logs for question in log.asked):
        try:
            yield _Question(function, _compiled(left, formulas), _compiled(right, formulas))
        except _Unknown:
            continue


# ---------------------------------------------------------------- where answers change

def _axis(symbol):
    """Sizes of a symbol, all where they are not too many."""
    step = symbol.multiple * max(1, (symbol.most - symbol.least) // symbol.multiple // _MOST_SIZES + 1)
    return [*range(symbol.least, symbol.most, step), symbol.most]


def _run_starts(answers):
    return [i for i in range(len(answers)) if i == 0 or answers[i] != answers[i - 1]]


def _along(questions, symbols, sample, captured):
    """Points along each symbol: one in each stretch of the same answers in which none was captured, up to _MOST_RUNS of a question."""
    for index, symbol in enumerate(symbols):
        sizes = _axis(symbol)
        axis = [[*sample[:index], size, *sample[index + 1:]] for size in sizes]
        taken = {point[index] for point in captured if all(i == index or a == b for i, (a, b) in enumerate(zip(point, sample)))}
        seen = set()
        for question in questions:
            answers = tuple(question(point) for point in axis)
            if answers in seen or len(set(answers)) == 1:
                continue
            seen.add(answers)
            starts = _run_starts(answers)
            ends = [*starts[1:], len(sizes)]
            stretches = list(zip(starts, ends))
            if len(stretches) > _MOST_RUNS:
                stretches = [stretches[i * (len(stretches) - 1) // (_MOST_RUNS - 1)] for i in range(_MOST_RUNS)]
            for begin, end in stretches:
                if not any(size in taken for size in sizes[begin:end]):
                    taken.add(sizes[begin])
                    yield axis[begin]


def _together(questions, symbols, sample):
    """Points at which questions about several symbols have either answer, beside those where symbols are the same or neighbours."""
    draw = random.Random(1)
    points = [[draw.randrange(s.least, s.most + 1, s.multiple) for s in symbols] for _ in range(_JOINT)]
    for a, b in itertools.permutations(range(len(symbols)), 2):
        for size, more in itertools.product(draw.sample(range(symbols[a].least, symbols[a].most + 1), min(8, symbols[a].most - symbols[a].least + 1)), (-1, 0, 1)):
            point = list(sample)
            point[a], point[b] = size, size + more
            points.append(point)
    points = [point for point in points if all(s.least <= size <= s.most and size % s.multiple == 0 for s, size in zip(symbols, point))]
    seen = set()
    for question in questions:
        answers = tuple(question(point) for point in points)
        if answers in seen or len(set(answers)) == 1:
            continue
        seen.add(answers)
        for answer in (True, False):
            yield from [point for point, given in zip(points, answers) if given is answer][:_EACH]


def _depends_on_several(question, symbols, sample):
    """Whether the answers along one symbol depend on the others."""
    corners = itertools.product(*((s.least, s.most, size) for s, size in zip(symbols, sample)))
    for index, symbol in enumerate(symbols):
        by_rest = {}
        for corner in itertools.islice(corners, 81):
            axis = [[*corner[:index], size, *corner[index + 1:]] for size in _axis(symbol)[:: max(1, len(_axis(symbol)) // 64)]]
            by_rest[corner] = tuple(question(point) for point in axis)
        if len(set(by_rest.values())) > 1:
            return True
        corners = itertools.product(*((s.least, s.most, size) for s, size in zip(symbols, sample)))
    return False


def points_that_differ(sizes, run, captured):
    """Points at which the program answers a question about sizes otherwise than at those that are captured anyway. run(point, mode) calls eager, under a mode,
    with the example at that point; where the program cannot be watched so (it minds the type of a size, say) there are none."""
    symbols = sizes.symbols
    watched = [list(sizes.sample)]
    for index in range(len(symbols)):
        others = [point for point in captured if all(i == index or a == b for i, (a, b) in enumerate(zip(point, captured[0])))]
        watched += [list(point) for point in sorted(others, key=lambda p: p[index])[:4] if list(point) not in watched]
    logs = []
    for point in watched:
        log = _Log()
        try:
            run(point, _Observed(log))
        except Exception:
            return []
        logs.append(log)
    questions = list(_questions(watched, logs))
    found = []
    if len(symbols) > 1:
        found += _together([q for q in questions if _depends_on_several(q, symbols, sizes.sample)], symbols, sizes.sample)
    found += _along(questions, symbols, list(sizes.sample), [*captured, sizes.sample])
    unique = []
    for point in found:
        if point not in unique and point not in [list(p) for p in captured] and point != list(sizes.sample):
            unique.append(point)
    return unique
