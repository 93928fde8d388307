"""The models of the zoo, and architectures that nobody tuned the exporter for, with extents that vary: each exported from Python by lazyrt.export(dynamic=),
then run at sizes within the bounds, both ends among them, and compared with eager. Prints a row for each.

    PYTHONPATH=build/dev/python python check_sizes.py [--backends cpu,reference] [--count 6] [--reference 3] [NAME]...
    PYTHONPATH=build/dev/python python check_sizes.py --other [NAME]...        those of OTHERS
    PYTHONPATH=build/dev/python python check_sizes.py --small [NAME]...        images, tokens and frames of a quarter of the extents: the same programs of
                                                                               sizes in a fraction of the time

Exit code 1 where a model is not exported, or not right at a size. CI runs the small ones.
"""
import argparse
import inspect
import math
import os
import random
import sys
import tempfile
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

import torch  # noqa: E402

import zoo  # noqa: E402

TOLERANCE = 1e-4  # largest absolute error over the output's largest absolute value
BATCH = (1, 8)


SIDE = 224  # of images whose batch alone varies
FIXED_SIDE = ("vit_tiny",)  # models that take no other


def image(b=1, h=None, w=None):
    return (torch.randn(b, 3, h or SIDE, w or SIDE),)


def padded_ids(b, n):
    """Some are padded wherever there is room: of a mask that is all ones BERT takes another path, which is guarded, and refused where no sample took it."""
    lengths = torch.randint(1, n + 1, (b, 1))
    lengths[0].clamp_(max=max(n - 1, 1))
    return torch.randint(0, 30522, (b, n)), (torch.arange(n)[None] < lengths).to(torch.int64)


CNN = (image, {"b": (*BATCH, 2)}, {"x": {0: "b"}})
# {name: (arguments at sizes, {symbol: (least, most, the sample's[, multiple])}, {argument: {dim: symbol}})}
ZOO = {
    "mobilenet_v2": (image, {"b": (*BATCH, 2), "h": (160, 288, 224), "w": (160, 288, 192)}, {"x": {0: "b", 2: "h", 3: "w"}}),
    "mobilenet_v3_large": CNN,
    "resnet18": CNN,
    "resnet50": CNN,
    "efficientnet_b0": CNN,
    "vit_tiny": CNN,
    "bert_mini": (padded_ids, {"b": (*BATCH, 2), "n": (1, 512, 24)}, {"input_ids": {0: "b", 1: "n"}, "attention_mask": {0: "b", 1: "n"}}),
    "ds_cnn": (lambda b: (torch.randn(b, 1, 49, 10),), {"b": (*BATCH, 2)}, {"x": {0: "b"}}),
    "conv_gru": (lambda b, t: (torch.randn(b, t, 40),), {"b": (*BATCH, 2), "t": (1, 400, 20)}, {"x": {0: "b", 1: "t"}}),
    "llama_tiny": (lambda b, n: (torch.randint(0, 4096, (b, n)),), {"b": (*BATCH, 2), "n": (1, 512, 24)}, {"input_ids": {0: "b", 1: "n"}}),
    "unet_small": (image, {"b": (1, 8, 2), "h": (160, 288, 224, 8), "w": (160, 288, 192, 8)}, {"x": {0: "b", 2: "h", 3: "w"}}),
}


