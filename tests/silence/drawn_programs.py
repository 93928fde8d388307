"""Modules drawn by a seed: state in buffers, attributes, lists and dicts that alias each other, is kept by reference, viewed, written in place and
exchanged, in some calls and not in others."""

import random

INDENT = "    "
HEAD = """import collections
import dataclasses
from typing import Dict, List, Optional, Tuple

import numpy as np
import torch
from torch import Tensor, nn

"""


class Block(list):
    """Statements: texts, or (header, Block) of what stands below it."""

    def lines(self, depth):
        for item in self:
            if isinstance(item, str):
                yield INDENT * depth + item
            else:
                header, body = item
                yield INDENT * depth + header
                yield from body.lines(depth + 1) if body else [INDENT * (depth + 1) + "pass"]

    def places(self, path=()):
        """Of every statement, also of those below others."""
        for i, item in enumerate(self):
            yield path + (i,)
            if not isinstance(item, str):
                yield from item[1].places(path + (i,))

    def without(self, place):
        """A copy that lacks one statement."""
        first, *rest = place
        if not rest:
            return Block(item for i, item in enumerate(self) if i != first)
        return Block((item[0], item[1].without(rest)) if i == first else item for i, item in enumerate(self))

    def with_inside(self, place):
        """A copy in which what stands below that statement stands in its place."""
        first, *rest = place
        if rest:
            return Block((item[0], item[1].with_inside(rest)) if i == first else item for i, item in enumerate(self))
        return Block(self[:first] + self[first][1] + self[first + 1 :])


class Program:
    """A file that defines the module Drawn; `inputs` are {name of an argument: how it is drawn (drawn.py)}. `sizes` are {symbol: (least, most, the sample's)} of
    extents that vary, `dims` {argument: {dim: symbol}}."""

    def __init__(self, body, inputs, sizes=None, dims=None):
        self.body, self.inputs, self.sizes, self.dims = body, inputs, sizes, dims

    def source(self):
        return "\n".join([HEAD, *self.body.lines(0)]) + "\n"

    def smaller(self):
        """Programs with one statement less."""
        for place in self.body.places():
            for other in self._less(self.body, place):
                yield Program(other, self.inputs, self.sizes, self.dims)

    @staticmethod
    def _less(block, place):
        yield block.without(place)
        item = block
        for i in place[:-1]:
            item = item[i][1]
        if not isinstance(item[place[-1]], str):
            yield block.with_inside(place)


def module_class(name, init, methods, annotations=()):
    """Of nn.Module; `methods` are (header, Block)."""
    return (f"class {name}(nn.Module):", Block([*annotations, ("def __init__(self):", Block(["super().__init__()", *init])), *methods]))


def drawn_program(seed, script=False):
    """The Program of a seed; `script`: one that TorchScript compiles."""
    return Author(random.Random(seed), script).program()


class Chooser:
    """What all that draw programs do: `draw` is a random.Random, `depth` how many blocks there are around. statement() gives the lines of one."""

    def __init__(self, draw, script):
        self.draw, self.script, self.depth = draw, script, 0

    def chance(self, share):
        return self.draw.random() < share

    def one_of(self, ways):
        """What one of [(function, weight)] gives."""
        makers, weights = zip(*ways)
        return self.draw.choices(makers, weights)[0]()

    def block(self, least, most):
        body = Block()
        for _ in range(self.draw.randint(least, most)):
            body += self.statement()
        return body

    def _below(self):
        self.depth += 1
        body = self.block(1, 2)
        self.depth -= 1
        return body


