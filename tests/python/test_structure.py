"""Nested arguments and results keep their names and their structure."""

import collections
import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

import lazyrt

Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Answer:
    logits: torch.Tensor
    hidden: tuple
    loss: float | None = None
    tag: str = "tag"


class Nested(nn.Module):
    def forward(self, x, past, *, options=None, flag=True):
        a, b = past["key"], past["items"][0]
        total = x + a if flag else x
        return Answer(total, (total * b, [b - 1]), tag="done"), Pair(x * 2, None), {"n": 3, "sum": options.left + 1}


def test_nested(roundtrip, close):
    x, a, b = torch.randn(2), torch.randn(2), torch.randn(2)
    past = {"key": a, "items": [b]}
    options = Pair(torch.randn(3), 4)
    report, program, eager = roundtrip(Nested(), (x, past), {"options": options})
    assert [i.name for i in program.inputs] == ["x", "past.key", "past.items.0", "options.left"]
    answer, pair, extra = program(x, past, options=options)
    close(answer.logits, eager[0].logits)
    close(answer.hidden[0], eager[0].hidden[0])
    close(answer["hidden"][1][0], eager[0].hidden[1][0])
    assert answer.loss is None and answer.tag == "done" and isinstance(answer.hidden, tuple)
    close(pair.left, eager[1].left)
    assert pair[1] is None and extra["n"] == 3
    close(extra["sum"], eager[2]["sum"])


def test_results_of_numpy_inputs_are_numpy(roundtrip):
    report, program, eager = roundtrip(lambda x: {"y": x + 1}, (torch.zeros(3),))
    assert type(program(np.zeros(3, np.float32))["y"]) is np.ndarray
    assert type(program(torch.zeros(3))["y"]) is torch.Tensor


def test_flat_names_serve_in_run(roundtrip, close):
    x, past = torch.randn(2), {"key": torch.randn(2), "items": [torch.randn(2)]}
    options = Pair(torch.randn(3), 4)
    report, program, eager = roundtrip(Nested(), (x, past), {"options": options})
    flat = {"x": x, "past.key": past["key"], "past.items.0": past["items"][0], "options.left": options.left}
    results = program.run(flat)
    assert set(results) == {o.name for o in program.outputs}
    close(results["0.logits"], eager[0].logits)
    with pytest.raises(lazyrt.InputError, match="no argument 'past.key'.*run"):
        program(**flat)


def test_wrong_arguments(roundtrip):
    report, program, eager = roundtrip(lambda x, y: x + y, (torch.zeros(2, 3), torch.zeros(3)))
    good = torch.zeros(2, 3), torch.zeros(3)
    for args, kwargs, text in [
        ((good[0],), {}, "no array for input 'y'"),
        ((*good, good[0]), {}, "3 positional arguments, the program takes 2"),
        (good, {"z": 1}, "no argument 'z'"),
        (good, {"x": good[0]}, "given twice"),
        ((torch.zeros(3, 2), good[1]), {}, r"'x' has shape \[3, 2\], the bundle needs \[2, 3\]"),
        ((good[0].double(), good[1]), {}, "'x' is float64, the bundle needs float32"),
        ((good[0].numpy().astype("int64"), good[1]), {}, "'x' is int64"),
    ]:
        with pytest.raises(lazyrt.InputError, match=text):
            program(*args, **kwargs)


def test_dtypes(roundtrip):
    dtypes = [torch.float32, torch.int64, torch.int32, torch.bool, torch.uint8]
    inputs = {str(d)[6:]: torch.tensor([1, 0, 1]).to(d) for d in dtypes}
    report, program, eager = roundtrip(lambda given: {k: v[1:] for k, v in given.items()}, (inputs,))
    for name, value in program(inputs).items():
        assert value.dtype == eager[name].dtype and torch.equal(value, eager[name])
    for name, value in program({k: v.numpy()[::1] for k, v in inputs.items()}).items():
        assert value.dtype == eager[name].numpy().dtype


def test_strided_arrays(roundtrip):
    report, program, eager = roundtrip(lambda x: x + 0.5, (torch.zeros(2, 3),))
    x = np.arange(12, dtype=np.float32).reshape(3, 4)[::2, :3]
    np.testing.assert_array_equal(program(x), x + 0.5)
    assert torch.equal(program(torch.from_numpy(x.copy()).T.contiguous().T), torch.from_numpy(x + 0.5))


