"""Copies and views: what eager copies because of strides that lazy tensors do not have, and what is selected by computed numbers.
Writes have an effect on rare values only: on the example both ways give the same."""

import numpy as np
import torch
from harness import case
from torch import nn

X = torch.ones(2, 3)
BIG = torch.tensor([[1.0, 2000.0, 3.0], [4.0, 5.0, 6.0]])
CALLS = [(X,), (BIG,), (-BIG,), (BIG * torch.nan,)]
I, J = torch.tensor(0), torch.tensor(1)
CALLS_AT = [(X, I, J), (BIG, I, J), (BIG, J, I), (-BIG, I, J)]


@case(CALLS[0], CALLS, expect=("right",))
def transposed_copy_is_clamped():
    def program(x):
        t = x * 1
        y = t.t().contiguous()
        y.clamp_(max=1000.0)
        return t, y

    return program


@case(CALLS[0], CALLS, expect=("right",))
def source_of_a_copy_is_clamped():
    def program(x):
        t = x * 1
        y = t[:, :2].reshape(-1)
        t.clamp_(max=1000.0)
        return y, t

    return program


@case(CALLS[0], CALLS, expect=("right",))
def tiled_rows_are_masked():
    def program(x):
        t = x * 1
        y = t.unsqueeze(1).expand(-1, 2, -1).flatten(0, 1)
        y.masked_fill_(y > 1000, 0)
        return t, y

    return program


@case(CALLS[0], CALLS, expect=("right",))
def missing_values_are_imputed():
    def program(x):
        t = x * 1
        columns = t.view(1, 2, 3).transpose(1, 2).contiguous()
        columns.masked_fill_(columns.isnan(), 0)
        return t.isnan().any(), columns

    return program


@case(CALLS[0], CALLS, expect=("right",))
def flat_view_is_written():
    def program(x):
        t = x * 1
        flat = t.reshape(-1)
        flat.clamp_(max=1000.0)
        return t

    return program


@case(CALLS[0], CALLS[:3], expect=("right",))
def layout_of_a_product():
    layer = nn.Linear(3, 4)

    def program(x):
        y = layer(x).transpose(0, 1)
        z = y.contiguous()
        z.clamp_(max=50.0)
        return y.amax(), z

    return program


@case(CALLS[0], CALLS * 2, expect=("right",))
def state_beside_its_copy():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(2, 3))

        def forward(self, x):
            self.total = self.total * 0.5 + x
            seen = self.total.t().contiguous()
            seen.clamp_(max=1000.0)
            return seen, self.total.amax()

    return Net()


@case(CALLS[0], CALLS, expect=("right",))
def constant_in_columns():
    def program(x):
        table = torch.ones(3, 2).t().clone()
        row = table[1:]
        table.masked_fill_(x.flip(0) > 1000, 0.0)
        return row * 1

    return program


@case(CALLS[0], CALLS, expect=("right",))
def array_in_columns():
    def program(x):
        table = torch.from_numpy(np.asfortranarray(np.ones((2, 3), np.float32)))
        column = table[:, 1]
        table.masked_fill_(x > 1000, 0.0)
        return column * 1

    return program


@case(CALLS_AT[0], CALLS_AT)
def row_moves_after_a_write():
    def program(x, i, j):
        t = x * 1
        row = t[i]
        row.clamp_(max=1000.0)
        t[j] = row
        return t

    return program


@case(CALLS_AT[0], CALLS_AT)
def table_is_read_before_a_row_comes_back():
    def program(x, i, j):
        t = x * 1
        row = t[i]
        row.clamp_(max=1000.0)
        total = t.sum()
        t[i] = row
        return total, t

    return program


@case(CALLS_AT[0], CALLS_AT)
def row_of_a_constant_that_is_written():
    def program(x, i, j):
        table = torch.ones(2, 3)
        row = table[i]
        table.masked_fill_(x > 1000, 0.0)
        return row * 1

    return program


