"""Writes golden bundles whose extents vary, and beside each the same program at some sizes: make_sized.py FOLDER

`NAME@SIZES.lzb` has fixed extents, and samples with what eager gave; golden_test runs these in `NAME.lzb`, too.
"""
import sys

import torch
from torch import nn

import lazyrt


class Encoder(nn.Module):
    """Attention over tokens with a table of positions; what is longer than 8 is halved first."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(20, 8), nn.Embedding(16, 8)
        self.query, self.out = nn.Linear(8, 8), nn.Linear(8, 4)
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        if ids.shape[1] > 8:
            x = nn.functional.avg_pool1d(x.transpose(1, 2), 2).transpose(1, 2)
        x = torch.softmax(self.query(x) @ x.transpose(1, 2) / ids.shape[1] ** 0.5, -1) @ x
        y = self.out(x)
        self.seen += y.sum((0, 1))
        return y, self.seen / ids.shape[0]


def main():
    folder = sys.argv[1]
    torch.manual_seed(0)
    model = Encoder().eval()

    def ids(batch, seq):
        return (torch.randint(0, 20, (batch, seq)),)

    lazyrt.export(model, ids(2, 5), f"{folder}/encoder.lzb", dynamic={"ids": {0: ("batch", 1, 4), 1: ("seq", 1, 16)}})
    for batch, seq in [(1, 1), (4, 8), (3, 9), (4, 16)]:
        lazyrt.export(model, ids(batch, seq), f"{folder}/encoder@{batch}x{seq}.lzb")


if __name__ == "__main__":
    main()
