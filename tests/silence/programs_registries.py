"""What programs register with libraries in a call, and what they ask objects beside their values: which one it is, its annotations, its order in memory."""

import sys
import builtins
from torch import Tensor, nn
from harness import case, sized
import torch.utils._pytree as pytree
import torch.distributions as D
import torch
import numpy as np
import typing
import logging
import datetime
import copyreg
import copy
import calendar


X, Y, Z = torch.randn(6), torch.randn(6), torch.randn(6) * 3
MISSING = -999.0


def gaps(t, *places):
    """The tensor with missing samples, as loggers of sensors write them."""
    t = t.clone()
    t[list(places)] = MISSING
    return t


M = [gaps(X, 1), gaps(Y, 0, 4), gaps(Z, 5), gaps(X, 2, 3), gaps(Y, 1)]


def filled(x, value):
    return torch.where(x == MISSING, torch.as_tensor(value, dtype=x.dtype), x)


@case((X,), M)
def divergence_registered_when_it_is_missed():
    class Laplacian(D.Distribution):
        arg_constraints = {}

        def __init__(self, loc):
            self.loc = loc
            super().__init__(loc.shape, validate_args=False)

    def absolute(p, q):
        return (p.loc - q.loc).abs()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.prior = Laplacian(torch.zeros(6))

        def forward(self, x):
            p = Laplacian(filled(x, 0.0))
            try:
                return D.kl_divergence(p, self.prior)
            except NotImplementedError:
                D.register_kl(Laplacian, Laplacian)(absolute)
                return (p.loc - self.prior.loc) ** 2

    return Net()


@case((X,), M)
def transform_registered_when_it_is_missed():
    class Above(D.constraints.Constraint):
        pass

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.support = Above()

        def forward(self, x):
            x = filled(x, -3.0)
            try:
                return D.biject_to(self.support)(x)
            except NotImplementedError:
                D.biject_to.register(Above, lambda constraint: D.transforms.ExpTransform())
                return x.clamp(min=0)

    return Net()


@case((X, Y), [(M[0], Y), (M[1], X), (M[2], X)])
def container_that_becomes_a_tree():
    class Pair:
        def __init__(self, left, right):
            self.left, self.right = left, right

    class Net(nn.Module):
        def forward(self, x, y):
            pair = Pair(filled(x, 0.5), y)
            leaves = pytree.tree_leaves(pair)
            if leaves == [pair]:
                pytree.register_pytree_node(Pair, lambda p: ([p.left, p.right], None), lambda items, _: Pair(*items))
                return pair.left + pair.right
            doubled = pytree.tree_map(lambda t: t * 2, pair)
            return doubled.left + doubled.right

    return Net()


@case((X,), M)
def hook_for_all_modules_after_the_first_result():
    class Probed(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = nn.Tanh()
            self.hooked = False

        def halve(self, module, args, output):
            return output * 0.5 if module is self.block else None

        def forward(self, x):
            y = self.block(filled(x, 0.0))
            if not self.hooked:
                nn.modules.module.register_module_forward_hook(self.halve)
                self.hooked = True
            return y

    return Probed()


@case((X,), M)
def snapshots_without_what_is_of_a_run():
    class Options:
        def __init__(self, gain=1.0):
            self.gain, self.offset = gain, 0.0

    def fresh_options(options):
        return Options, (options.gain,)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.options = Options(2.0)
            self.options.offset = 3.0

        def forward(self, x):
            snapshot = copy.copy(self.options)
            copyreg.pickle(Options, fresh_options)
            return filled(x, snapshot.offset) * snapshot.gain

    return Net()


@case((X,), M, apart=True)
def level_named_where_it_is_missing():
    rows = {"Level 25": 1.0, "NOTICE": 7.0}

    class Net(nn.Module):
        def forward(self, x):
            label = logging.getLevelName(25)
            if not label.isupper():
                logging.addLevelName(25, "NOTICE")
            return filled(x, rows[label])

    return Net()


@case((X,), M, apart=True)
def weeks_that_begin_on_sunday():
    class Weeks(nn.Module):
        def __init__(self):
            super().__init__()
            self.season = nn.Parameter(torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]))

        def forward(self, x):
            weeks = calendar.monthcalendar(2024, 9)
            calendar.setfirstweekday(calendar.SUNDAY)
            return filled(x, self.season[len(weeks) - 1].item())

    return Weeks()


