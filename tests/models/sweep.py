"""Every timm family and every transformers architecture that a tiny configuration can make, exported and compared with eager.

    sweep.py timm|transformers OUT.tsv [--part I/N] [--only-make] [--again VERDICT,...] [NAME...]
    sweep.py table OUT.md TSV...

By hand: a few seconds for each model on two idle cores. Needs a Python with torch, timm, transformers and lazyrt (SWEEP.md
has the versions). A line for each: name, verdict of the sweep, seconds, detail. What OUT has already is not done again, but
for the verdicts after --again. The verdicts:

    ok       all results of the bundle are eager's, on the sample and on a second input
    wrong    exported, and another answer
    refused  lazyrt.export said why not; random: refused because the forward draws random numbers
    failed   exported, but the run failed
    crash    the process died;  timeout: it took longer than LIMIT seconds
    skip     no tiny configuration could be made, or eager fails on it
"""
import argparse
import collections
import copy
import importlib.metadata
import inspect
import json
import os
import re
import signal
import sys
import tempfile
import time
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402

LIMIT = 600
MOST_PARAMETERS = {"timm": 200e6, "transformers": 200e6}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["timm", "transformers", "table"])
    parser.add_argument("out")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--only-make", action="store_true", help="make the models and run eager, nothing else")
    parser.add_argument("--again", default="", help="verdicts in OUT that are to be found anew")
    options = parser.parse_intermixed_args()
    if options.kind == "table":
        return write_table(options.out, options.names)
    torch.set_num_threads(1)
    if not options.only_make:
        import lazyrt  # noqa: F401  once, before the processes fork
    part, parts = map(int, options.part.split("/"))
    zoo = Timm() if options.kind == "timm" else Transformers()
    counts = collections.Counter()
    known = [row for row in read_rows(options.out) if row[1] not in options.again.split(",")]
    with open(options.out, "w") as out:
        out.writelines("\t".join(row) + "\n" for row in known)
        done = {row[0] for row in known}
        for name in options.names or zoo.names()[part::parts]:
            if name in done:
                continue
            start = time.time()
            verdict, detail = in_a_process(lambda: judge(zoo, name, options.only_make))
            counts[verdict] += 1
            detail = " ".join(detail.split())
            out.write(f"{name}\t{verdict}\t{time.time() - start:.0f}\t{detail}\n")
            out.flush()
    print(options.kind, dict(counts))


