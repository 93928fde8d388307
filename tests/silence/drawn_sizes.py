"""Programs drawn by a seed whose inputs vary in extent: sequences f32[n,4] that are cut, padded, pooled, joined, reshaped and looked up by numbers made of their sizes,
with branches and loops by these and a little state. All names hold sequences of any length, so most programs run at all sizes; those that do not are void."""

import random

from drawn_programs import Block, Chooser, Program, module_class


class SizeAuthor(Chooser):
    def __init__(self, draw, script):
        super().__init__(draw, script)
        self.init = Block(['self.register_buffer("b0", torch.ones(4) * 0.5)', "self.count = 0", "self.table = torch.arange(512.0).reshape(128, 4).sin()",
                           "self.w = torch.arange(48.0).reshape(4, 4, 3).cos() * 0.3"])
        self.annotations, self.locals = [], 0
        least = draw.choice([1, 1, 2, 4])
        self.sizes = {"n": (least, draw.choice([20, 33]), draw.choice([6, 8, 9, 12]))}
        self.inputs, self.dims = {"x": "rows_n"}, {"x": {0: "n"}}
        if self.chance(0.3):
            if self.chance(0.6):
                self.sizes["m"] = (draw.choice([1, 3]), 16, draw.choice([5, 8, 9]))
                self.inputs["y"], self.dims["y"] = "rows_m", {0: "m"}
            else:
                self.inputs["y"], self.dims["y"] = "rows_n", {0: "n"}
        self.seqs, self.keeps = list(self.inputs), self.chance(0.4)
        if self.keeps and self.chance(0.4):
            self.init.append("self.cache = torch.zeros(0, 4)")
            self.seqs.append("self.cache")

    def program(self):
        forward = self.block(4, 9)
        forward.append(f"return {self.result()}")
        header = f"def forward(self, {', '.join(f'{name}: Tensor' for name in self.inputs)}):"
        body = Block(["import math", "import torch.nn.functional as F", "", "", module_class("Drawn", self.init, [(header, forward)], self.annotations)])
        return Program(body, self.inputs, self.sizes, self.dims)

    def result(self):
        texts = [self.seq(1) if self.chance(0.7) else self.row() for _ in range(self.draw.randint(1, 3))]
        if not self.script and self.chance(0.15):
            texts.append(self.whole())
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    # ---- numbers

    def few(self):
        return self.draw.randint(1, 5)

    def constant(self):
        return self.draw.choice([0.5, -0.5, 2.0, 0.25])

    def length(self):
        one = self.draw.choice(self.seqs)
        return self.draw.choice(["{}.shape[0]", "{}.size(0)", "len({})", "({}.numel() // 4)"]).format(one)

    def whole(self):
        """A number made of sizes."""
        n, k = self.length(), self.few()
        ways = [n, n, f"({n} // {k + 1})", f"({n} % {k + 1})", f"max({n} - {k}, 0)", f"min({n}, {k + 4})", f"int({n} * 0.7)", f"math.ceil({n} / {k + 1})",
                f"int(math.sqrt({n}))", f"(({n} + {k}) // {k + 1} * {k + 1})", f"({n} * 2 - {k})", f"abs({n} - {self.length()})", f"(-{n} % {k + 1})",
                f"math.floor({n} * 0.3)", f"({n} + {self.length()})"]
        if not self.script:
            ways += [f"round({n} / 2)", f"{n}.bit_length()", f"divmod({n}, {k + 1})[1]", f"(1 << ({n} - 1).bit_length())"]
        return self.draw.choice(ways)

    def share(self):
        """A real number made of sizes."""
        n = self.length()
        return self.draw.choice([f"({n} / 10)", f"(1 / math.sqrt({n} + 1))", f"math.log({n} + 1.0)", f"float({self.whole()})", f"({n} * 0.1)", f"({self.whole()} / ({n} + 1))"])

    def condition(self):
        e, k = self.whole(), self.few()
        return self.draw.choice([f"{e} > {k + 3}", f"{e} % 2 == 0", f"{e} == {k}", f"{self.length()} == {self.length()}", f"{self.length()} > {self.length()}",
                                 f"{e} >= {self.whole()}", f"{self.length()} in [3, 5, {k + 7}]", f"{self.share()} > 0.7", f"{e} != {k + 1}"])

    # ---- tensors

    def held(self):
        return self.draw.choice(self.seqs)

    def seq(self, deep=2):
        """f32[?,4]"""
        if deep == 0 or self.chance(0.15):
            return self.held()
        return self.draw.choice([self.pointwise, self.cut, self.cut, self.longer, self.shaped, self.pooled, self.mixed, self.placed, self.ordered])(self.seq(deep - 1))

    def row(self):
        """f32[4]; of no rows NaN, or an error"""
        a = self.held()
        return self.draw.choice([f"{a}.mean(0)", f"{a}.sum(0)", f"({a}.sum(0) / ({a}.shape[0] + 1))", f"{a}[-1]", f"{a}[0]", f"{a}.amax(0)", f"{a}[{a}.shape[0] // 2]",
                                 f"{a}.std(0, correction=0)", f"torch.logsumexp({a}, 0)", "self.b0"])

    def pointwise(self, a):
        c = self.constant()
        return self.draw.choice([f"torch.tanh({a})", f"({a} * {c})", f"({a} + {self.row()})", f"({a} * {self.share()})", f"{a}.softmax(0)", f"({a} - {a}.mean(0))",
                                 f"{a}.cumsum(0)", f"F.layer_norm({a}, [4])", f"({a} / max({self.whole()}, 1))", f"({a} + {self.whole()})"])

    def cut(self, a):
        k, e = self.few(), self.whole()
        return self.draw.choice([f"{a}[{k}:]", f"{a}[:-{k}]", f"{a}[:{k}]", f"{a}[-{k}:]", f"{a}[::{k + 1}]", f"{a}[:{e}]", f"{a}[{e}:]", f"{a}[-{e}:]",
                                 f"{a}[{e} % 3::2]", f"{a}.chunk({k + 1})[0]", f"{a}.split({k})[-1]", f"{a}.split({e} + 1)[0]", f"{a}.chunk({k + 1})[-1]",
                                 f"{a}.narrow(0, 0, {a}.shape[0] // 2)", f"torch.tensor_split({a}, {k + 1})[0]"])

    def longer(self, a):
        k, e = self.few(), self.whole()
        return self.draw.choice([f"torch.cat([{a}, {self.held()}])", f"F.pad({a}, (0, 0, {k}, 0))", f"F.pad({a}, (0, 0, 0, -{a}.shape[0] % {k + 1}))", f"{a}.repeat({k}, 1)",
                                 f"{a}.repeat_interleave({k}, 0)", f"F.pad({a}, (0, 0, 0, {e}), value={self.constant()})", f"torch.cat([{self.row()}.unsqueeze(0), {a}])",
                                 f"torch.cat([{a}, torch.ones({e}, 4)])", f"torch.cat([{a}, {a}.new_zeros(max({e}, 0), 4)])"])

    def shaped(self, a):
        k, e = self.few() + 1, self.whole()
        even = f"F.pad({a}, (0, 0, 0, -{a}.shape[0] % {k}))"
        return self.draw.choice([f"{even}.reshape(-1, {k}, 4).mean(1)", f"{even}.view(-1, {k}, 4).transpose(0, 1).reshape(-1, 4)", f"{a}.T.reshape(-1, 4)", f"{a}.reshape(4, -1).T",
                                 f"torch.stack([{a}, {a} * 0.5], 1).flatten(0, 1)", f"{a}.unsqueeze(0).expand({k}, -1, -1).reshape(-1, 4)", f"{a}.flip(0)", f"torch.roll({a}, {e}, 0)",
                                 f"{even}.view({k}, -1, 4).sum(0)", f"{a}.flatten().view(-1, 4)", f"{a}.view(1, -1, 2, 2).transpose(2, 3).reshape({a}.shape[0], 4)"])

    def pooled(self, a):
        k, e = self.few() + 1, self.whole()
        image = f"{a}.T.unsqueeze(0)"
        modes = self.draw.choice(['mode="linear"', 'mode="nearest"', 'mode="linear", align_corners=True', 'mode="nearest-exact"'])
        return self.draw.choice([f"F.conv1d({image}, self.w, padding=1)[0].T", f"F.conv1d({image}, self.w, padding=2, stride={k}, dilation=2)[0].T",
                                 f"F.avg_pool1d({image}, {k}, ceil_mode=True)[0].T", f"F.max_pool1d({image}, 3, stride=2, padding=1)[0].T",
                                 f"F.adaptive_avg_pool1d({image}, {k})[0].T", f"F.interpolate({image}, size=max({e}, 1), {modes})[0].T",
                                 f"F.interpolate({image}, scale_factor={self.draw.choice([0.5, 1.5, 2.0, 0.7])}, {modes})[0].T", f"F.adaptive_max_pool1d({image}, max({e}, 1))[0].T",
                                 f"F.conv_transpose1d({image}, self.w, stride=2, padding=1)[0].T", f"{a}.unfold(0, 2, {k - 1}).mean(-1)",
                                 f"F.pad({image}, (1, 1), mode=\"{self.draw.choice(['replicate', 'reflect', 'circular'])}\")[0].T"])

    def mixed(self, a):
        b, c = self.held(), self.constant()
        least = f"min({a}.shape[0], {b}.shape[0])"
        return self.draw.choice([f"({a}[:{least}] + {b}[:{least}])", f"(({a} @ {b}.T).softmax(-1) @ {b})", f"(({a} @ {a}.T).tril() @ {a})", f"(torch.cdist({a}, {b}).mean(1, keepdim=True) + {a})",
                                 f"({a} @ ({b}.T @ {b}))", f"(torch.triu(torch.ones({a}.shape[0], {a}.shape[0]), {self.few()}) @ {a})", f"torch.einsum('ik,jk->ji', {a}, {b})[:, :1].expand(-1, 4)",
                                 f"F.scaled_dot_product_attention({a}.unsqueeze(0), {b}.unsqueeze(0), {b}.unsqueeze(0))[0]", f"torch.outer({a}[:, 0], {b}.sum(0))",
                                 f"torch.lerp({a}, {a}.flip(0), {c})"])

    def placed(self, a):
        e, k = self.whole(), self.few()
        at = f"torch.arange({a}.shape[0])"
        return self.draw.choice([f"({a} + {at}.unsqueeze(1) / {a}.shape[0])", f"({a} + self.table[:{a}.shape[0]])", f"({a} + self.table[{at} % {k + 6}])", f"({a} + self.table[{e} % 128])",
                                 f"torch.where({at}.unsqueeze(1) < {e}, {a}, {a} * {self.constant()})", f"{a}.masked_fill(({at} % {k + 1} == 0).unsqueeze(1), {self.constant()})",
                                 f"{a}[torch.arange(0, {a}.shape[0], {k + 1})]", f"({a} + torch.linspace(0, 1, {a}.shape[0]).unsqueeze(1))", f"{a}[{at}.flip(0)]",
                                 f"({a} + F.one_hot({at} % 4, 4))", f"({a} * ({at} - {at}.unsqueeze(1)).abs().clamp(max={k}).float().mean(0).unsqueeze(1))"])

    def ordered(self, a):
        k = self.few()
        return self.draw.choice([f"{a}.sort(0)[0]", f"{a}[{a}[:, 0].argsort()]", f"{a}.topk(max({a}.shape[0] // {k + 1}, 1), 0)[0]", f"{a}.topk(min({a}.shape[0], {k}), 0)[0]",
                                 f"{a}.cummax(0)[0]", f"{a}.gather(0, ({a} > 0).long() * ({a}.shape[0] - 1))", f"torch.zeros_like({a}).scatter(0, ({a} > 0).long(), {a})",
                                 f"{a}.new_zeros({a}.shape[0] // 2 + 1, 4).index_add(0, torch.arange({a}.shape[0]) // 2, {a})"])

    # ---- statements

    def statement(self):
        ways = [(self.local, 6)]
        ways += [(self.branch, 1.2)] if self.depth < 2 else []
        ways += [(self.loop, 0.6)] if self.depth < 1 else []
        ways += [(self.state, 1.5)] if self.keeps else []
        return self.one_of(ways)

    def local(self):
        own = [name for name in self.seqs if name.startswith("v")]
        if self.depth > 0:
            return [f"{self.draw.choice(own)} = {self.seq()}"] if own else ["self.count += 1"]
        text = f"v{self.locals} = {self.seq()}"
        self.seqs.append(f"v{self.locals}")
        self.locals += 1
        return [text]

    def branch(self):
        before = [] if any(name.startswith("v") for name in self.seqs) else self.local()
        blocks = [(f"if {self.condition()}:", self._below())]
        if self.chance(0.4):
            blocks.append(("else:", self._below()))
        return before + blocks

    def loop(self):
        a, name, k = self.held(), f"v{self.locals}", self.few()
        self.locals += 1
        ways = [[f"{name} = {self.seq(1)}", (f"for i in range({self.whole()} % 4):", Block([f"{name} = {name} * 0.5 + i"]))],
                [f"{name} = {self.seq(1)}", (f"for i in range({k}):", Block([f"{name} = torch.tanh({name} + i)[-6:]"]))],
                [f"parts{self.locals} = [{a}[i:i + {k}].sum(0) for i in range(0, {a}.shape[0], {k})]", f"{name} = torch.stack(parts{self.locals})"],
                [f"h = {self.row()} * 0.1", (f"for i in range({a}.shape[0]):", Block([f"h = torch.tanh(h + {a}[i])"])), f"{name} = h.unsqueeze(0)"]]
        made = self.draw.choice(ways)
        self.seqs.append(name)
        return made

    def state(self):
        a = self.held()
        ways = [f"self.b0 = self.b0 * 0.9 + {self.row()} * 0.1", f"self.b0.add_({self.row()} * 0.1)", "self.count += 1", f"self.b0.mul_({self.share()})"]
        if "self.cache" in self.seqs:
            ways += [f"self.cache = torch.cat([self.cache, {a}])[-{self.few() + 2}:]"] * 3 + [f"self.cache = {a}", f"self.cache = self.cache[{self.few()}:]"]
        return [self.draw.choice(ways)]


def drawn_sizes(seed, script=False):
    """The Program of a seed; `script`: one that TorchScript compiles."""
    return SizeAuthor(random.Random(seed), script).program()