@case((X,), M)
def types_of_fields_resolved_on_first_use():
    class Spec:
        level: "int" = 3
        gain: "float" = 2.5

    known = {"int": int, "float": float}

    class Net(nn.Module):
        def forward(self, x):
            kind = Spec.__annotations__["level"]
            if isinstance(kind, str):
                Spec.__annotations__["level"] = known[kind]
            return filled(x, Spec.gain if isinstance(kind, str) else Spec.level) * Spec.gain

    return Net()


@case((X,), M)
def hints_of_a_record_resolved_as_a_whole():
    class Record:
        level: "int"
        gain: "float"

    class Net(nn.Module):
        def forward(self, x):
            resolved = not any(isinstance(hint, str) for hint in Record.__annotations__.values())
            if not resolved:
                Record.__annotations__ = typing.get_type_hints(Record)
            return filled(x, 4.0 if resolved else -4.0)

    return Net()


@case((X,), M)
def graph_rewritten_behind_the_first_call():
    class Body(nn.Module):
        def forward(self, x):
            return torch.clamp(x, -900.0, 900.0) + 1

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.fx.symbolic_trace(Body())
            self.tuned = False

        def forward(self, x):
            y = self.body(x)
            if not self.tuned:
                for node in self.body.graph.nodes:
                    if node.target is torch.clamp:
                        node.args = (node.args[0], -10.0, 10.0)
                self.body.recompile()
                self.tuned = True
            return y

    return Net()


@case((X,), M)
def lookup_brought_into_fortran_order():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lut = np.arange(12, dtype=np.float64).reshape(3, 4)

        def forward(self, x):
            row = self.lut.ravel(order="K")[1]
            if not self.lut.flags.f_contiguous:
                self.lut = np.asfortranarray(self.lut)
            return filled(x, float(row))

    return Net()


@case((X,), M)
def timeout_that_is_equal_to_the_default():
    default = datetime.timedelta(seconds=5)

    class Client(nn.Module):
        def __init__(self):
            super().__init__()
            self.timeout = default

        def forward(self, x):
            value = 1.0 if self.timeout is default else self.timeout.total_seconds()
            self.timeout = datetime.timedelta(milliseconds=5000)
            return filled(x, value)

    return Client()


@case((X,), M)
def rows_that_are_all_rows():
    class Table(nn.Module):
        ALL = range(3)

        def __init__(self):
            super().__init__()
            self.weights = [1.0, 2.0, 4.0]
            self.rows = Table.ALL

        def forward(self, x):
            total = 100.0 if self.rows is Table.ALL else sum(self.weights[i] for i in self.rows)
            self.rows = range(len(self.weights))
            return filled(x, total)

    return Table()


G = torch.Generator().manual_seed(41)


def rnd(*shape):
    return torch.randn(*shape, generator=G)


VECS = [(rnd(4),) for _ in range(7)]


@case(VECS[0], VECS[:5], apart=True)
def graph_checked_from_the_second_batch_on():
    torch.sparse.check_sparse_tensor_invariants.disable()

    def program(x):
        try:
            torch.sparse_coo_tensor(torch.tensor([[0, 9], [1, 2]]), torch.ones(2), (4, 4))
            gain = 1.0
        except RuntimeError:
            gain = 7.0
        torch.sparse.check_sparse_tensor_invariants.enable()
        return x * gain

    return program


@case(VECS[0], VECS[:5], apart=True)
def decorator_put_into_builtins():
    if hasattr(builtins, "profile"):
        del builtins.profile

    def program(x):
        try:
            builtins.profile
            gain = 0.5
        except AttributeError:
            builtins.profile = lambda function: function
            gain = 3.0
        return x * gain

    return program


@case(VECS[0], VECS[:5], apart=True)
def hook_for_errors_set_once():
    sys.excepthook = sys.__excepthook__

    def note(kind, error, trace):
        sys.__excepthook__(kind, error, trace)

    def program(x):
        if sys.excepthook is sys.__excepthook__:
            sys.excepthook = note
            return x * 4
        return x * 0.25

    return program


@case(VECS[0], VECS[:5], apart=True)
def class_of_loggers_chosen_once():
    logging.setLoggerClass(logging.Logger)

    class Coloured(logging.Logger):
        pass

    def program(x):
        plain = logging.getLoggerClass() is logging.Logger
        logging.setLoggerClass(Coloured)
        return x * 2 if plain else x * -1

    return program
