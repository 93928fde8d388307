"""Export in place and load again: a plain module, backends, and a transformer."""

import time

import torch
from torch import nn

import lazyrt


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x):
        return self.layers(x)


def test_mlp(roundtrip, close):
    model, x = Mlp().eval(), torch.randn(2, 8)
    report, program, eager = roundtrip(model, (x,))
    assert report.verdict == "SOUND"
    close(program(x.numpy()), eager)
    other = torch.randn(2, 8)
    result = program(other)
    assert isinstance(result, torch.Tensor)
    close(result, model(other))
    close(program(x=other), model(other))
    assert [i.name for i in program.inputs] == ["x"] and program.inputs[0].shape == (2, 8)
    assert "captured" in report.summary and report.to_json()["nodes"]["captured"] == report.nodes


def test_backends_threads_and_bytes(bundle, close):
    model, x = Mlp().eval(), torch.randn(2, 8)
    lazyrt.export(model, (x,), bundle)
    close(lazyrt.load(bundle, backend="reference")(x), model(x))
    with open(bundle, "rb") as file:
        close(lazyrt.load(file.read(), threads=2)(x), model(x))


def test_bert_in_seconds(roundtrip, close):
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    model = BertModel(config).eval()
    ids = torch.randint(0, 30000, (1, 64))
    begin = time.process_time()  # not of the clock: other tests may run beside this one
    report, program, eager = roundtrip(model, (ids,))
    seconds = time.process_time() - begin
    print(f"6-layer BERT: {seconds:.1f} s of the processor")
    assert seconds < 40  # 5 on an idle machine
    result = program(ids)
    close(result.last_hidden_state, eager.last_hidden_state)
    close(result["pooler_output"], eager.pooler_output)
    assert any("attention" in node["module"] for node in program.nodes())
    assert any(node["file"].endswith("modeling_bert.py") and node["line"] > 0 for node in program.nodes())


def test_html_report_and_progress(bundle, tmp_path):
    page, stages = tmp_path / "m.html", []
    report = lazyrt.export(Mlp().eval(), (torch.randn(2, 8),), bundle, report=page,
                           progress=lambda stage, done, total: stages.append(stage))
    text = page.read_text()
    assert "<html" in text and "linear" in text and {"import", "plan", "write"} <= set(stages)
    assert "SOUND" in repr(report)


def test_an_error_of_the_progress_callback_ends_it(bundle, tmp_path):
    def stop(stage, done, total):
        if stage == "write":
            raise LookupError("enough")

    try:
        lazyrt.export(Mlp().eval(), (torch.randn(2, 8),), bundle, progress=stop)
        raise AssertionError("no error")
    except LookupError:
        assert list(tmp_path.iterdir()) == []