@case(CALLS_AT[0], CALLS_AT)
def several_tensors_written_by_one_call():
    def program(x, i, j):
        t = x * 1
        torch._foreach_clamp_max_([t[i]], 1000.0)
        return t

    return program


@case(CALLS_AT[0], CALLS_AT)
def row_is_kept_for_the_next_call():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("bank", torch.ones(2, 3))
            self.current = torch.zeros(3)

        def forward(self, x, i, j):
            self.bank.masked_fill_(x > 1000, -1.0)
            result = self.current * 1
            self.current = self.bank[i]
            return result

    return Net()


@case(CALLS_AT[0], CALLS_AT, expect=("right",))
def two_tables_are_counted_in():
    def program(x, i, j):
        sums, counts = torch.zeros(2, 3), torch.zeros(2)
        sums[i] += x[1]
        counts[i] += 1
        sums[j] = sums[j] * 0.5 + x[0]
        sums[i] /= 2
        return sums / counts.clamp(min=1)[:, None]

    return program


@case(CALLS_AT[0], CALLS_AT, expect=("right",))
def row_is_replaced_by_its_shares():
    def program(x, i, j):
        t = x.clamp(max=9.0)
        t[i] = t[i].softmax(0)
        return t

    return program


@case(CALLS[1], CALLS, expect=("right",))
def number_beside_functions_that_take_numbers():
    return lambda x: (x.clamp(min=0) * x.nan_to_num().mean().item(), torch.arange(3) * x.nan_to_num().sum().item(), x.roll(1, 0) - x.nan_to_num().amax().item())


@case(CALLS[0], CALLS, front="torchscript", expect=("right",))
def scripted_copy_is_clamped():
    class Net(nn.Module):
        def forward(self, x):
            t = x * 1
            y = t.t().contiguous()
            y.clamp_(max=1000.0)
            z = t.unsqueeze(1).expand(-1, 2, -1).flatten(0, 1)
            z.masked_fill_(z > 100, 0)
            return t, y, z

    return torch.jit.script(Net().eval())


@case(CALLS[0], CALLS, front="pt2", expect=("right",))
def exported_copy_is_clamped():
    class Net(nn.Module):
        def forward(self, x):
            t = x * 1
            y = t.t().contiguous()
            y.clamp_(max=1000.0)
            return t, y

    return Net().eval()


SQUARE = torch.ones(3, 3)
RARE = [(SQUARE,), (SQUARE * 1e4,), (SQUARE,), (SQUARE * 1e4,)]


@case((SQUARE,), RARE)
def buffer_is_transposed_anew():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", torch.zeros(3, 3))

        def forward(self, x):
            self.kept = (self.kept + x).t()
            flat = self.kept.reshape(-1)
            flat.clamp_(-100.0, 100.0)
            return self.kept * 1

    return Net()


@case((SQUARE,), RARE)
def attribute_becomes_transposed():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = torch.zeros(3, 3)

        def forward(self, x):
            old = self.kept
            flat = old.contiguous()
            flat.clamp_(-100.0, 100.0)
            self.kept = x.t() * 1.0
            return old * 1

    return Net()


@case((SQUARE,), RARE, expect=("right",))
def kept_transposed_from_the_first_call_on():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = torch.zeros(3, 3).t()

        def forward(self, x):
            flat = self.kept.reshape(-1)
            flat.clamp_(-100.0, 100.0)
            self.kept = (self.kept.t() + x).t()
            return self.kept * 1, flat

    return Net()


@case((SQUARE,), RARE, front="torchscript")
def scripted_attribute_is_transposed_anew():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", torch.zeros(3, 3))

        def forward(self, x):
            self.kept = (self.kept + x).t()
            flat = self.kept.reshape(-1)
            flat.clamp_(-100.0, 100.0)
            return self.kept * 1

    return torch.jit.script(Net())


@torch.jit.script
def merged(x):
    return x.transpose(0, 1).reshape(-1)


@torch.jit.script
def clamped_within(x):
    flat = x.transpose(0, 1).reshape(-1)
    flat.clamp_(-100.0, 100.0)
    return x * 1, flat