class Author(Chooser):
    """Draws one program. `script`: one that TorchScript compiles."""

    def __init__(self, draw, script):
        super().__init__(draw, script)
        self.full, self.rows, self.locals = [], [], 0  # texts of what holds a tensor
        self.attributes, self.row_attributes, self.buffers = [], [], []
        self.list_length, self.keys = 0, []
        self.inputs = {"x": "full", "y": "full"} if self.chance(0.25) else {"x": "full"}

    # ---- the state

    def program(self):
        init = Block(self._buffers())
        init += self._attributes()
        self.full += self.inputs
        forward = self.block(3, 9)
        forward.append(self.result())
        return Program(Block([module_class("Drawn", init, [(self.header(), forward)])]), self.inputs)

    def header(self):
        return f"def forward(self, {', '.join(f'{name}: Tensor' for name in self.inputs)}):"

    def _buffers(self):
        for i in range(self.draw.randint(1, 3)):
            name = f"self.b{i}"
            value = self.draw.choice([f"torch.full((3, 4), {self.number()})", "torch.zeros(3, 4)", "torch.arange(12.0).reshape(3, 4) * 0.1"])
            yield f'self.register_buffer("b{i}", {value})'
            self.buffers.append(name)
            self.full.append(name)

    def _attributes(self):
        for i in range(self.draw.randint(0, 3)):
            yield f"self.t{i} = {self.first_value()}"
            self.attributes.append(f"self.t{i}")
            self.full.append(f"self.t{i}")
        if self.chance(0.35):
            buffer = self.draw.choice(self.buffers)
            yield f"self.r0 = {self.draw.choice([f'{buffer}[1]', 'torch.zeros(4)', 'torch.ones(4)', f'{buffer}[2].clone()'])}"
            self.row_attributes.append("self.r0")
            self.rows.append("self.r0")
        if self.chance(0.45):
            self.list_length = self.draw.randint(1, 3)
            yield f"self.kept: List[Tensor] = [{', '.join(self.first_value() for _ in range(self.list_length))}]"
            self.full += [f"self.kept[{i}]" for i in (0, -1)]
        if self.chance(0.3):
            self.keys = ["a", "b"]
            yield "self.named: Dict[str, Tensor] = {" + ", ".join(f'"{key}": {self.first_value()}' for key in self.keys) + "}"
            self.full += [f'self.named["{key}"]' for key in self.keys]
        yield "self.n = 0"
        yield "self.flag = False"

    def first_value(self):
        buffer = self.draw.choice(self.buffers)
        if self.chance(0.1):
            return self.draw.choice([buffer, f"{buffer}.detach()", f"{buffer}[:]"])
        return self.draw.choice(["torch.zeros(3, 4)", "torch.ones(3, 4)", f"{buffer}.clone()"])

    # ---- expressions

    def number(self):
        return self.draw.choice([0.5, -0.5, 0.25, 0.9, 1.0, 2.0, -1.0])

    def index(self):
        return self.draw.randint(0, 2)

    def held(self):
        """A name for a tensor, as it is."""
        return self.draw.choice(self.full)

    def alias(self):
        """An expression that is, or may be, the memory of something held."""
        one = self.held()
        ways = ["{}", "{}", "{}", "{}.detach()", "{}[:]", "{}.view(3, 4)", "{}.reshape(3, 4)", "{}.contiguous()", "{}.t().t()", "{}.view(12).view(3, 4)"]
        return self.draw.choice(ways + ["{}.expand(3, 4)", "{}.to(torch.float32)"]).format(one)

    def value(self, deep=2):
        """f32[3,4]"""
        if deep == 0 or self.chance(0.3):
            return self.alias()
        a, c = self.value(deep - 1), self.number()
        ways = [lambda: f"torch.tanh({a})", lambda: f"({a} * {c})", lambda: f"{a}.clone()", lambda: f"({a} + {self.value(deep - 1)})",
                lambda: f"(({a} - {self.value(deep - 1)}) * 0.5)", lambda: f"torch.where({self.held()} > {c}, {a}, {self.alias()})",
                lambda: f"({a} + {self.row(deep - 1)})", lambda: f"torch.maximum({a}, {self.alias()})",
                lambda: f"torch.stack([{self.row(deep - 1)}, {self.row(deep - 1)}, {self.row(deep - 1)}])", lambda: f"{a}.flip(0)",
                lambda: f"torch.cat([{a}[1:], {self.row(deep - 1)}.unsqueeze(0)])"]
        return ways[self.draw.randint(0, 10)]()

    def row(self, deep=1):
        """f32[4]"""
        if self.rows and self.chance(0.4):
            return self.draw.choice(self.rows)
        one = self.value(deep - 1) if deep > 0 and self.chance(0.5) else self.held()
        return self.draw.choice(["{}[{}]", "{}[{}]", "{}.select(0, {})", "{}[{}].clone()", "{}.mean(0)", "{}.reshape(-1)[4:8]"]).format(one, self.index())

    def place(self):
        """What is written into: never the caller's own tensors."""
        names = [name for name in self.full if name not in self.inputs]
        return self.draw.choice(["{}", "{}", "{}", "{}[:]", "{}.view(3, 4)", "{}.detach()"]).format(self.draw.choice(names))

    def target(self):
        """What gets another tensor."""
        return self.draw.choice(self.attributes or self.buffers)

    def condition(self):
        kinds = [f"self.n % {self.draw.randint(2, 4)} == {self.draw.randint(0, 1)}", f"self.n > {self.draw.randint(1, 7)}", "self.flag",
                 f"self.n == {self.draw.randint(1, 9)}"]
        if self.list_length:
            kinds.append(f"len(self.kept) > {self.list_length}")
        if self.attributes and not self.script:
            kinds.append(f"{self.draw.choice(self.attributes)} is {self.draw.choice(self.full)}")
        if self.chance(0.2):
            kinds = [f"{self.held()}.mean() > {self.number()}", f"bool({self.draw.choice([name for name, kind in self.inputs.items() if kind == 'full'])}[0, 0] > 0)"]
        return self.draw.choice(kinds)

    # ---- statements

    def statement(self):
        ways = [(self.assign, 3), (self.write, 4), (self.local, 2), (self.count, 2), (self.exchange, 1), (self.row_local, 1)]
        ways += [(self.list_statement, 2)] if self.list_length else []
        ways += [(self.dict_statement, 2)] if self.keys else []
        ways += [(self.branch, 3)] if self.depth < 2 else []
        ways += [(self.loop, 1)] if self.list_length and self.depth < 2 else []
        return self.one_of(ways)

    def local(self):
        text = f"v{self.locals} = {self.value()}"
        return self._named(text, self.full)

    def row_local(self):
        return self._named(f"v{self.locals} = {self.row()}", self.rows)

    def _named(self, text, names):
        if self.depth == 0:  # others may not be there
            names.append(f"v{self.locals}")
        self.locals += 1
        return [text]

    def assign(self):
        if self.row_attributes and self.chance(0.25):
            return [f"self.r0 = {self.row()}"]
        return [f"{self.target()} = {self.alias() if self.chance(0.6) else self.value()}"]

    def write(self):
        to, c, i = self.place(), self.number(), self.index()
        if self.rows and self.chance(0.2):
            return [f"{self.draw.choice(self.rows)}{self.draw.choice(['.mul_(0.5)', '.add_(1.0)', f'.copy_({self.row()})', f'[{i}] = {c}'])}"]
        ways = [f"{to}.add_({self.value(1)})", f"{to}.mul_({self.draw.choice([0.5, 0.9, -0.5])})", f"{to}.copy_({self.value(1)})", f"{to}[{i}] = {self.row()}",
                f"{to}[:, {i}] = {c}", f"{to}[{i}].add_({self.row()})", f"{to}.zero_()", f"{to}.lerp_({self.value(1)}, 0.5)", f"{to}.t().mul_(0.5)",
                f"{to}.clamp_(-2.0, 2.0)", f"{to}.masked_fill_({self.held()} > {c}, {c})", f"{to}[{i}, {i}] += {c}"]
        if not self.script:
            ways += [f"torch.add({self.value(1)}, {self.value(1)}, out={to})", f"{to}.data.mul_(0.5)", f"{to}[{i}:] += {c}"]
        return [self.draw.choice(ways)]

    def count(self):
        ways = ["self.n += 1", "self.n += 1", f"self.n = (self.n + 1) % {self.draw.randint(2, 6)}", f"self.n = min(self.n + 1, {self.draw.randint(2, 9)})",
                *([] if self.script else ["self.flag = not self.flag", "self.flag = self.n > 3"])]
        return [self.draw.choice(ways)]

    def exchange(self):
        names = self.attributes if len(self.attributes) > 1 and self.chance(0.6) else self.attributes + self.buffers
        if len(names) < 2:
            return self.assign()
        a, b = self.draw.sample(names, 2)
        return [f"{a}, {b} = {b}, {a}"]

    def list_statement(self):
        new = self.alias() if self.chance(0.6) else self.value()
        ways = [[f"self.kept.append({new})", "self.kept.pop(0)"], [f"self.kept[{self.draw.choice([0, -1])}] = {new}"], ["self.kept.reverse()"],
                ["self.kept.insert(0, self.kept.pop())"], [f"self.kept = self.kept[1:] + [{new}]"],
                [f"self.kept.append({new})", (f"if len(self.kept) > {self.list_length + 1}:", Block(["self.kept.pop(0)"]))]]
        return self.draw.choice(ways)

    def dict_statement(self):
        key, other = self.draw.sample(self.keys, 2)
        new = self.alias() if self.chance(0.6) else self.value()
        return self.draw.choice([[f'self.named["{key}"] = {new}'], [f'self.named["{key}"] = self.named["{other}"]'],
                                 [f'self.named["{key}"], self.named["{other}"] = self.named["{other}"], self.named["{key}"]']])

    def branch(self):
        condition = self.condition()
        blocks = [(f"if {condition}:", self._below())]
        if self.chance(0.4):
            blocks.append(("else:", self._below()))
        return blocks

    def loop(self):
        return [("for item in self.kept:", Block([self.draw.choice(["item.mul_(0.5)", f"item.add_({self.held()})", "item[0] = item[1]", f"self.b0.add_(item)"])]))]

    def result(self):
        texts = [self.alias() if self.chance(0.4) else self.value() for _ in range(self.draw.randint(1, 3))]
        return "return " + (texts[0] if len(texts) == 1 else "(" + ", ".join(texts) + ")")