def _transformer(name, pick=lambda out: out.last_hidden_state, kind="Model", **config):
    def make():
        import transformers
        settings = getattr(transformers, name + "Config")(**config)
        model = getattr(transformers, name + kind)(settings)

        class Wrapped(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.m = model

        if name == "Wav2Vec2" or name == "Whisper":
            Wrapped.forward = lambda self, x: pick(self.m(x))
        elif "Vision" in name or name in ("Dinov2", "Segformer", "Swin"):
            Wrapped.forward = lambda self, x: pick(self.m(pixel_values=x))
        else:
            Wrapped.forward = lambda self, ids: pick(self.m(input_ids=ids))
        return Wrapped()

    return make


TEXT = (lambda b, n: (torch.randint(0, 90, (b, n)),), {"b": (1, 4, 2), "n": (1, 96, 9)}, {"ids": {0: "b", 1: "n"}})
PIXELS = (image, {"h": (64, 160, 96, 32), "w": (64, 160, 128, 32)}, {"x": {2: "h", 3: "w"}})
_SMALL = {"vocab_size": 90, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
OTHERS = {
    "modernbert": (_transformer("ModernBert", **_SMALL, pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2, local_attention=16), *TEXT),
    "qwen3": (_transformer("Qwen3", **_SMALL, num_key_value_heads=2, head_dim=8, use_cache=False), *TEXT),
    "t5_encoder": (_transformer("T5", kind="EncoderModel", vocab_size=90, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4), *TEXT),
    # Its scan is a Python loop of as many steps as tokens, which is refused: the batch alone varies.
    "mamba": (_transformer("Mamba", vocab_size=90, hidden_size=32, num_hidden_layers=2, state_size=4, use_cache=False),
              lambda b: (torch.randint(0, 90, (b, 9)),), {"b": (1, 4, 2)}, {"ids": {0: "b"}}),
    "wav2vec2": (_transformer("Wav2Vec2", hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, conv_dim=(16, 16, 16),
                              conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_feat_extract_layers=3, num_conv_pos_embeddings=16,
                              num_conv_pos_embedding_groups=4),
                 lambda b, n: (torch.randn(b, n),), {"b": (1, 3, 2), "n": (400, 4000, 1600)}, {"x": {0: "b", 1: "n"}}),
    "dinov2": (_transformer("Dinov2", hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=112, patch_size=14),
               image, {"h": (56, 168, 112, 14), "w": (56, 168, 84, 14)}, {"x": {2: "h", 3: "w"}}),
    "segformer": (_transformer("Segformer", hidden_sizes=[8, 16, 32, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 4, 8]), *PIXELS),
    "swin": (_transformer("Swin", embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4, image_size=64), *PIXELS),
    "convnextv2_atto": (lambda: zoo.timm_model("convnextv2_atto"), *PIXELS),
    "efficientvit_b0": (lambda: zoo.timm_model("efficientvit_b0"), *PIXELS),
    "deberta_v2": (_transformer("DebertaV2", **_SMALL, relative_attention=True, position_buckets=16, pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm",
                                share_att_key=True, max_position_embeddings=128), *TEXT),
    "gemma2": (_transformer("Gemma2", **_SMALL, num_key_value_heads=2, head_dim=8, sliding_window=16, use_cache=False), *TEXT),
    "pvt_v2_b0": (lambda: zoo.timm_model("pvt_v2_b0"), *PIXELS),
}


def made_small():
    """A quarter of the images' sides, tokens and frames; multiples stay."""
    global SIDE
    SIDE //= 4
    for name, (arguments, ranges, dims) in ZOO.items():
        small = {s: bounds if s == "b" or bounds[1] < 100 else tuple(max(1, v // 4) for v in bounds[:3]) + bounds[3:] for s, bounds in ranges.items()}
        ZOO[name] = ((lambda b: image(b, 224, 224)) if name in FIXED_SIDE else arguments, small, dims)


def built(name):
    """(module, arguments at sizes, ranges, dims)"""
    if name in OTHERS:
        make, arguments, ranges, dims = OTHERS[name]
        start = {symbol: bounds[2] for symbol, bounds in ranges.items()}
        return zoo.build(make, lambda: arguments(**start))[0], arguments, ranges, dims
    arguments, ranges, dims = ZOO[name]
    return zoo.get(name)[0], arguments, ranges, dims


def dynamic_of(module, ranges, dims):
    """What lazyrt.export takes, by the names that the module's arguments have."""
    inputs = [name for name in inspect.signature(module.forward).parameters if name not in ("args", "kwargs")]
    return {inputs[i]: {dim: (s, *ranges[s][:2], *ranges[s][3:]) for dim, s in places.items()} for i, places in enumerate(dims.values())}


def points_of(ranges, count):
    """Both ends, each symbol at its least while the others are at their most, and some that are drawn."""
    draw = random.Random(3)
    step = {symbol: bounds[3] if len(bounds) > 3 else 1 for symbol, bounds in ranges.items()}
    points = [{symbol: bounds[0] for symbol, bounds in ranges.items()}, {symbol: bounds[1] for symbol, bounds in ranges.items()}]
    points += [{s: bounds[0] if s == symbol else bounds[1] for s, bounds in ranges.items()} for symbol in ranges if len(ranges) > 1]
    while len(points) < max(count, 2):
        points.append({symbol: draw.randrange(bounds[0], bounds[1] + 1, step[symbol]) for symbol, bounds in ranges.items()})
    return points


def error_of(ours, eager):
    eager = eager[0] if isinstance(eager, (tuple, list)) else eager
    ours = ours[0] if isinstance(ours, (tuple, list)) else ours
    if tuple(ours.shape) != tuple(eager.shape):
        return float("inf")
    return float((torch.as_tensor(ours) - eager).abs().max() / eager.abs().max().clamp(min=1e-30))


def check(name, backends, count, folder, reference):
    """(row of the table, whether all is right)"""
    import lazyrt
    module, arguments, ranges, dims = built(name)
    module.requires_grad_(False)
    torch.manual_seed(5)
    start = {symbol: bounds[2] for symbol, bounds in ranges.items()}
    dynamic = dynamic_of(module, ranges, dims)
    path = os.path.join(folder, name + ".lzb")
    begin = time.time()
    try:
        report = lazyrt.export(module, arguments(**start), path, dynamic=dynamic)
    except Exception as error:  # the row says it
        return f"| {name} | {type(error).__name__}: {str(error).splitlines()[0][:300]} |", False
    seconds, worst, wrong, points = time.time() - begin, {}, [], points_of(ranges, count)
    programs = {backend: lazyrt.load(path, backend=backend) for backend in backends}
    by_size = sorted(points, key=lambda point: math.prod(point.values()))
    tried = {backend: by_size[:reference] if backend == "reference" else points for backend in backends}
    for point in points:
        args = arguments(**point)
        with torch.no_grad():
            eager = module(*args)
        for backend, program in programs.items():
            if point not in tried[backend]:
                continue
            try:
                error = error_of(program(*args), eager)
                text = f"{error:.1e}"
            except lazyrt.Error as refusal:
                error, text = math.inf, str(refusal)[:160]
            worst[backend] = max(worst.get(backend, 0), error)
            if not error <= TOLERANCE:
                wrong.append(f"{backend} {point}: {text}")
    errors = ", ".join(f"{backend} {error:.1e} at {len(tried[backend])}" for backend, error in worst.items())
    symbols = ", ".join(f"{symbol} {least}..{most}" + (f"/{multiple}" if multiple > 1 else "") for symbol, (least, most, multiple) in program.symbols.items())
    return f"| {name} | {report.verdict}, {program.variants} variants | {symbols} | {errors} | {seconds:.0f} s |" + "".join(
        f"\n    {text}" for text in wrong[:4]), not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", default="cpu,reference")
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--reference", type=int, default=None, metavar="COUNT", help="the reference backend, which is slow, runs at the smallest sizes only")
    parser.add_argument("--other", action="store_true", help="those of OTHERS")
    parser.add_argument("--small", action="store_true", help="smaller images, fewer tokens")
    parser.add_argument("--keep", default="", help="a folder for the bundles")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    torch.set_num_threads(2)
    if args.small:
        made_small()
    names = args.names or list(OTHERS if args.other else ZOO)
    all_right = True
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            row, right = check(name, args.backends.split(","), args.count, args.keep or folder, args.reference)
            all_right &= right
            print(row, flush=True)
    sys.exit(0 if all_right else 1)


if __name__ == "__main__":
    main()
