"""Sizes at which a program decides otherwise than at those where it is captured anyway, by what it asks about sizes (size_questions.py).

Each size of a symbol has its answers to all questions that any run asked; where answers change, a stretch of sizes ends. In each stretch the program is
captured, and watched again: behind an answer that is new it may ask something else (`256 <= n < 258`)."""

import itertools
import random

from lazyrt.sizes.size_extents import extents_of
from lazyrt.sizes.size_questions import Log, Observed

_WATCHED_FIRST = 6  # of the points that are captured anyway: what extents are
_MOST_WATCHED = 64  # runs of eager that are watched, where answers change
_MOST_ROUNDS = 8  # of questions that come up behind other answers
_MOST_STRETCHES = 24  # of the same answers along a symbol: more than a bundle has ranges
_MOST_SIZES = 4096  # of a symbol at which questions are answered
_MOST_FOUND = 64  # points in all
_MOST_TOGETHER = 8  # points at which answers about several symbols come together anew, in a round
_MOST_CLASSES = 6  # of a symbol's sizes that are combined with those of others
_DRAWN = 1000  # sizes of all symbols for questions about several


# ---------------------------------------------------------------- what is asked

class _Unknown(Exception):
    """What a question is about has no known formula."""


class _Term:
    """What is compared, as a function of a point."""

    def __init__(self, form, extents):
        if not isinstance(form, tuple):
            self.symbols, self.key, self.at = frozenset(), ("number", type(form), form), lambda point: form
        elif form[0] == "leaf":
            extent = extents[form[1]] if form[1] < len(extents) else None
            if extent is None:
                raise _Unknown
            self.symbols, self.key, self.at = frozenset(extent.symbols), extent.key, extent
        else:
            function, operands = form[0], [_Term(operand, extents) for operand in form[1:]]
            self.symbols = frozenset().union(*(operand.symbols for operand in operands))
            self.key = (function, *(operand.key for operand in operands))
            self.at = lambda point: function(*(operand.at(point) for operand in operands))


class _Question:
    """A comparison as a function of a point: True, False, or None where it cannot be computed."""

    def __init__(self, function, left, right):
        self._function, self._left, self._right = function, left, right
        self.symbols, self.key = left.symbols | right.symbols, (function, left.key, right.key)

    def __call__(self, point):
        try:
            return bool(self._function(self._left.at(point), self._right.at(point)))
        except (ArithmeticError, ValueError, TypeError):
            return None


def _questions_of(runs):
    """{point: those of its run that depend on sizes}; equal ones are one object."""
    extents, known, found = extents_of(runs), {}, {}
    for point, log in runs.items():
        found[point] = []
        for function, left, right in log.asked:
            try:
                question = _Question(function, _Term(left, extents[point]), _Term(right, extents[point]))
            except _Unknown:
                continue
            if question.symbols:
                found[point].append(known.setdefault(question.key, question))
    return found


# ---------------------------------------------------------------- where answers change

