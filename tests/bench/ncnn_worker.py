"""ncnn on Vulkan, in float32, on one model of tests/models; prints one JSON object.

    python ncnn_worker.py export NAME FOLDER            FOLDER/NAME.ncnn.param and .ncnn.bin, by pnnx
    python ncnn_worker.py run NAME FOLDER EXAMPLES --seconds S --output FILE
        EXAMPLES: the .npz of inputs that export_zoo.py writes; FILE gets the first output as raw float32

Needs the packages ncnn and pnnx, export also torch.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "models")]
import eager_worker  # noqa: E402

SHORT_TYPES = {"float32": "f32", "int64": "i64"}


def export(name, folder):
    import pnnx
    import torch
    import zoo
    module, inputs = zoo.get(name)
    shapes = ",".join(f"[{','.join(map(str, x.shape))}]{SHORT_TYPES[str(x.dtype)[len('torch.'):]]}" for x in inputs)
    with tempfile.TemporaryDirectory() as scratch:
        with torch.no_grad():
            torch.jit.trace(module, inputs).save(os.path.join(scratch, "model.pt"))
        done = subprocess.run([pnnx.EXEC_PATH, "model.pt", f"inputshape={shapes}", "fp16=0"], cwd=scratch, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            sys.exit(f"pnnx: exit {done.returncode}\n{done.stdout[-1000:]}")
        with open(os.path.join(scratch, "model.ncnn.param")) as f:
            types = {line.split()[0] for line in f.read().splitlines()[2:]}
        unknown = sorted(t for t in types if "." in t or t.startswith(("pnnx", "aten", "prim", "Tensor")))
        if unknown:
            sys.exit(f"ncnn has no layer {', '.join(unknown)}")
        for path in glob.glob(os.path.join(scratch, "model.ncnn.*")):
            if path.endswith((".param", ".bin")):
                os.replace(path, os.path.join(folder, name + os.path.basename(path)[len("model"):]))
    return {"layers": sorted(types)}


def load(path):
    """The network on Vulkan's first device. Whatever has half precision in its name is off."""
    import ncnn
    if ncnn.get_gpu_count() == 0:
        sys.exit("ncnn finds no device of Vulkan")
    net = ncnn.Net()
    net.opt.use_vulkan_compute = True
    for option in dir(net.opt):
        if option.startswith(("use_fp16", "use_bf16")):
            setattr(net.opt, option, False)
    net.opt.num_threads = os.cpu_count()  # of layers that ncnn leaves to the CPU
    net.set_vulkan_device(0)
    if net.load_param(path + ".ncnn.param") or net.load_model(path + ".ncnn.bin"):
        sys.exit("ncnn cannot load its files")
    return net


def run(name, folder, examples, seconds, output):
    import ncnn
    import numpy
    net = load(os.path.join(folder, name))
    arrays = numpy.load(examples)
    inputs = [arrays[f"in{i}"][0] for i in range(sum(key.startswith("in") for key in arrays))]  # ncnn has no batch
    inputs = [numpy.ascontiguousarray(x.astype(numpy.int32) if x.dtype == numpy.int64 else x) for x in inputs]
    mats = [ncnn.Mat(x) for x in inputs]

    def call():
        extractor = net.create_extractor()
        for i, mat in enumerate(mats):
            extractor.input(f"in{i}", mat)
        code, out = extractor.extract("out0")
        if code:
            sys.exit(f"ncnn cannot run it: code {code}")
        return numpy.array(out)

    call().astype(numpy.float32).tofile(output)
    return {**eager_worker.time_calls(call, seconds), "ncnn": ncnn.__version__,
            "device": ncnn.get_gpu_info(0).device_name(),
            "on_cpu": sorted({layer.type for layer in net.layers() if not layer.support_vulkan})}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["export", "run"])
    parser.add_argument("name")
    parser.add_argument("folder")
    parser.add_argument("examples", nargs="?")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--output")
    args = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    result = (export(args.name, args.folder) if args.what == "export" else
              run(args.name, args.folder, args.examples, args.seconds, args.output))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
