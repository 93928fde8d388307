"""What a program computes from sizes (size_questions.py), as terms over symbols (host_tracer/dynamic/terms.h).

`n * 29 // 100` need not be found from what it is at some sizes: eager says how it is made. The exporter takes these numbers for candidates: one of them is an
answer where it is right at every size at which the program was captured."""

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
_ROOTS = {0.5: ["SquareRoot"], 0.25: ["SquareRoot", "SquareRoot"]}


class _NoTerm(Exception):
    """There is no term for it."""


class _Terms:
    """Terms of what one run computed, in a list that all runs share."""

    def __init__(self, native, extents):
        self.native, self.extents, self.known = native, extents, {}

    def of(self, form):
        """(term, how many parts it has)"""
        if not isinstance(form, tuple):
            return self._constant(form), 1
        if id(form) not in self.known:
            try:
                self.known[id(form)] = self._extent(form[1]) if form[0] == "leaf" else self._made(form[0], [self.of(operand) for operand in form[1:]], form)
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
        for i, symbol in enumerate(extent.symbols):
            product = make("Multiply", product, self.native.symbol(symbol)) if i else self.native.symbol(symbol)
        steps = make("FloorDivide", make("Add", product, integer(b)), integer(d))
        return make("Add", make("Multiply", steps, integer(a)), integer(c)), 1 + len(extent.symbols)

    def _made(self, function, operands, form):
        make, integer = self.native.make, self.native.integer
        terms, parts = [term for term, _ in operands], 1 + sum(count for _, count in operands)
        if function in _PLAIN and len(terms) == 2:
            return make(_PLAIN[function], *terms), parts
        if function is operator.neg:
            return make("Multiply", terms[0], integer(-1)), parts
        if function is abs:
            return make("Max", terms[0], make("Multiply", terms[0], integer(-1))), 2 * parts
        if function is math.ceil:
            return make("Multiply", make("Floor", make("Multiply", terms[0], integer(-1))), integer(-1)), parts + 2
        if function in (operator.lshift, operator.rshift) and type(form[2]) is int and 0 <= form[2] < 62:
            return make("Multiply" if function is operator.lshift else "FloorDivide", terms[0], integer(1 << form[2])), parts
        if function is operator.pow:
            return self._power(terms[0], form[2]), 4 * parts
        if function is math.log and len(terms) == 2:
            return make("Divide", make("Logarithm", terms[0]), make("Logarithm", terms[1])), parts + 2
        if function in _OF_ONE and len(terms) == 1:
            return self._through(_OF_ONE[function], terms[0]), parts + 1
        raise _NoTerm

    def _through(self, functions, term):
        for function in functions:
            term = self.native.make(function, term)
        return term

    def _power(self, term, exponent):
        if not isinstance(exponent, (int, float)) or isinstance(exponent, bool):
            raise _NoTerm
        if exponent < 0:
            return self.native.make("Divide", self.native.real(1.0), self._power(term, -exponent))
        whole, part = divmod(exponent, 1)
        if not 0 < exponent <= 4 or part and part not in _ROOTS:
            raise _NoTerm
        power = self._through(_ROOTS[part], term) if part else term
        for _ in range(int(whole) - (0 if part else 1)):
            power = self.native.make("Multiply", power, term)
        return power


def numbers_of(symbols, runs):
    """What the runs compute, as far as there are terms for it that give the same. `runs`: {point: (log, its extents as
    such functions)}."""
    native, given = _tracer.SizeNumbers(), set()
    places = _Places(symbols)
    for log, extents in runs.values():
        terms = _Terms(native, extents)
        for form in log.computed.values():
            if len(given) >= _MOST_GIVEN:
                return native
            try:
                term = terms.of(form)[0]
            except _NoTerm:
                continue
            if term not in given and places.agree(native, term, form, extents):
                native.give(term)
            given.add(term)
    return native


class _Places:
    """Points at which terms are compared with what they are made of."""

    def __init__(self, symbols):
        draw = random.Random(1)
        self.points = [tuple(draw.randrange(s.least, s.most + 1, s.multiple) for s in symbols) for _ in range(_DRAWN)]
        self.points += [tuple(s.least for s in symbols), tuple(s.most for s in symbols)]
        for index, symbol in enumerate(symbols):
            count = (symbol.most - symbol.least) // symbol.multiple
            for i in range(min(count + 1, _SIZES)):
                size = symbol.least + (i if count < _SIZES else i * count // (_SIZES - 1)) * symbol.multiple
                self.points.append((*self.points[0][:index], size, *self.points[0][index + 1:]))

    def agree(self, native, term, form, extents):
        for point in self.points:
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
