"""What a program computes from sizes (size_questions.py), as terms over symbols (host_tracer/dynamic/terms.h).

`n * 29 // 100` need not be found from what it is at some sizes: eager says how it is made. The exporter takes these numbers for candidates: one of them is an
answer where it is right at every size at which the program was captured."""

import functools
import math
import operator
import random

from lazyrt import _tracer

_MOST_GIVEN = 256
_MOST_PARTS = 64  # of one term
_SIZES = 96  # of a symbol at which a term is compared with what the program computes
_DRAWN = 64  # points, of terms of several symbols
_PLAIN = {operator.add: "Add", operator.sub: "Subtract", operator.mul: "Multiply", operator.floordiv: "FloorDivide", operator.mod: "Remainder",
          operator.truediv: "Divide"}
_OF_ONE = {math.sqrt: ["SquareRoot"], math.isqrt: ["SquareRoot", "Floor"], math.log: ["Logarithm"], math.floor: ["Floor"], math.trunc: ["Floor"],
           round: ["Round"], operator.pos: []}
_ROOTS = {0: [], 0.5: ["SquareRoot"], 0.25: ["SquareRoot", "SquareRoot"]}


class _NoTerm(Exception):
    """There is no term for it."""


class _Terms:
    """Terms of what one run computed, in a list that all runs share: (term, how many parts it has)."""

    def __init__(self, native, extents):
        self.native, self.extents, self.known = native, extents, {}

    def of(self, form):
        if not isinstance(form, tuple):
            return self._constant(form), 1
        if id(form) not in self.known:
            try:
                self.known[id(form)] = self._extent(form[1]) if form[0] == "leaf" else self._made(form)
            except _NoTerm:
                self.known[id(form)] = None
        if self.known[id(form)] is None or self.known[id(form)][1] > _MOST_PARTS:
            raise _NoTerm
        return self.known[id(form)]

    def _constant(self, value):
        if type(value) is int and abs(value) < 2**62:
            return self.native.integer(value)
        if type(value) is float and math.isfinite(value):
            return self.native.real(value)
        raise _NoTerm

    def _extent(self, index):
        extent = self.extents[index] if index < len(self.extents) else None
        if extent is None:
            raise _NoTerm
        make, integer = self.native.make, self.native.integer
        a, b, c, d = extent.numbers
        product = integer(1)
        for symbol in extent.symbols:
            product = make("Multiply", product, self.native.symbol(symbol))
        steps = make("FloorDivide", make("Add", product, integer(b)), integer(d))
        return make("Add", make("Multiply", steps, integer(a)), integer(c)), 1 + len(extent.symbols)

    def _made(self, form):
        function, operands = form[0], [self.of(operand) for operand in form[1:]]
        make, (first, *more) = self.native.make, [term for term, _ in operands]
        parts = 4 + sum(count for _, count in operands)
        minus = lambda term: make("Multiply", term, self.native.integer(-1))  # noqa: E731
        if function in _PLAIN and more:
            return make(_PLAIN[function], first, *more), parts
        if function in _OF_ONE and not more:
            return self._through(_OF_ONE[function], first), parts
        if function is operator.neg:
            return minus(first), parts
        if function is abs:
            return make("Max", first, minus(first)), 2 * parts
        if function is max:
            return functools.reduce(lambda a, b: make("Max", a, b), more, first), parts
        if function is min:
            return minus(functools.reduce(lambda a, b: make("Max", a, minus(b)), more, minus(first))), 2 * parts
        if function is math.ceil:
            return minus(make("Floor", minus(first))), parts
        if function in (operator.lshift, operator.rshift) and type(form[2]) is int and 0 <= form[2] < 62:
            return make("Multiply" if function is operator.lshift else "FloorDivide", first, self.native.integer(1 << form[2])), parts
        if function is operator.pow:
            return self._power(first, form[2]), 4 * parts
        raise _NoTerm

    def _through(self, functions, term):
        for function in functions:
            term = self.native.make(function, term)
        return term

    def _power(self, term, exponent):
        if type(exponent) not in (int, float) or not 0 < abs(exponent) <= 4 or abs(exponent) % 1 not in _ROOTS:
            raise _NoTerm
        whole, part = divmod(abs(exponent), 1)
        factors = [term] * int(whole) + ([self._through(_ROOTS[part], term)] if part else [])
        power = factors[0]
        for factor in factors[1:]:
            power = self.native.make("Multiply", power, factor)
        return power if exponent > 0 else self.native.make("Divide", self.native.real(1.0), power)


def numbers_of(symbols, runs):
    """What the runs compute, as far as there are terms for it that are equal to it. `runs`: {point: (log, its extents as such functions)}."""
    native, given, points = _tracer.SizeNumbers(), set(), _points(symbols)
    for log, extents in runs.values():
        terms = _Terms(native, extents)
        for form in log.computed.values():
            if len(given) >= _MOST_GIVEN:
                return native
            try:
                term = terms.of(form)[0]
            except _NoTerm:
                continue
            if term not in given and _agree(native, term, form, extents, points):
                native.give(term)
            given.add(term)
    return native


def _points(symbols):
    """Points at which terms are compared with what they are made of."""
    draw = random.Random(1)
    points = [tuple(draw.randrange(s.least, s.most + 1, s.multiple) for s in symbols) for _ in range(_DRAWN)]
    points += [tuple(s.least for s in symbols), tuple(s.most for s in symbols)]
    for index, symbol in enumerate(symbols):
        sizes = range(symbol.least, symbol.most + 1, symbol.multiple)
        points += [(*points[0][:index], sizes[i * len(sizes) // _SIZES], *points[0][index + 1:]) for i in range(_SIZES)]
    return list(dict.fromkeys(points))


def _agree(native, term, form, extents, points):
    for point in points:
        try:
            wanted = _computed(form, extents, point)
        except (ArithmeticError, ValueError, TypeError):
            return False
        found = native.at(term, list(point))
        if found is None or isinstance(wanted, int) and found != wanted or not math.isclose(found, wanted, rel_tol=1e-15):
            return False
    return True


def _computed(form, extents, point):
    if not isinstance(form, tuple):
        return form
    if form[0] == "leaf":
        return extents[form[1]](point)
    return form[0](*(_computed(operand, extents, point) for operand in form[1:]))