def _axis(symbol):
    """Sizes of a symbol, all where they are not too many."""
    step = symbol.multiple * max(1, (symbol.most - symbol.least) // symbol.multiple // _MOST_SIZES + 1)
    return [*range(symbol.least, symbol.most, step), symbol.most]


def _evenly(items, most):
    return items if len(items) <= most else [items[i * (len(items) - 1) // (most - 1)] for i in range(most)]


class _Finder:
    """The points, and what eager asks at all that are known."""

    def __init__(self, sizes, run, captured):
        self.symbols, self.sample, self.run = sizes.symbols, tuple(sizes.sample), run
        self.runs, self.failed = {}, set()  # by point
        self.taken = [self.sample, *(point for point in captured if point != self.sample)]
        self.found, self.answers = [], {}

    def watch(self, point):
        """Whether the program can be watched there: it may look at the type of a size, or refuse this one."""
        if point not in self.runs and point not in self.failed and len(self.runs) + len(self.failed) < _MOST_WATCHED:
            log = Log()
            try:
                self.run(list(point), log)
                self.runs[point] = log
            except Exception:
                self.failed.add(point)
        return point in self.runs

    def find(self):
        if not self.watch(self.sample):
            return []
        for point in _evenly(self.taken, _WATCHED_FIRST):
            self.watch(point)
        for _ in range(_MOST_ROUNDS):
            before = len(self.found), len(self.runs)
            questions = list(dict.fromkeys(question for asked in _questions_of(self.runs).values() for question in asked))
            classes = [self._along(i, [q for q in questions if q.symbols == {i}]) for i in range(len(self.symbols))]
            if any(len(question.symbols) > 1 for question in questions) or sum(len(some) > 1 for some in classes) > 1:
                self._together(questions, classes)
            if before == (len(self.found), len(self.runs)) or len(self.found) >= _MOST_FOUND:
                break
        return [list(point) for point in self.found]

    def _take(self, point):
        if point not in self.taken and len(self.found) < _MOST_FOUND:
            self.taken.append(point)
            self.found.append(point)
            self.watch(point)
            for index, symbol in enumerate(self.symbols) if len(self.symbols) > 1 else ():  # what extents are on this way
                for size in (symbol.least, symbol.most):
                    self.watch((*point[:index], size, *point[index + 1:]))

    def _at(self, index, size):
        return (*self.sample[:index], size, *self.sample[index + 1:])

    def _along(self, index, questions):
        """Takes a point in each stretch of a symbol; returns {the first size of each: its answers}."""
        sizes = _axis(self.symbols[index])
        columns = {}
        for question in questions:
            if question.key not in self.answers:
                self.answers[question.key] = tuple(question(self._at(index, size)) for size in sizes)
            columns[self.answers[question.key]] = None
        rows = list(zip(*columns)) if columns else [()] * len(sizes)
        starts = [i for i in range(len(rows)) if i == 0 or rows[i] != rows[i - 1]]
        for begin, end in self._worth_trying(list(zip(starts, [*starts[1:], len(sizes)])), rows):
            within = [self._at(index, size) for size in sizes[begin:end]]
            if not any(point in self.taken for point in within):
                self._take(within[0])
            for point in (within[-1], within[len(within) // 2], within[0]) if begin or end < len(sizes) else ():  # what extents are on this way
                if len(within) > 1 and sum(point in self.runs for point in within) <= 3:
                    self.watch(point)
        return {sizes[begin]: rows[begin] for begin in starts}

    @staticmethod
    def _worth_trying(stretches, rows):
        """All, or the first and the last with the same answers, of the answers that are rarest."""
        if len(stretches) <= _MOST_STRETCHES:
            return stretches
        by_answers = {}
        for stretch in stretches:
            by_answers.setdefault(rows[stretch[0]], []).append(stretch)
        rarest = sorted(by_answers.values(), key=lambda same: sum(end - begin for begin, end in same))
        return [same[i] for i in (0, -1) for same in rarest if i == 0 or len(same) > 1][:2 * _MOST_STRETCHES]

    def _together(self, questions, classes):
        """Takes points at which the answers, of all symbols together, are new, where what the program gets to ask there is new as well. `classes`: by
        symbol {the first size of a stretch: its answers}."""
        by_answers = {}
        for point in self._joint_points(classes):
            by_answers.setdefault(tuple(question(point) for question in questions), []).append(point)
        for point in self.taken:
            by_answers.pop(tuple(question(point) for question in questions), None)
        points = [same[0] for same in sorted(by_answers.values(), key=len)[:_MOST_TOGETHER]]
        for point in points:
            self.watch(point)
        decided = {point: frozenset((question, question(point)) for question in asked) for point, asked in _questions_of(self.runs).items()}
        known = {decided[point] for point in self.taken if point in decided}
        for point in points:
            if point in decided and decided[point] not in known:
                known.add(decided[point])
                self._take(point)

    def _joint_points(self, classes):
        """Drawn ones, lines along each symbol through a size of each class of the others, all classes together, and where two symbols are the same or
        neighbours."""
        draw = random.Random(1)
        points = [tuple(draw.randrange(s.least, s.most + 1, s.multiple) for s in self.symbols) for _ in range(_DRAWN)]
        representatives = [_evenly(list({answers: size for size, answers in of_symbol.items()}.values()), _MOST_CLASSES) for of_symbol in classes]
        bases = [*points[:2], *zip(*(itertools.islice(itertools.cycle(sizes), _MOST_CLASSES) for sizes in representatives))]
        for base, index in itertools.product(bases, range(len(self.symbols))):
            points += [(*base[:index], size, *base[index + 1:]) for size in _evenly(_axis(self.symbols[index]), 512)]
        points += itertools.islice(itertools.product(*representatives), _DRAWN)
        for a, b in itertools.permutations(range(len(self.symbols)), 2):
            for size, more in itertools.product(_evenly(_axis(self.symbols[a]), 16), (-1, 0, 1)):
                point = list(self.sample)
                point[a], point[b] = size, size + more
                points.append(tuple(point))
        return [point for point in points if all(s.holds(size) for s, size in zip(self.symbols, point))]


def points_that_differ(sizes, run, captured, namespaces):
    """Points at which the program answers questions about sizes otherwise than at those that are captured anyway. run(point, mode) calls eager, under a
    mode, with the example at that point; there are none where the program cannot be watched so (it looks at the type of a size, say). `namespaces`: globals
    of its modules."""
    return _Finder(sizes, lambda point, log: run(point, Observed(log, namespaces)), [tuple(point) for point in captured]).find()