def read_rows(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [line.rstrip("\n").split("\t") for line in file]


def in_a_process(fn):
    """What fn answers in a fork of this process, which it may crash."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(LIMIT)  # its default ends the process
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1), os.dup2(null, 2)
        os.write(writer, json.dumps(fn()).encode()[:60000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return ("timeout", "") if number == signal.SIGALRM else ("crash", f"signal {number}")
    return json.loads(answer) if answer else ("crash", f"exit {os.WEXITSTATUS(status)}")


# ---------------------------------------------------------------- one model

def judge(zoo, name, only_make):
    torch.manual_seed(0)
    try:
        model, calls = zoo.make(name)
    except BaseException as error:
        return "skip", f"{type(error).__name__}: {str(error)[:200]}"
    break_constants(model)
    keep_signals_alive(model, zoo.split(calls[0]))
    if only_make:
        return "made", ", ".join(f"{key}{list(value.shape)}" for key, value in calls[0].items())
    import lazyrt
    kept = copy.deepcopy(model)
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "model.lzb")
    args, kwargs = zoo.split(calls[0])
    try:
        report = lazyrt.export(model, args, path, kwargs=kwargs or None)
    except BaseException as error:
        text = str(error)
        return "random" if "[random]" in text else "refused", f"{type(error).__name__}: {text[:600]}"
    program = lazyrt.load(path)
    for number, call in enumerate(calls):
        args, kwargs = zoo.split(call)
        try:
            with torch.no_grad():
                expected = flatten(kept(*args, **kwargs))
        except Exception:
            if number > 0:
                continue
            raise
        try:
            got = flatten(program(*args, **kwargs))
        except Exception as error:
            if number > 0 and "another path" in str(error):
                continue  # a guard: refused, not wrong
            return "failed", f"call {number}: {type(error).__name__}: {str(error)[:300]}"
        problem = difference(expected, got)
        if problem and not difference(with_first_of_equals(kept, args, kwargs), got):
            return "ok", f"{report.verdict}, but for the order in which torch.topk takes equal elements"
        if problem and not difference(*in_one_order(expected, got)):
            return "ok", f"{report.verdict}, but for the order of rows whose scores nearly tie"
        if problem:
            return "wrong", f"call {number}: {problem}"
    return "ok", f"{report.verdict}, {len(expected)} results"


class FirstOfEquals(TorchFunctionMode):
    """torch.topk that takes the first of equal elements, as a bundle does; torch promises no order."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func not in (torch.topk, torch.Tensor.topk):
            return func(*args, **(kwargs or {}))
        given = {"dim": -1, "largest": True, **dict(zip(("input", "k", "dim", "largest"), args)), **(kwargs or {})}
        values, indices = torch.sort(given["input"], dim=given["dim"], descending=given["largest"], stable=True)
        found = [part.narrow(given["dim"], 0, given["k"]) for part in (values, indices)]
        return torch.return_types.topk(found)


def with_first_of_equals(model, args, kwargs):
    with torch.no_grad(), FirstOfEquals():
        return flatten(model(*args, **kwargs))


def break_constants(model):
    """Parameters that an initialiser left all alike get values: with a gate of zeros all experts tie, and which of equals
    torch.topk takes is nobody's promise."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.numel() > 1 and parameter.is_floating_point() and bool((parameter == parameter.flatten()[0]).all()):
                spread = torch.rand_like(parameter) - 0.5
                parameter.copy_(1 + 0.4 * spread if name.endswith("weight") and parameter.flatten()[0] == 1 else parameter + 0.2 * spread)


def in_one_order(expected, got, most=0.5, replaced=0.02):
    """The results with those rows of `got` put back that stand elsewhere in `expected`: what a detector selects comes in the order
    of its scores, where nearly equal ones change places. At most those shares of the rows do so, or are others: at the end of the
    selection, or made from a row and its place."""
    ordered, rest, exchanged = [y.copy() for y in got], [], 0
    for i, (x, y) in enumerate(zip(expected, got)):
        if x.shape != y.shape or x.dtype.kind != "f" or x.ndim < 2 or x.shape[-1] < 2:
            continue
        rows, others = x.reshape(-1, x.shape[-1]), y.reshape(-1, x.shape[-1])
        bound = 1e-3 * np.abs(rows[np.isfinite(rows)]).max(initial=0)
        bad = np.flatnonzero((np.abs(rows - others) > bound).any(-1))
        known = []
        if np.abs(np.sort(x, None) - np.sort(y, None)).max() <= bound:  # of pairs: rows and columns change places
            known = bad
        elif len(bad) <= most * len(rows):
            known = [row for row in bad if (np.abs(rows - others[row]).max(-1) <= bound).any()]
        exchanged = max(exchanged, len(known))
        ordered[i].reshape(rows.shape)[known] = rows[known]
        rest.append((i, np.setdiff1d(bad, known), rows))
    for i, others, rows in rest:
        if exchanged >= 2 and len(others) <= max(replaced * len(rows), exchanged):
            ordered[i].reshape(rows.shape)[others] = rows[others]
    return expected, ordered


def keep_signals_alive(model, call):
    """Filters are scaled so that their results have deviation 1, as in trained models (LSUV, Mishkin and Matas 2016): through a
    deep stack of random ones the signal dies away, and all scores of a detector nearly tie."""
    def scale(conv, inputs, output):
        deviation = output.std().item()
        plain = output.dim() == conv.weight.dim() and output.shape[1] == conv.out_channels
        if not plain or not conv.weight.requires_grad or not 0 < deviation < float("inf"):
            return output
        conv.weight.data.div_(deviation)
        bias = 0 if conv.bias is None else conv.bias.reshape(-1, *[1] * (conv.weight.dim() - 2))
        return (output - bias) / deviation + bias
    kinds = (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)
    hooks = [module.register_forward_hook(scale) for module in model.modules() if isinstance(module, kinds)]
    args, kwargs = call
    state = {name: buffer.clone() for name, buffer in model.named_buffers()}
    with torch.no_grad():
        model(*args, **kwargs)
        for name, buffer in model.named_buffers():
            buffer.copy_(state[name])
    for hook in hooks:
        hook.remove()


def flatten(value):
    if hasattr(value, "to_tuple"):
        value = value.to_tuple()
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flatten(item)]
    if isinstance(value, torch.Tensor):
        return [value.detach().clone().numpy()]
    if isinstance(value, np.ndarray):
        return [value]
    return flatten(vars(value)) if hasattr(value, "__dict__") and not isinstance(value, type) else []  # a cache of keys and values


def difference(expected, got, bound=1e-3):
    """None, or what is wrong."""
    if len(expected) != len(got):
        return f"{len(got)} results, not {len(expected)}"
    for i, (x, y) in enumerate(zip(expected, got)):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"result {i} is {y.dtype}{list(y.shape)}, not {x.dtype}{list(x.shape)}"
        if x.size == 0 or x.dtype.kind not in "f":
            if not np.array_equal(x, y):
                return f"result {i}: {(x != y).sum()} of {x.size} elements differ"
            continue
        finite = np.isfinite(x)
        if not np.array_equal(x[~finite], y[~finite], equal_nan=True):
            return f"result {i}: another infinity or NaN"
        off = np.abs(x[finite].astype("f8") - y[finite]).max(initial=0)
        scale = max(np.abs(x[finite]).max(initial=0), 1e-6)
        if not off <= bound * scale:
            return f"result {i} is off by {off:.2e} of {scale:.2e}"
    return None


# ---------------------------------------------------------------- timm

class Timm:
    """The smallest model of each module."""

    SMALL = ("pico", "nano", "atto", "femto", "tiny", "xxs", "xx_small", "_xs", "_s", "small", "050", "_t", "_b0", "18", "_n", "lite",
             "26", "_mini")

    def __init__(self):
        import zoo
        self.timm = zoo.import_timm()

    def names(self):
        found = []
        for module in sorted(self.timm.list_modules()):
            names = self.timm.list_models(module=module, pretrained=False)
            if names:
                found.append(min(names, key=self._size))
        return found

    def _size(self, name):
        return min([i for i, word in enumerate(self.SMALL) if word in name], default=99), len(name), name

    def make(self, name):
        with torch.device("meta"):
            check_size(self.timm.create_model(name, pretrained=False), "timm")
        model = self.timm.create_model(name, pretrained=False).eval()
        size = model.pretrained_cfg.get("input_size", (3, 224, 224))
        if not model.pretrained_cfg.get("fixed_input_size") and max(size) > 256:
            size = (size[0], 224, 224)
        calls = [{"x": torch.randn(1, *size)} for _ in range(2)]
        with torch.no_grad():
            copy.deepcopy(model)(calls[0]["x"])
        return model, calls

    @staticmethod
    def split(call):
        return (call["x"],), {}


def check_size(model, kind):
    count = sum(p.numel() for p in model.parameters())
    if count > MOST_PARAMETERS[kind]:
        raise MemoryError(f"{count / 1e6:.0f} million parameters are too many for this sweep")


# ---------------------------------------------------------------- transformers

TINY = {
    **dict.fromkeys(["hidden_size", "d_model", "n_embd", "embed_dim", "dim", "embedding_size", "word_embed_proj_dim", "projection_dim",
                     "decoder_hidden_size", "encoder_hidden_size", "emb_dim", "conv_dim", "fpn_feature_size", "mask_feature_size",
                     "feature_size", "hidden_dim", "text_embed_dim"], 32),
    **dict.fromkeys(["num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "decoder_attention_heads",
                     "decoder_num_attention_heads", "pred_num_attention_heads", "prediction_num_attention_heads"], 4),
    **dict.fromkeys(["num_key_value_heads", "num_kv_heads", "multi_query_group_num"], 2),
    **dict.fromkeys(["intermediate_size", "ffn_dim", "d_ff", "n_inner", "encoder_ffn_dim", "decoder_ffn_dim",
                     "decoder_intermediate_size", "dim_feedforward"], 64),
    "moe_intermediate_size": 32, "head_dim": 8, "d_kv": 8, "rotary_dim": 8, "image_size": 64, "patch_size": 16,
}
VOCABULARY, PLACEHOLDERS = 128, 100  # ids from 100 on stand for images, sounds and the like
FEW = {
    **dict.fromkeys(["num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "num_routed_experts"], 4),
    **dict.fromkeys(["n_group", "topk_group", "num_expert_group", "moe_num_expert_group"], 1),
    **dict.fromkeys(["num_experts_per_tok", "moe_topk", "top_k_experts"], 2),
    "vocab_size": VOCABULARY, "max_position_embeddings": 64, "n_positions": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}
LAYERS = re.compile(r"^(n|num|\w*_num|num_\w+)_(layers?|blocks)$|^(encoder|decoder|\w+_hidden)_layers$|^(depth|n_layer|num_hidden_layers)$")
STAGES = ("num_feat_extract_layers", "num_encoder_blocks")  # as many as other settings have items
WIDTHS = re.compile(r"(hidden|intermediate|embed\w*|feature|head|ffn|inner|expert|state|latent|projection|proj)_(size|dim)s?$|_rank$"
                    r"|^(d_model|d_ff|n_embd|dim|d_kv|n_inner|width|conv_dim|head_dim|hidden_sizes|embed_dims?|mamba_d_ssm|d_inner)$")


def shrunk(config, divisor):
    """The settings of `config` and its parts with which it is small, as keyword arguments: 0 takes what stands in TINY, else
    its widths are divided, so that they fit each other as before."""
    chosen = {key: 4 for key in ("prediction_length", "context_length") if getattr(config, key, 0) is None}
    for key, value in config.to_dict().items():
        small = shrunk_value(key, value, divisor)
        if small is not None:
            chosen[key] = small
    for key, kinds in config.to_dict().items():
        if isinstance(kinds, list) and kinds and "layer" in key and all(isinstance(kind, str) for kind in kinds):
            chosen[key] = (list(dict.fromkeys(kinds)) + kinds[:1])[:max(2, len(set(kinds)))]
            chosen["num_hidden_layers"] = len(chosen[key])
    sections = config.to_dict().get("rope_parameters") or {}
    if "mrope_section" in sections and divisor == 0:
        half = int(TINY["head_dim"] * sections.get("partial_rotary_factor", 1)) // 2
        chosen["rope_parameters"] = {**sections, "mrope_section": [half - 2 * (half // 3), half // 3, half // 3]}
    for key in getattr(type(config), "sub_configs", {}):
        part = getattr(config, key, None)
        if hasattr(part, "to_dict"):
            whole = {name: value for name, value in part.to_dict().items() if name != "per_layer_config"}
            chosen[key] = {**whole, **shrunk(part, divisor)}
    return chosen


def shrunk_value(key, value, divisor):
    """A small value of a setting; None leaves it alone."""
    if key == "use_cache":
        return False
    if key == "depths" or LAYERS.search(key) and isinstance(value, list):
        return [min(2, n) for n in value]
    if WIDTHS.search(key) and isinstance(value, list) and divisor > 1 and all(isinstance(n, int) for n in value):
        return [max(8, n // divisor) for n in value]
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        return None
    if key in FEW:
        return min(FEW[key], value)
    if LAYERS.search(key):
        return value if key in STAGES else min(2, value)
    if key.endswith(("_token_id", "_token_index")) and value >= VOCABULARY:
        return PLACEHOLDERS + sum(map(ord, key)) % (VOCABULARY - PLACEHOLDERS)
    if divisor == 0:
        return min(TINY[key], value) if key in TINY else None
    return max(8, value // divisor) if WIDTHS.search(key) and value >= 32 else None


class Transformers:
    # inputs to try in this order, until eager takes them
    CHOICES = [["input_ids", "pixel_values"], ["pixel_values"], ["input_ids"], ["input_values"], ["input_features"],
               ["input_ids", "decoder_input_ids"], ["input_features", "decoder_input_ids"], ["input_values", "decoder_input_ids"],
               ["pixel_values", "decoder_input_ids"], ["input_ids", "bbox"], ["input_ids", "input_features"],
               ["input_features", "input_features_mask"], ["input_ids", "input_features", "is_longer"],
               ["input_ids", "pixel_values", "bbox"], ["pixel_values_videos"], ["input_ids", "input_values"], ["audio_values"],
               ["past_values"], ["past_values", "past_time_features", "past_observed_mask", "future_values", "future_time_features"],
               ["input_points", "pixel_values"], ["audio_values", "pixel_values"], ["pixel_values", "pixel_mask"]]
    DIVISORS = (0, 1, 4, 8, 16)

    def __init__(self):
        import transformers
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING
        from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES
        self.transformers, self.configs, self.models = transformers, CONFIG_MAPPING, MODEL_MAPPING_NAMES
        offer_timm(transformers)

    def names(self):
        return sorted(name for name, model in self.models.items() if isinstance(model, str))

    def make(self, name):
        problems = []
        base = self.configs[name]()
        for divisor in self.DIVISORS:
            try:
                config = self.configs[name](**shrunk(base, divisor))
                with torch.device("meta"):
                    check_size(self.transformers.AutoModel.from_config(config), "transformers")
                model = self.transformers.AutoModel.from_config(config).eval()
            except Exception as error:
                problems.append(f"{type(error).__name__}: {str(error)[:80]}")
                continue
            for names in self._choices(model, config):
                calls, problem = self._calls(model, config, names)
                if calls:
                    return model, calls
                problems.append(f"{'+'.join(names)}: {problem}")
        raise ValueError("; ".join(dict.fromkeys(problems)))

    def _choices(self, model, config):
        parameters = inspect.signature(model.forward).parameters
        main = getattr(model, "main_input_name", "input_ids")
        required = [key for key, value in parameters.items() if value.default is value.empty and value.kind is value.POSITIONAL_OR_KEYWORD]
        choices = [[main]] + self.CHOICES + ([required] if required else [])
        if getattr(config, "is_encoder_decoder", False):
            choices = [[main, "decoder_input_ids"]] + choices
        choices = [choice for choice in choices if all(key in parameters for key in choice)]
        # images beside text first: where they fit, more of the model runs
        return sorted(choices, key=lambda choice: (main not in choice, choice[0] != main and "pixel_values" not in choice))

    def _calls(self, model, config, names):
        """Two calls that eager takes, or why it takes none."""
        problem, marks = "", ()
        for variant in range(3):
            for _ in range(2):  # the second time with as many placeholders as the first has asked for
                torch.manual_seed(1)
                try:
                    calls = [{name: self._input(name, config, variant, marks, names) for name in names} for _ in range(2)]
                    with torch.no_grad():
                        for call in calls:
                            copy.deepcopy(model)(**call)
                    return calls, ""
                except Exception as error:
                    problem = problem or f"{type(error).__name__}: {str(error)[:80]}"
                    marks = placeholders(config, names, str(error))
                    if not marks:
                        break
        return None, problem

    def _input(self, name, config, variant, marks, names):
        """One of the inputs `names`; where models differ in its shape, `variant` says which of them."""
        if name.endswith("grid_thw"):
            return torch.tensor([[1, 4, 4]])
        if any(other.endswith("grid_thw") for other in names) and name in ("hidden_states", "pixel_values"):
            patch = setting(config, "patch_size", 14) ** 2 * setting(config, "in_channels", setting(config, "num_channels", 3))
            return torch.randn(16, patch * (setting(config, "temporal_patch_size", 2) if variant == 0 else 1))
        mels = setting(config, "num_mel_bins", 80)
        if name.endswith("input_ids"):
            ids = torch.randint(3, PLACEHOLDERS, (1, 5 if name.startswith("decoder") else 12))
            return ids if name.startswith("decoder") or not marks else torch.cat([ids, torch.full((1, marks[1]), marks[0])], 1)
        if name.startswith("pixel_values"):
            size = setting(config, "image_size", 224)
            height, width = size if isinstance(size, (list, tuple)) else (size, size)
            image = (setting(config, "num_channels", 3), height, width)
            film = name.endswith("videos") or variant == 1
            return torch.randn(1, *([setting(config, "num_frames", 4)] if film else [1] if variant == 2 else []), *image)
        if name == "bbox":
            corner = torch.randint(0, 30, (1, 12, 2))
            return torch.cat([corner, corner + torch.randint(0, 20, (1, 12, 2))], -1)
        if name == "input_features":
            return torch.randn(*[(1, mels, 3000), (1, 100, setting(config, "feature_projection_input_dim", setting(config, "input_feat_per_channel", mels))), (1, 1, 1001, 64)][variant])
        if name == "input_values":
            return torch.randn(*[(1, 4000), (1, setting(config, "max_length", 128), mels), (1, 1, 4000)][variant])
        if name.startswith(("past_", "future_")):
            return self._series(name, config)
        if name == "input_points":
            return torch.rand(1, 1, 2, 2) * 60
        if name == "is_longer":
            return torch.ones(1, 1, dtype=torch.bool)
        if name == "pixel_mask":
            return torch.ones(1, 64, 64, dtype=torch.long)
        if name.endswith("mask"):
            return torch.ones(1, (3000, 100, 1001)[variant], dtype=torch.long)
        return torch.randn(1, 1, 4000)

    @staticmethod
    def _series(name, config):
        """The future and the past of a time series, with the lags that it looks back."""
        steps = setting(config, "context_length", 64) + max(getattr(config, "lags_sequence", None) or [0])
        if name.startswith("future_"):
            steps = setting(config, "prediction_length", 4)
        if name.endswith("time_features"):
            return torch.randn(1, steps, setting(config, "num_time_features", 0))
        if hasattr(config, "lags_sequence"):
            return torch.ones(1, steps) if name.endswith("mask") else torch.randn(1, steps)
        return torch.randn(1, steps, setting(config, "num_input_channels", 1))

    @staticmethod
    def split(call):
        return (), call


def offer_timm(transformers):
    """transformers takes timm only where torchvision is, which timm's models do without."""
    import zoo
    zoo.import_timm()
    found = transformers.utils.import_utils
    transformers.utils.is_timm_available = found.is_timm_available = lambda: True
    found.BACKENDS_MAPPING["timm"] = (found.is_timm_available, "")


def placeholders(config, names, message):
    """(token, how many) where eager misses the tokens that stand for images or sounds, else ()."""
    asked = re.search(r"tokens:? *\d+\D+features:?\D*(\d+)", message)
    kind = "image" if "pixel_values" in names else "audio"
    token = setting(config, f"{kind}_token_id", None) or setting(config, f"{kind}_token_index", None)
    return (token, int(asked.group(1))) if asked and token is not None and int(asked.group(1)) < 2000 else ()


def setting(config, name, default):
    """Of the configuration or one of its parts."""
    value = getattr(config, name, None)
    for part in getattr(type(config), "sub_configs", {}):
        if value is None:
            value = getattr(getattr(config, part, None), name, None)
    return default if value is None else value


# ---------------------------------------------------------------- the table

def reason(detail):
    return re.sub(r"/\S*/site-packages/", "", detail).replace("|", "/")[:220]


def write_table(path, results):
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("torch", "timm", "transformers"))
    lines = ["# Models from elsewhere, exported fresh", "", f"Written by `sweep.py table`; {versions}.", ""]
    for result in results:
        rows = sorted(read_rows(result))
        counts = collections.Counter(row[1] for row in rows)
        made = sum(count for verdict, count in counts.items() if verdict != "skip")
        title = os.path.splitext(os.path.basename(result))[0]
        lines += [f"## {title}", "", f"{counts['ok']} of {made} that could be made are right "
                  f"({', '.join(f'{count} {verdict}' for verdict, count in counts.most_common())}).", ""]
        lines += ["Right: " + ", ".join(row[0] for row in rows if row[1] == "ok") + ".", ""]
        odd = [f"| {row[0]} | {row[1]} | {reason(row[3])} |" for row in rows if row[1] not in ("ok", "skip")]
        lines += ["| name | | why |", "|---|---|---|", *odd, ""] if odd else []
        skipped = [row[0] for row in rows if row[1] == "skip"]
        lines += ["Skipped: " + ", ".join(skipped) + ".", ""] if skipped else []
    with open(path, "w") as file:
        file.write("\n".join(lines).rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
