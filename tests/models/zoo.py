"""The eleven models of the model tests and benchmarks.

get(name) -> (module, example_inputs): float32, eval mode, batch 1, fixed seed, random weights; nothing
is downloaded. Vision architectures come from timm, BERT and the LLaMA-like decoder from transformers
config objects, the rest is written here.

Two corrections make random weights behave like trained ones:
 - Parameters that an initialiser left all zero or all one are given values (_break_constants). timm
   zeroes the last batch norm weight of every residual block; an optimizer may rightly delete such a
   branch, and what is tested or timed is then another network.
 - Batch norm statistics are set from random batches (_calibrate_batch_norm), or activations shrink or
   explode and distort error figures and, through subnormals, latencies.

    python zoo.py [NAME]...     prints parameters, multiply-adds, shapes
"""
import importlib.machinery
import sys
import types

import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 20261121


# ------------------------------------------------------------- timm without torchvision
class _AnyAttribute(type):
    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return name


class _StubModule(types.ModuleType):
    """Answers any attribute with an empty class: enough for timm's imports of torchvision."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        base = nn.Module if name[:1].isupper() else object
        stub = _AnyAttribute(name, (base,), {})
        setattr(self, name, stub)
        return stub


class _StubFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] == "torchvision":
            return importlib.machinery.ModuleSpec(name, _StubFinder, is_package=True)
        return None

    @staticmethod
    def create_module(spec):
        module = _StubModule(spec.name)
        module.__path__ = []
        return module

    @staticmethod
    def exec_module(module):
        pass


def import_timm():
    """timm, with a stand-in for torchvision while it imports if there is no torchvision."""
    try:
        import torchvision  # noqa: F401
    except ImportError:
        sys.meta_path.append(_StubFinder)
        try:
            import timm
        finally:
            # Gone again, so that nobody else believes torchvision is there.
            sys.meta_path.remove(_StubFinder)
            for key in [k for k in sys.modules if k.split(".")[0] == "torchvision"]:
                del sys.modules[key]
        return timm
    import timm
    return timm


def timm_model(name):
    return import_timm().create_model(name, pretrained=False)


# ------------------------------------------------------------- architectures written here
def _conv_bn_relu(cin, cout, kernel, **kw):
    return [nn.Conv2d(cin, cout, kernel, bias=False, **kw), nn.BatchNorm2d(cout), nn.ReLU()]


class DSCNN(nn.Module):
    """Keyword spotting DS-CNN (Hello Edge "S"): 49x10 MFCC, 12 classes."""

    def __init__(self, channels=64, blocks=4, classes=12):
        super().__init__()
        self.stem = nn.Sequential(*_conv_bn_relu(1, channels, (10, 4), stride=(2, 2), padding=(5, 1)))
        layers = []
        for _ in range(blocks):
            layers += _conv_bn_relu(channels, channels, 3, padding=1, groups=channels)
            layers += _conv_bn_relu(channels, channels, 1)
        self.blocks = nn.Sequential(*layers)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


class ConvGRU(nn.Module):
    """Speech front end: 1-d conv over time, 2-layer GRU, per-frame classifier. x: [1, T, feats]."""

    def __init__(self, feats=40, channels=64, hidden=128, layers=2, classes=32):
        super().__init__()
        self.conv = nn.Conv1d(feats, channels, 3, padding=1)
        self.gru = nn.GRU(channels, hidden, layers, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        x = F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        x, _ = self.gru(x)
        return self.fc(x)


class UNet(nn.Module):
    """Small UNet of 4 levels: ConvTranspose2d up, concat with the skip."""

    def __init__(self, cin=3, base=16, classes=2):
        super().__init__()

        def double(a, b):
            return nn.Sequential(*_conv_bn_relu(a, b, 3, padding=1), *_conv_bn_relu(b, b, 3, padding=1))

        w = [base, base * 2, base * 4, base * 8]
        self.d1, self.d2 = double(cin, w[0]), double(w[0], w[1])
        self.d3, self.mid = double(w[1], w[2]), double(w[2], w[3])
        self.pool = nn.MaxPool2d(2)
        self.u3 = nn.ConvTranspose2d(w[3], w[2], 2, 2)
        self.u2 = nn.ConvTranspose2d(w[2], w[1], 2, 2)
        self.u1 = nn.ConvTranspose2d(w[1], w[0], 2, 2)
        self.c3, self.c2, self.c1 = double(w[3], w[2]), double(w[2], w[1]), double(w[1], w[0])
        self.head = nn.Conv2d(w[0], classes, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(self.pool(a))
        c = self.d3(self.pool(b))
        m = self.mid(self.pool(c))
        c = self.c3(torch.cat([self.u3(m), c], 1))
        b = self.c2(torch.cat([self.u2(c), b], 1))
        a = self.c1(torch.cat([self.u1(b), a], 1))
        return self.head(a)


class BertEncoder(nn.Module):
    """6 layers, hidden 384, 12 heads: ids and attention mask [1, 128] -> last hidden state."""

    def __init__(self):
        super().__init__()
        from transformers import BertConfig, BertModel
        config = BertConfig(vocab_size=30522, hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                            intermediate_size=1536, max_position_embeddings=512, attn_implementation="sdpa")
        self.m = BertModel(config, add_pooling_layer=False)

    def forward(self, input_ids, attention_mask):
        return self.m(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


class LlamaPrefill(nn.Module):
    """LLaMA-like decoder over a whole prompt without KV cache: 4 layers, hidden 256, vocab 4096."""

    def __init__(self):
        super().__init__()
        from transformers import LlamaConfig, LlamaForCausalLM
        config = LlamaConfig(vocab_size=4096, hidden_size=256, intermediate_size=688, num_hidden_layers=4,
                             num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=256,
                             use_cache=False, tie_word_embeddings=False, attn_implementation="sdpa")
        self.m = LlamaForCausalLM(config)

    def forward(self, input_ids):
        return self.m(input_ids=input_ids, use_cache=False).logits


# ------------------------------------------------------------- registry
def _image(side=224):
    return lambda: (torch.randn(1, 3, side, side),)


def _padded_ids():
    """128 positions of which the last 16 are padding."""
    return torch.randint(0, 30522, (1, 128)), (torch.arange(128) < 112).to(torch.int64)[None]


ZOO = {
    "mobilenet_v2": (lambda: timm_model("mobilenetv2_100"), _image()),
    "mobilenet_v3_large": (lambda: timm_model("mobilenetv3_large_100"), _image()),
    "resnet18": (lambda: timm_model("resnet18"), _image()),
    "resnet50": (lambda: timm_model("resnet50"), _image()),
    "efficientnet_b0": (lambda: timm_model("efficientnet_b0"), _image()),
    "vit_tiny": (lambda: timm_model("vit_tiny_patch16_224"), _image()),
    "bert_mini": (BertEncoder, _padded_ids),
    "ds_cnn": (DSCNN, lambda: (torch.randn(1, 1, 49, 10),)),
    "conv_gru": (ConvGRU, lambda: (torch.randn(1, 100, 40),)),
    "llama_tiny": (LlamaPrefill, lambda: (torch.randint(0, 4096, (1, 64)),)),
    "unet_small": (UNet, _image(256)),
}
NAMES = list(ZOO)


def _break_constants(module):
    """All-zero and all-one parameters become random: weights around 1, biases around 0."""
    with torch.no_grad():
        for key, p in module.named_parameters():
            if p.numel() > 1 and bool((p == p.flatten()[0]).all()):
                if key.endswith("weight"):
                    p.copy_(torch.empty_like(p).uniform_(0.6, 1.2))
                else:
                    p.copy_(torch.randn_like(p) * 0.05)


def _calibrate_batch_norm(module, make_inputs):
    norms = [x for x in module.modules() if isinstance(x, nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    momenta = [b.momentum for b in norms]
    module.train()
    for b in norms:
        b.reset_running_stats()
        b.momentum = None  # cumulative average
    with torch.no_grad():
        for _ in range(2):
            module(torch.cat([make_inputs()[0] for _ in range(4)]))
    for b, momentum in zip(norms, momenta):
        b.momentum = momentum
    module.eval()


def build(make, make_inputs):
    """(module in eval mode, example inputs) with the seeds and corrections described above."""
    torch.manual_seed(SEED)
    module = make().eval()
    _break_constants(module)
    torch.manual_seed(SEED + 1)
    _calibrate_batch_norm(module, make_inputs)
    module.requires_grad_(False)
    torch.manual_seed(SEED + 2)
    return module.eval(), make_inputs()


def get(name):
    return build(*ZOO[name])


def _describe(name):
    from torch.utils.flop_counter import FlopCounterMode
    module, inputs = get(name)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        y = module(*inputs)
    parameters = sum(p.numel() for p in module.parameters())
    print(f"{name:20s} GMAC {counter.get_total_flops() / 2e9:6.3f}  parameters {parameters / 1e6:6.2f} M  "
          f"in {[tuple(t.shape) for t in inputs]}  out {tuple(y.shape)}  |y| max {y.abs().max():.3g}")


if __name__ == "__main__":
    for model_name in sys.argv[1:] or NAMES:
        _describe(model_name)