@case(CALLS[0], CALLS, expect=("right",))
def scripted_function_gives_a_copy():
    def program(x):
        t = x * 1
        flat = merged(t)
        flat.clamp_(-100.0, 100.0)
        return t, flat

    return program


@case(CALLS[0], CALLS, expect=("failed",))
def scripted_function_writes_into_a_copy():
    return lambda x: clamped_within(x * 1)


@torch.jit.script
def clamped_in_rows(x):
    flat = x.reshape(-1)
    flat.clamp_(-100.0, 100.0)


@case(CALLS[0], CALLS, expect=("right",))
def scripted_function_writes_into_a_view():
    def program(x):
        t = x * 1
        clamped_in_rows(t)
        return t

    return program


@case((SQUARE,), RARE)
def scripted_function_writes_into_what_turns():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = torch.zeros(3, 3)

        def forward(self, x):
            self.kept = (self.kept + x).t()
            turned = self.kept.t()
            clamped_in_rows(turned)
            return turned * 1

    return Net()


@case((SQUARE,), RARE, expect=("right",))
def scripted_module_writes_into_its_buffer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("sums", torch.zeros(3, 3))

        def forward(self, x):
            self.sums += x
            flat = self.sums.flatten()
            flat.clamp_(-100.0, 100.0)
            return flat * 1

    return torch.jit.script(Net())


@case(CALLS[0], CALLS, expect=("right",))
def array_of_a_transposed_tensor():
    def program(x):
        t = x * 1
        array = t.t().numpy().reshape(-1)
        array -= (x.reshape(-1) - 1000).clamp(min=0).numpy()
        return t, torch.from_numpy(array)

    return program


@case(CALLS[0], CALLS)
def contiguous_array_is_written():
    def program(x):
        t = (x > 1000).long()
        array = np.ascontiguousarray(t.numpy())
        array[0] = array[0] * 7
        return t

    return program


@case((X,), [(X,), (BIG,), (BIG.t().contiguous().t(),), (BIG[:1].expand(2, 3),)])
def inputs_lie_otherwise():
    def program(x):
        t = x * 1
        flat = t.reshape(-1)
        flat.clamp_(-100.0, 100.0)
        return t

    return program


@case((X,), [(X,), (BIG,), (BIG.t().contiguous().t(),)], front="torchscript")
def inputs_of_a_script_lie_otherwise():
    class Net(nn.Module):
        def forward(self, x):
            t = x * 1
            flat = t.reshape(-1)
            flat.clamp_(-100.0, 100.0)
            return t

    return torch.jit.script(Net())


@case((X,), [(X,), (BIG,), (BIG.t().contiguous().t(),)], front="pt2")
def inputs_of_an_exported_program_lie_otherwise():
    class Net(nn.Module):
        def forward(self, x):
            t = x * 1
            flat = t.reshape(-1)
            flat.clamp_(-100.0, 100.0)
            return t

    return Net()


@case((X,), [(X,), (BIG,), (-BIG,)], expect=("right",))
def transposed_result_says_how_it_lies():
    def program(x):
        t = (x * 1).t()
        wide = t if t.is_contiguous() else t * 2
        return torch.where(x.t() > 100, wide, t)

    return program


SEQUENCE = torch.linspace(-1, 1, 96).reshape(2, 6, 8)


@case((SEQUENCE,), [(SEQUENCE,), (SEQUENCE * 1e4,), (SEQUENCE,)], expect=("right",))
def attention_is_clamped():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()

        def forward(self, x):
            y, _ = self.attention(x, x, x, need_weights=False)
            flat = y.reshape(-1)
            flat.clamp_(-50.0, 50.0)
            return y, flat

    return Net()


@case((SQUARE,), RARE, expect=("right",))
def copy_is_kept_and_its_source_written_later():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("sums", torch.zeros(3, 3))
            self.last = torch.zeros(9)

        def forward(self, x):
            last = self.last * 1
            self.sums.add_(x).clamp_(-50.0, 50.0)
            self.last = self.sums.t().flatten()
            return last, self.sums * 1

    return Net()
