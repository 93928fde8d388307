"""What torch.nn's transformers compute by calls of their own in eval mode: zeros at padded places, NaN where attention sees no key, masks of
numbers that hide."""

import torch
from harness import case
from torch import nn

T, F = True, False
X = torch.randn(3, 4, 8)
NONE = torch.zeros(3, 4, dtype=torch.bool)
RIGHT = torch.tensor([[F, F, T, T], [F, F, F, F], [F, F, F, T]])
LEFT = torch.tensor([[T, T, F, F], [F, F, F, F], [T, F, F, F]])
MIDDLE = torch.tensor([[F, T, F, T], [F, F, F, F], [F, F, F, T]])
EMPTY_ROW = torch.tensor([[F, F, T, T], [T, T, T, T], [F, F, F, T]])
EMPTY_BESIDE = torch.tensor([[F, T, F, T], [T, T, T, T], [F, F, F, T]])
MASKS = [RIGHT, LEFT, MIDDLE, NONE, EMPTY_ROW, EMPTY_BESIDE, RIGHT]
PADDED = [(X, mask) for mask in MASKS]


def layer(**options):
    torch.manual_seed(1)
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options).eval()


class Padded(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x, mask):
        return self.inner(x, src_key_padding_mask=mask)


@case((X, NONE), PADDED, expect=("right",))
def encoder_exported_without_padding():
    return Padded(nn.TransformerEncoder(layer(), 2).eval())


@case((X, NONE), [(X.masked_fill(mask[..., None], value), mask) for mask in (RIGHT, NONE, RIGHT) for value in (torch.nan, torch.inf)], expect=("right",))
def encoder_of_padding_that_is_no_number():
    return Padded(nn.TransformerEncoder(layer(), 2).eval())


@case((X, RIGHT), PADDED, expect=("right",))
def encoder_exported_with_padding():
    return Padded(nn.TransformerEncoder(layer(), 2).eval())


@case((X, LEFT), PADDED, expect=("right",))
def encoder_with_a_norm_at_its_end():
    norm = nn.LayerNorm(8)
    nn.init.ones_(norm.bias)
    return Padded(nn.TransformerEncoder(layer(norm_first=True, activation="gelu"), 2, norm=norm, enable_nested_tensor=True).eval())


@case((X, NONE), PADDED, expect=("right",))
def encoder_that_makes_no_nested_tensors():
    return Padded(nn.TransformerEncoder(layer(), 2, enable_nested_tensor=False).eval())


@case((X, NONE), PADDED, expect=("right",))
def encoder_layer_alone():
    return Padded(layer())


@case((X[..., :6], NONE), [(X[..., :6], mask) for mask in MASKS], expect=("right",))
def encoder_layer_with_odd_heads():
    torch.manual_seed(1)
    return Padded(nn.TransformerEncoderLayer(6, 3, 16, batch_first=True).eval())


@case(X, [X, -X], expect=("right",))
def encoder_layer_with_a_mask_of_numbers():
    inner, mask = layer(), torch.tensor([[0.0, 0, -0.5, -0.5]] * 4)

    def program(x):
        return inner(x, src_mask=mask)

    return program


@case((X, NONE), PADDED, expect=("right",))
def encoder_layer_with_both_masks():
    inner, causal = layer(), nn.Transformer.generate_square_subsequent_mask(4)

    def program(x, mask):
        return inner(x, src_mask=causal, src_key_padding_mask=torch.zeros(mask.shape).masked_fill(mask, -torch.inf), is_causal=True)

    return program


@case((X, NONE), PADDED, expect=("right",))
def attention_without_weights():
    torch.manual_seed(1)
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()

    def program(x, mask):
        return attention(x, x, x, key_padding_mask=mask, need_weights=False)[0]

    return program


@case((X, NONE), PADDED, expect=("right",))
def attention_with_weights():
    torch.manual_seed(1)
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()

    def program(x, mask):
        return attention(x, x, x, key_padding_mask=mask, average_attn_weights=False)

    return program


@case((X, torch.zeros(4, 4, dtype=torch.bool)), [(X, torch.tensor([[F, T, T, T], [T, T, T, T], [F, F, F, F], [T, F, F, T]]))], expect=("right",))
def attention_with_hidden_rows():
    torch.manual_seed(1)
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()

    def program(x, mask):
        return attention(x, x, x, attn_mask=mask, need_weights=False)[0]

    return program


@case((X, NONE), PADDED, expect=("right",), front="torchscript")
def scripted_encoder():
    return torch.jit.script(Padded(nn.TransformerEncoder(layer(), 2).eval()))


class OfIds(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.embedding, self.inner = nn.Embedding(10, 8), inner

    def forward(self, ids):
        return self.inner(self.embedding(ids), src_key_padding_mask=ids == 0)


IDS = [(torch.tensor(rows),) for rows in ([[1, 2, 3, 4], [5, 6, 7, 8]], [[1, 2, 0, 0], [5, 0, 0, 0]], [[1, 0, 2, 0], [5, 6, 7, 0]], [[0, 0, 0, 0], [5, 6, 0, 8]])]


@case(IDS[0], IDS, expect=("right",), front="torchscript")
def scripted_encoder_masks_ids():
    torch.manual_seed(1)
    return torch.jit.script(OfIds(nn.TransformerEncoder(layer(), 2)).eval())


@case(IDS[0], IDS, expect=("right",), front="torchscript")
def scripted_layer_masks_ids():
    torch.manual_seed(1)
    return torch.jit.script(OfIds(layer()).eval())


@case(X, [X, -X, X * 100], expect=("right",), front="torchscript")
def scripted_encoder_with_a_causal_mask():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.TransformerEncoder(layer(), 2)
            self.register_buffer("mask", torch.triu(torch.ones(4, 4, dtype=torch.bool), 1))

        def forward(self, x):
            return self.inner(x, mask=self.mask)

    return torch.jit.script(Net().eval())