def test_a_bundle_that_names_no_structure(tmp_path, bundle):
    """Inputs and results are then flat."""
    lazyrt.export(lambda x, y: (x + y, x - y), (torch.ones(2), torch.ones(2)), bundle)
    data = open(bundle, "rb").read().replace(b"lazyrt.interface", b"lazyrt.elsewhere")
    with pytest.raises(lazyrt.BundleError):
        lazyrt.load(data)


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no bundle"):
        lazyrt.load(str(tmp_path / "none.lzb"))
    (tmp_path / "bad.lzb").write_bytes(b"not a bundle at all")
    with pytest.raises(lazyrt.BundleError):
        lazyrt.load(str(tmp_path / "bad.lzb"))
    with pytest.raises(lazyrt.InputError, match="no backend 'gpu'"):
        lazyrt.export(lambda x: x + 1, (torch.ones(1),), str(tmp_path / "m.lzb"))
        lazyrt.load(str(tmp_path / "m.lzb"), backend="gpu")


def test_profile_and_stats(bundle):
    lazyrt.export(nn.Linear(64, 64).eval(), (torch.randn(8, 64),), bundle)
    program = lazyrt.load(bundle, profile=True)
    program(torch.randn(8, 64))
    assert program.stats["plan_bytes"] > 0 and program.stats["copies"] == [] and program.stats["device_bytes"] == 0
    assert program.stats["arena_bytes"] >= 0 and program.profile()[0]["runs"] == 1
    assert program.profile()[0]["op"] == "linear"


def test_transformers_with_nested_results(roundtrip, close):
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=100)
    model = transformers.GPT2LMHeadModel(config).eval()
    ids = torch.randint(0, 100, (1, 6))
    report, program, eager = roundtrip(model, (), {"input_ids": ids, "output_hidden_states": True})
    result = program(input_ids=ids, output_hidden_states=True)
    close(result.logits, eager.logits)
    close(program(input_ids=ids.numpy(), output_hidden_states=True).logits, eager.logits)
    assert report.verdict == "SOUND" and len(result.hidden_states) == 3
    close(result.hidden_states[1], eager.hidden_states[1])
    close(result.past_key_values.layers[1].keys, eager.past_key_values.layers[1].keys)


def test_transformers_cache_as_an_input(roundtrip, close):
    """An object with attributes goes in and comes out."""
    transformers = pytest.importorskip("transformers")
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=100)).eval()
    with torch.no_grad():
        past = lambda: model(input_ids=torch.arange(5)[None]).past_key_values  # noqa: E731
        token, given = torch.tensor([[7]]), past()
        report = lazyrt.export(model, (), roundtrip.bundle, kwargs={"input_ids": token, "past_key_values": given})
        assert given.layers[0].keys.shape[2] == 5
        program = lazyrt.load(roundtrip.bundle)
        assert "past_key_values.layers.1.values" in [i.name for i in program.inputs]
        result, expected = program(input_ids=token, past_key_values=past()), model(input_ids=token, past_key_values=past())
        close(result.logits, expected.logits)
        close(result.past_key_values.layers[1].keys, expected.past_key_values.layers[1].keys)
    assert report.verdict == "SOUND"


def test_transformers_t5(roundtrip, close):
    transformers = pytest.importorskip("transformers")
    config = transformers.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=100)
    model = transformers.T5Model(config).eval()
    ids, decoder = torch.randint(0, 100, (1, 7)), torch.randint(0, 100, (1, 3))
    report, program, eager = roundtrip(model, (), {"input_ids": ids, "decoder_input_ids": decoder, "use_cache": False})
    result = program(input_ids=ids, decoder_input_ids=decoder, use_cache=False)
    close(result.last_hidden_state, eager.last_hidden_state)
    close(program(input_ids=ids.numpy(), decoder_input_ids=decoder.numpy(), use_cache=False).last_hidden_state, eager.last_hidden_state)
    assert report.verdict == "SOUND"
    close(result.encoder_last_hidden_state, eager.encoder_last_hidden_state)


def test_transformers_mixture_of_experts(roundtrip, close):
    transformers = pytest.importorskip("transformers")
    config = transformers.MixtralConfig(
        vocab_size=100, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, num_local_experts=4, use_cache=False)
    model = transformers.MixtralForCausalLM(config).eval()
    report, program, eager = roundtrip(model, (), {"input_ids": torch.randint(1, 90, (1, 12))})
    others = torch.randint(1, 90, (1, 12))
    close(program(input_ids=others).logits, model(input_ids=others).logits)


def test_transformers_clip(roundtrip, close):
    transformers = pytest.importorskip("transformers")
    text = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, vocab_size=100,
                max_position_embeddings=16, eos_token_id=99)
    vision = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=8)
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    model = transformers.CLIPModel(config).eval()
    inputs = {"input_ids": torch.randint(0, 98, (2, 8)), "pixel_values": torch.randn(1, 3, 32, 32)}
    report, program, eager = roundtrip(model, (), inputs)
    result = program(**inputs)
    close(result.logits_per_text, eager.logits_per_text)
    close(result.text_model_output.last_hidden_state, eager.text_model_output.last_hidden_state)
    close(result.vision_model_output["pooler_output"], eager.vision_model_output.pooler_output)
