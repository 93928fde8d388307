"""Modules drawn by a seed that keep more than tensors: modules in modules, numbers, texts, arrays, tuples, queues, what is there in some calls only. Each program takes a
few such features; what it does with them is drawn as drawn_programs.py draws the rest."""

import random

from drawn_programs import Author, Block, Program, module_class


class ObjectAuthor(Author):
    def __init__(self, draw, script):
        super().__init__(draw, script)
        self.before = Block()  # what stands before the class
        self.init, self.annotations, self.methods = Block(), [], []
        self.makers, self.values, self.row_values, self.tests, self.numbers, self.results = [], [], [], [], [], []

    # ---- the program

    def program(self):
        self.init += [*self._buffers(), *self._attributes()]
        self.full += self.inputs
        features = list(FEATURES) + ([] if self.script else list(PYTHON_FEATURES))
        for feature in self.draw.sample(features, self.draw.randint(2, 4)):
            feature(self)
        forward = self.block(3, 9)
        forward.append(self.result())
        drawn = module_class("Drawn", self.init, [*self.methods, (self.header(), forward)], self.annotations)
        return Program(Block([*self.before, drawn]), self.inputs)

    def _attributes(self):
        """Of scripts mostly buffers: into others no script may write."""
        for line in super()._attributes():
            name, _, value = line.removeprefix("self.").partition(" = ")
            yield f'self.register_buffer("{name}", {value})' if self.script and name[:1] in "tr" and self.chance(0.7) else line

    def first_value(self):
        return self.draw.choice(["torch.zeros(3, 4)", "torch.ones(3, 4)", "self.b0.clone()"])

    def alias(self):
        """Mostly none: what shares memory fails the export, and hides the rest."""
        return super().alias() if self.chance(0.25) else self.draw.choice(["{}.clone()", "torch.tanh({})", "({} * 0.5)", "({} + x)"]).format(self.held())

    def statement(self):
        return self.draw.choice(self.makers)() if self.makers and self.chance(0.5) else super().statement()

    def value(self, deep=2):
        return self.draw.choice(self.values)() if self.values and deep > 0 and self.chance(0.3) else super().value(deep)

    def row(self, deep=1):
        return self.draw.choice(self.row_values)() if self.row_values and deep > 0 and self.chance(0.3) else super().row(deep)

    def condition(self):
        return self.draw.choice(self.tests)() if self.tests and self.chance(0.4) else super().condition()

    def number(self):
        return self.draw.choice(self.numbers)() if self.numbers and self.chance(0.15) else super().number()

    def buffer(self):
        return self.draw.choice(self.buffers)

    def constant(self):
        """A number that is one in the source."""
        return super().number()

    def result(self):
        text = super().result()
        if self.script or not self.results or self.chance(0.6):
            return text
        return f"return {{'y': {text.removeprefix('return ')}, 'more': {self.draw.choice(self.results)}}}"

    def some(self, *texts):
        """Adds a maker of statements: one of these, or of what these functions give."""
        def make():
            chosen = self.draw.choice(texts)
            chosen = chosen() if callable(chosen) else chosen
            return [chosen] if isinstance(chosen, (str, tuple)) else chosen

        self.makers.append(make)

    def whole(self):
        """A small whole number above 1."""
        return self.draw.randint(2, 5)

    # ---- features of both languages

    def floats(self):
        self.init += ["self.s0: float = 0.5", "self.s1: float = 1.0"]
        name = lambda: self.draw.choice(["self.s0", "self.s1"])  # noqa: E731
        self.numbers += [name, name]
        self.tests += [lambda: f"{name()} > {self.draw.choice([0.1, 0.7, 3.0])}"]
        self.results += ["self.s0"]
        self.some(lambda: f"{name()} *= {self.draw.choice([0.9, -1.0, 0.5])}", lambda: f"{name()} = {name()} * 0.5 + 0.1", "self.s0, self.s1 = self.s1, self.s0",
                  lambda: f"{name()} = float(self.n) * 0.1", lambda: f"{name()} = min({name()} + 0.25, 2.0)", lambda: f"{name()} = {self.constant()}")

    def float_list(self):
        self.init += ["self.nums: List[float] = [0.5, 1.0, -0.25]"]
        self.numbers += [lambda: f"self.nums[{self.draw.choice([0, -1, 1])}]", lambda: "sum(self.nums)"]
        self.tests += [lambda: "self.nums[0] > 0.3"]
        self.some(["self.nums.append(self.nums.pop(0))"], lambda: [f"self.nums.append({self.constant()})", "self.nums.pop(0)"], "self.nums.reverse()",
                  lambda: f"self.nums[{self.draw.choice([0, -1])}] = {self.constant()}", "self.nums = [a * 0.5 for a in self.nums]",
                  ["self.nums.append(float(self.n))", "self.nums = self.nums[1:]"])

    def step(self):
        self.init += ['self.register_buffer("step", torch.tensor(0))']
        k = self.whole()
        self.values += [lambda: f"torch.where(self.step > {self.whole()}, {self.held()}, {self.alias()})", lambda: f"({self.held()} * self.step)"]
        self.row_values += [lambda: f"{self.held()}[self.step % 3]", lambda: f"{self.held()}.index_select(0, (self.step % 3).reshape(1))[0]"]
        self.tests += [lambda: f"bool(self.step % {k} == 0)", lambda: f"int(self.step) > {self.whole()}"]
        self.some("self.step += 1", "self.step.add_(1)", "self.step = self.step + 1", f"self.step = (self.step + 1) % {k}", f"self.step.remainder_({k})",
                  lambda: f"{self.buffer()}[self.step % 3] = {self.row()}", lambda: f"{self.buffer()}[self.step % 3].add_({self.row()})")

    def inner(self):
        self._inner_class()
        names = ["self.inner"]
        self.init += ["self.inner = Inner()"]
        if not self.script and self.chance(0.3):
            self.init += ["self.other = self.inner"]
            names.append("self.other")
        elif self.chance(0.4):
            self.init += ["self.other = Inner()"]
            names.append("self.other")
        if self.chance(0.25):
            self.init += ["self.inner.c0 = self.b0"]
        self.full += [f"{name}.c0" for name in names]
        self.values += [lambda: f"{self.draw.choice(names)}({self.held()})"] * 2
        self.some(lambda: f"self.b0.add_({self.draw.choice(names)}({self.value(1)}))", lambda: f"{self.draw.choice(names)}.c0 = {self.alias()}",
                  lambda: f"{self.draw.choice(names)}.last = {self.alias()}", lambda: f"{self.target()} = {self.draw.choice(names)}.last")
        if len(names) == 2 and not self.script:
            self.some("self.inner, self.other = self.other, self.inner")

    def cells(self):
        self._inner_class()
        self.init += ["self.cells = nn.ModuleList([Inner(), Inner()])"]
        self.some(lambda: [f"h = {self.value(1)}", ("for cell in self.cells:", Block(["h = cell(h)"])), f"{self.buffer()}.copy_(h)"],
                  lambda: [("for cell in self.cells:", Block([self.draw.choice([f"cell.last = {self.held()}", f"self.b0.add_(cell({self.held()}))", "cell.c0.mul_(0.5)"])]))])

    def _inner_class(self):
        if any(item[0].startswith("class Inner(") for item in self.before if isinstance(item, tuple)):
            return
        author = Author(self.draw, self.script)
        author.inputs, author.full, author.buffers, author.attributes = {"x": "full"}, ["self.c0", "self.last", "x"], ["self.c0"], ["self.last"]
        forward = author.block(1, 3)
        forward.append(f"return {author.value()}")
        init = Block(['self.register_buffer("c0", torch.full((3, 4), 0.3))', "self.last = torch.zeros(3, 4)", "self.n = 0", "self.flag = False"])
        self.before.append(module_class("Inner", init, [(author.header(), forward)]))
        self.before += ["", ""]

    def late(self):
        self.annotations += ["late: Optional[Tensor]"]
        self.init += ["self.late = None"]
        self.some(lambda: ["late = self.late", ("if late is None:", Block([f"self.late = {self.alias()}"])), ("else:", Block([f"self.late = late * {self.constant()}"]))],
                  lambda: ["late = self.late", ("if late is not None:", Block([f"{self.buffer()}.add_(late)"]))],
                  lambda: ["late = self.late", ("if late is not None:", Block([f"late.mul_({self.constant()})"])), ("else:", Block([f"self.late = {self.value()}"]))],
                  lambda: [(f"if {self.condition()}:", Block(["self.late = None"]))], lambda: f"self.late = {self.alias()}")

    def window(self):
        self.init += ["self.cache = torch.zeros(0, 4)"]
        self.row_values += [lambda: "self.cache.sum(0)", lambda: "(self.cache.sum(0) * 0.5)"]
        self.tests += [lambda: f"self.cache.size(0) > {self.whole()}"]
        k = self.whole() + 1
        self.some(lambda: f"self.cache = torch.cat([self.cache, {self.held()}])[-{k}:]", lambda: f"self.cache = torch.cat([self.cache, {self.row()}.unsqueeze(0)])[-{k}:]",
                  "self.cache = self.cache[:2]", "self.cache = self.cache * 0.5")

    def pair(self):
        self.annotations += ["pair: Tuple[Tensor, Tensor]"]
        self.init += [f"self.pair = ({self.first_value()}, {self.first_value()})"]
        self.full += ["self.pair[0]", "self.pair[1]"]
        self.some(lambda: f"self.pair = (self.pair[1], {self.alias()})", lambda: f"self.pair = ({self.value()}, self.pair[0])",
                  lambda: ["h, c = self.pair", f"h = h * {self.constant()} + {self.held()}", f"self.pair = (h, {self.draw.choice(['c', 'h', 'c + h'])})"],
                  "self.pair = (self.pair[1], self.pair[0])")

    def tree(self):
        self.annotations += ["tree: Dict[str, List[Tensor]]"]
        self.init += [f'self.tree = {{"h": [{self.first_value()}, {self.first_value()}], "c": [{self.first_value()}]}}']
        places = ['self.tree["h"][0]', 'self.tree["h"][-1]', 'self.tree["c"][0]']
        self.full += places
        self.some(lambda: f"{self.draw.choice(places)} = {self.alias()}", lambda: f"{self.draw.choice(places)} = {self.value()}", 'self.tree["h"].reverse()',
                  lambda: f'self.tree["c"] = [{self.alias()}]', lambda: ['self.tree["h"].append(self.tree["c"][0])', 'self.tree["h"].pop(0)'],
                  *([] if self.script else ['self.tree["h"], self.tree["c"] = self.tree["c"], self.tree["h"]']))

    def mode(self):
        self.init += ['self.mode: str = "a"']
        self.tests += [lambda: 'self.mode == "b"'] * 2
        self.some(lambda: f'self.mode = "b" if {self.condition()} else "a"', 'self.mode = "b" if self.mode == "a" else "a"', lambda: f'self.mode = "{self.draw.choice("ab")}"')

    def types(self):
        self.init += ['self.register_buffer("d0", torch.zeros(3, 4, dtype=torch.float64))', "self.k0 = torch.zeros(3, 4, dtype=torch.long)"]
        self.values += [lambda: "self.d0.float()", lambda: "self.d0.to(torch.float32)", lambda: f"({self.held()} + self.k0)", lambda: "(self.k0 % 3).float()"]
        self.some(lambda: f"self.d0 += {self.held()}", lambda: f"self.d0.copy_({self.held()})", lambda: f"self.d0 = {self.held()}.double()", "self.d0.mul_(0.5)",
                  lambda: f"self.k0 += ({self.held()} > {self.constant()}).long()", lambda: f"self.k0 = ({self.held()} > 0).long()", "self.k0 %= 3", "self.k0 = self.k0 + 1",
                  lambda: f"self.b0.copy_({self.draw.choice(['self.d0', 'self.k0'])})")

    def turn(self):
        body = self._below()
        if any(name in text for text in body.lines(0) for name in self.inputs):  # a method has no inputs
            body = Block(["self.b0.mul_(0.5)", "self.n += 1"])
        self.methods.append(("def turn(self):", body))
        self.some("self.turn()", lambda: [(f"if {self.condition()}:", Block(["self.turn()"]))])

    def counted(self):
        k = self.whole()
        self.some(lambda: [(f"for _ in range(self.n % {k}):", Block([f"self.b0.{self.draw.choice(['mul_(0.5)', 'add_(1.0)'])}"]))],
                  lambda: [f"w = {self.value(1)}", (f"for i in range(self.n % {k}):", Block(["w = w * 0.5 + i"])), f"{self.target()} = w"])

    def indices(self):
        self.inputs["k"] = "index"
        self.row_values += [lambda: f"{self.held()}.index_select(0, k)[1]", lambda: f"{self.held()}[k][0]", lambda: f"{self.held()}[k].sum(0)"]
        self.some(lambda: f"{self.buffer()}.index_add_(0, k, {self.held()})", lambda: f"{self.buffer()}[k] = {self.row()}",
                  lambda: f"{self.buffer()}[k[0]] = {self.row()}", lambda: f"{self.buffer()}.index_copy_(0, k, {self.held()})")

    def masks(self):
        self.some(lambda: f"{self.buffer()}[{self.held()} > {self.constant()}] = {self.constant()}",
                  lambda: f"{self.buffer()}[x > 0] *= 0.5", lambda: f"{self.buffer()}.masked_fill_(x.abs() < 0.5, {self.constant()})",
                  lambda: f"{self.buffer()}.copy_(torch.where(x > 0, x, {self.held()}))")

    def layers(self):
        kind = self.draw.choice(["linear", "gru", "batch", "lstm", "parameter"])
        if kind == "linear":
            self.init += ["self.fc = nn.Linear(4, 4)"]
            self.values += [lambda: f"self.fc({self.held()})", lambda: f"torch.tanh(self.fc({self.value(1)}))"]
        elif kind == "gru":
            self.init += ["self.gru = nn.GRUCell(4, 4)", "self.h = torch.zeros(3, 4)"]
            self.full.append("self.h")
            self.some(lambda: f"self.h = self.gru({self.value(1)}, self.h)", lambda: f"self.h.copy_(self.gru({self.value(1)}, {self.held()}))")
        elif kind == "batch":
            self.init += ["self.bn = nn.BatchNorm1d(4)"]
            self.values += [lambda: f"self.bn({self.value(1)})"]
        elif kind == "lstm":
            self.init += ["self.lstm = nn.LSTMCell(4, 4)", "self.hc = (torch.zeros(3, 4), torch.zeros(3, 4))"]
            self.annotations += ["hc: Tuple[Tensor, Tensor]"]
            self.full += ["self.hc[0]", "self.hc[1]"]
            self.some(lambda: f"self.hc = self.lstm({self.value(1)}, self.hc)", lambda: ["h, c = self.hc", f"self.hc = self.lstm({self.value(1)}, (h * 0.5, c))"])
        else:
            self.init += ["self.w = nn.Parameter(torch.eye(4) * 0.5, requires_grad=False)"]
            self.values += [lambda: f"({self.value(1)} @ self.w)", lambda: f"torch.nn.functional.linear({self.held()}, self.w)"]
            self.row_values += [lambda: "self.w[1]"]

    def chains(self):
        self.values += [lambda: f"{self.buffer()}.mul_({self.constant()})", lambda: f"{self.buffer()}.add_({self.held()} * 0.1)"]
        self.some(lambda: f"{self.target()} = {self.place()}.mul_(0.9).add_({self.held()})",
                  lambda: f"self.b0.mul_(0.9).add_({self.held()} * 0.1)")

    # ---- features of Python

    def queue(self):
        self.init += [f"self.q = collections.deque([{', '.join(self.first_value() for _ in range(2))}], maxlen={self.whole()})"]
        self.full += ["self.q[0]", "self.q[-1]"]
        self.values += [lambda: "torch.stack(list(self.q)).mean(0)", lambda: "sum(self.q)"]
        self.tests += [lambda: "len(self.q) > 2"]
        self.some(lambda: f"self.q.append({self.alias()})", lambda: f"self.q.append({self.value()})", "self.q.rotate(1)", lambda: f"self.q.appendleft({self.value()})",
                  "self.q.reverse()", [("if len(self.q) > 1:", Block(["self.q.popleft()"]))])

    def holder(self):
        if self.chance(0.5):
            self.before += ["@dataclasses.dataclass", ("class Cell:", Block(["state: Tensor", "count: int = 0", "scale: float = 1.0"]))]
        else:
            self.before += [("class Cell:", Block(['__slots__ = ("state", "count", "scale")', "", ("def __init__(self, state, count=0, scale=1.0):", Block(
                ["self.state, self.count, self.scale = state, count, scale"]))]))]
        self.before += ["", ""]
        self.init += [f"self.cell = Cell({self.first_value()})"]
        self.full += ["self.cell.state"] * 2
        self.numbers += [lambda: "self.cell.scale"]
        self.tests += [lambda: f"self.cell.count > {self.whole()}", lambda: f"self.cell.count % {self.whole()} == 1"]
        self.results += ["self.cell.count"]
        self.some(lambda: f"self.cell.state = {self.alias()}", lambda: f"self.cell.state = {self.value()}", "self.cell.count += 1", "self.cell.scale *= 0.9",
                  lambda: f"self.cell = Cell({self.alias()}, self.cell.count + 1)", lambda: f"self.cell.state = self.cell.state * {self.constant()} + {self.held()}",
                  lambda: f"self.cell = Cell(self.cell.state, {self.whole()}, self.cell.scale)")

    def globe(self):
        self.before += ['STORE = {"h": torch.zeros(3, 4), "n": 0}', "", ""]
        self.full += ['STORE["h"]'] * 2
        self.tests += [lambda: f'STORE["n"] > {self.whole()}']
        self.some(lambda: f'STORE["h"] = {self.alias()}', lambda: f'STORE["h"].add_({self.held()})', 'STORE["n"] += 1', lambda: f'STORE["h"] = STORE["h"] * 0.5 + {self.held()}')

    def array(self):
        self.init += ["self.a0 = np.zeros((3, 4), np.float32)"]
        self.values += [lambda: "torch.from_numpy(self.a0)", lambda: "torch.tensor(self.a0)", lambda: f"({self.held()} + torch.from_numpy(self.a0))"]
        self.row_values += [lambda: "torch.from_numpy(self.a0[1])"]
        self.some(lambda: f"self.a0 += {self.held()}.numpy()", lambda: f"self.a0 = {self.held()}.numpy()", lambda: f"self.a0[:] = {self.held()}.numpy()", "self.a0 = self.a0 * 0.5",
                  "self.a0 *= np.float32(0.5)", lambda: f"self.a0 = {self.value()}.numpy().copy()", lambda: f"{self.target()} = torch.from_numpy(self.a0)")

    def named(self):
        self.init += ["self.u0 = torch.zeros(3, 4)", "self.u1 = torch.ones(3, 4)"]
        self.full += ["self.u0", "self.u1"]
        k = self.draw.choice(["self.n % 2", "self.n % 3 % 2"])
        self.values += [lambda: f'getattr(self, f"u{{{k}}}")']
        self.some(lambda: f'setattr(self, f"u{{{k}}}", {self.alias()})', lambda: f'setattr(self, f"u{{{k}}}", {self.value()})', lambda: f'getattr(self, f"u{{{k}}}").mul_(0.5)',
                  "self.u0, self.u1 = self.u1, self.u0")

    def hook(self):
        kind = self.draw.choice(["pre", "post", "inner"])
        if kind == "pre":
            self.init += ['self.register_forward_pre_hook(lambda m, given: m.b0.mul_(0.9) and None)' if self.chance(0.2) else
                          'self.register_forward_pre_hook(lambda m, given: setattr(m, "n", m.n + 1))']
        elif kind == "post":
            self.init += ["self.h = torch.zeros(3, 4)", 'self.register_forward_hook(lambda m, given, out: setattr(m, "h", given[0]))']
            self.full.append("self.h")
        else:
            self.inner()
            self.init += ["self.inner.register_forward_hook(lambda m, given, out: out * m.n)" if self.chance(0.5) else
                          'self.inner.register_forward_hook(lambda m, given, out: setattr(m, "last", out))']

    def rewritten(self):
        self.init += ["self.items = [torch.zeros(3, 4), torch.ones(3, 4)]"]
        self.full += ["self.items[0]", "self.items[1]"]
        self.some(lambda: f"self.items = [item * {self.constant()} for item in self.items]", lambda: f"self.items = [item + {self.held()} for item in self.items]",
                  "self.items = self.items[::-1]", "self.items = list(reversed(self.items))", lambda: f"self.items = [self.items[1], {self.alias()}]",
                  lambda: [("for i, item in enumerate(self.items):", Block([self.draw.choice([f"self.items[i] = item + {self.held()}", "item.mul_(0.5)", "self.items[i] = self.items[i - 1]"])]))])

    def gone(self):
        self.values += [lambda: 'getattr(self, "extra", x)']
        self.some(lambda: [('if not hasattr(self, "extra"):', Block([f"self.extra = {self.alias()}"]))], lambda: [('if hasattr(self, "extra"):', Block(["self.extra.mul_(0.5)"]))],
                  lambda: [(f"if hasattr(self, 'extra') and {self.condition()}:", Block(["del self.extra"]))], lambda: f"self.extra = {self.value()}")

    def memo(self):
        self.init += ["self.memo = {}"]
        k = self.draw.choice([f"self.n % {self.whole()}", "self.flag", "self.n > 2"])
        self.values += [lambda: f"self.memo.get({k}, x)"]
        self.some(lambda: [(f"if {k} not in self.memo:", Block([f"self.memo[{k}] = {self.alias()}"]))], lambda: f"self.memo[{k}] = {self.value()}",
                  lambda: [("if len(self.memo) > 1:", Block(["self.memo.clear()"]))], lambda: f"self.memo.setdefault({k}, {self.alias()}).add_(1.0)")

    def items(self):
        self.init += ["self.p0 = 0.5"]
        self.numbers += [lambda: "self.p0"]
        self.results += ["self.p0", "x.sum().item()"]
        self.tests += [lambda: "self.p0 > 0.25", lambda: "x.mean().item() > 0.1"]
        self.some(lambda: f"self.p0 = {self.held()}.mean().item()", lambda: "self.p0 = self.p0 * 0.9 + x.abs().mean().item() * 0.1", lambda: f"self.p0 = max(self.p0, {self.held()}.max().item())",
                  lambda: f"self.b0.fill_({self.held()}.mean().item())", "self.p0 = float(self.n)", "self.p0 = round(self.p0, 1)")

    def caught(self):
        self.some(lambda: [("try:", Block([f"{self.buffer()}.add_({self.held()}[self.n % 4])"])), ("except IndexError:", Block(self.statement()))],
                  lambda: [("with torch.no_grad():", Block([f"{self.buffer()}.mul_({self.constant()})"]))],
                  lambda: [("try:", Block(self.statement())), ("finally:", Block(["self.n += 1"]))])


FEATURES = [
    ObjectAuthor.floats, ObjectAuthor.float_list, ObjectAuthor.step, ObjectAuthor.inner, ObjectAuthor.cells, ObjectAuthor.late, ObjectAuthor.window,
    ObjectAuthor.pair, ObjectAuthor.tree, ObjectAuthor.mode, ObjectAuthor.types, ObjectAuthor.turn, ObjectAuthor.counted, ObjectAuthor.indices,
    ObjectAuthor.masks, ObjectAuthor.layers, ObjectAuthor.chains,
]
PYTHON_FEATURES = [
    ObjectAuthor.queue, ObjectAuthor.holder, ObjectAuthor.globe, ObjectAuthor.array, ObjectAuthor.named, ObjectAuthor.hook, ObjectAuthor.rewritten,
    ObjectAuthor.gone, ObjectAuthor.memo, ObjectAuthor.items, ObjectAuthor.caught,
]


def drawn_objects(seed, script=False):
    """The Program of a seed; `script`: one that TorchScript compiles."""
    return ObjectAuthor(random.Random(seed), script).program()
