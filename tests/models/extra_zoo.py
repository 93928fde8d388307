"""Architectures beyond the eleven, to see how the exporter does on what nobody tuned it for.

Same interface as zoo.py: get(name) -> (module, example inputs). Export with `export_zoo.py --extra`.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

import zoo


class ShuffleUnit(nn.Module):
    """Grouped 1x1 convs with a channel shuffle between them, and a residual."""

    def __init__(self, channels, groups):
        super().__init__()
        self.groups = groups
        self.reduce = nn.Conv2d(channels, channels // 2, 1, groups=groups, bias=False)
        self.norm1 = nn.BatchNorm2d(channels // 2)
        self.depthwise = nn.Conv2d(channels // 2, channels // 2, 3, padding=1, groups=channels // 2, bias=False)
        self.norm2 = nn.BatchNorm2d(channels // 2)
        self.expand = nn.Conv2d(channels // 2, channels, 1, groups=groups, bias=False)
        self.norm3 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.norm1(self.reduce(x)))
        n, c, h, w = y.shape
        y = y.view(n, self.groups, c // self.groups, h, w).transpose(1, 2).reshape(n, c, h, w)
        y = self.norm3(self.expand(self.norm2(self.depthwise(y))))
        return F.relu(x + y)


class ShuffleNet(nn.Module):
    def __init__(self, channels=48, groups=3, classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, channels, 3, stride=2, padding=1), nn.LeakyReLU(0.1))
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.units = nn.Sequential(*[ShuffleUnit(channels, groups) for _ in range(4)])
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.units(self.pool(self.stem(x)))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1)).log_softmax(-1)


class LstmTagger(nn.Module):
    """Embedding, 2-layer bidirectional LSTM, a score for each token; also the final state."""

    def __init__(self, vocabulary=500, width=48, hidden=64, tags=9):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, tags)

    def forward(self, tokens):
        y, (h, _) = self.lstm(self.embedding(tokens))
        return self.head(y), h[-1]


class ResBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x):
        y = self.conv1(F.silu(self.norm1(x)))
        return self.skip(x) + self.conv2(F.silu(self.norm2(y)))


class VaeDecoder(nn.Module):
    """Latents [1, 4, 16, 16] -> image [1, 3, 64, 64]: group norm, SiLU, nearest and bilinear upsampling."""

    def __init__(self, width=64):
        super().__init__()
        self.stem = nn.Conv2d(4, width, 3, padding=1)
        self.low, self.mid, self.high = ResBlock(width, width), ResBlock(width, 32), ResBlock(32, 16)
        self.head = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, z):
        x = F.interpolate(self.low(self.stem(z)), scale_factor=2.0, mode="nearest")
        x = F.interpolate(self.mid(x), scale_factor=2.0, mode="bilinear", align_corners=False)
        return torch.tanh(self.head(self.high(x)))


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel
        self.m = GPT2LMHeadModel(GPT2Config(vocab_size=2000, n_positions=64, n_embd=128, n_layer=3, n_head=4))

    def forward(self, input_ids):
        return self.m(input_ids=input_ids, use_cache=False).logits


class WhisperEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        from transformers import WhisperConfig
        from transformers.models.whisper.modeling_whisper import WhisperEncoder as Encoder
        self.m = Encoder(WhisperConfig(d_model=128, encoder_layers=2, encoder_attention_heads=4,
                                       encoder_ffn_dim=256, max_source_positions=100, num_mel_bins=40))

    def forward(self, mel):
        return self.m(mel).last_hidden_state


class Unet3d(nn.Module):
    """A volume's segmentation: two levels down by pooling and by stride, up by a transposed convolution and by trilinear resizing."""

    def __init__(self, width=8):
        super().__init__()

        def block(cin, cout, stride=1):
            return nn.Sequential(nn.Conv3d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm3d(cout), nn.ReLU(),
                                 nn.Conv3d(cout, cout, 3, 1, 1), nn.InstanceNorm3d(cout, affine=True), nn.LeakyReLU(0.01))

        self.enter, self.down, self.bottom = block(1, width), block(width, 2 * width), block(2 * width, 4 * width, (1, 2, 2))
        self.up, self.middle, self.leave = nn.ConvTranspose3d(4 * width, 2 * width, (1, 2, 2), (1, 2, 2)), block(4 * width, 2 * width), block(3 * width, width)
        self.head = nn.Conv3d(width, 3, 1)

    def forward(self, x):
        high = self.enter(x)
        mid = self.down(F.max_pool3d(high, 2))
        y = self.middle(torch.cat([self.up(self.bottom(mid)), mid], 1))
        y = F.interpolate(y, scale_factor=2, mode="trilinear", align_corners=False)
        return self.head(self.leave(torch.cat([y, high], 1))).softmax(1)


class C3d(nn.Module):
    """A clip's class, as C3D does (Tran et al. 2015): the first pool leaves the frames, the others halve them."""

    def __init__(self, classes=11):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv3d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool3d((1, 2, 2), (1, 2, 2)),
            nn.Conv3d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2, 2),
            nn.Conv3d(32, 48, 3, padding=1), nn.ReLU(), nn.Conv3d(48, 48, 3, padding=1), nn.ReLU(),
            nn.MaxPool3d(2, 2, padding=(0, 1, 1)), nn.AdaptiveAvgPool3d((1, 3, 3)))
        self.classify = nn.Sequential(nn.Linear(48 * 9, 64), nn.ReLU(), nn.Dropout(), nn.Linear(64, classes))

    def forward(self, clip):
        return self.classify(self.features(clip).flatten(1))


EXTRA = {
    "convnext_atto": (lambda: zoo.timm_model("convnext_atto"), lambda: (torch.randn(1, 3, 96, 96),)),
    "shufflenet": (ShuffleNet, lambda: (torch.randn(1, 3, 64, 64),)),
    "lstm_tagger": (LstmTagger, lambda: (torch.randint(0, 500, (1, 20)),)),
    "vae_decoder": (VaeDecoder, lambda: (torch.randn(1, 4, 16, 16),)),
    "gpt2_tiny": (Gpt2, lambda: (torch.randint(0, 2000, (1, 32)),)),
    "whisper_encoder": (WhisperEncoder, lambda: (torch.randn(1, 40, 200),)),
    "unet3d": (Unet3d, lambda: (torch.randn(1, 1, 16, 24, 32),)),
    "c3d": (C3d, lambda: (torch.randn(1, 3, 8, 48, 48),)),
}
NAMES = list(EXTRA)


def get(name):
    return zoo.build(*EXTRA[name])
