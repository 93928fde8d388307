"""One test of one model; CMakeLists.txt beside makes a ctest of each. Exit code 0 if all holds.

    check_model.py export BIN_DIR FOLDER NAME      lazy-export FOLDER/NAME.pt2, and what its JSON must say
    check_model.py run BIN_DIR FOLDER NAME BACKEND   the bundle's samples, and eager's outputs for its inputs
"""
import json
import os
import subprocess
import sys

import numpy

TOLERANCE = 1e-4  # largest absolute error over the output's largest absolute value
CNNS = ["mobilenet_v2", "mobilenet_v3_large", "resnet18", "resnet50", "efficientnet_b0", "ds_cnn", "unet_small",
        "digits"]
# What cpu still gives to reference kernels; an entry that is no longer true fails the test.
ON_REFERENCE_KERNELS = {"vae_decoder": {"group_norm"}, "unet3d": {"group_norm", "softmax"}}
# What vulkan leaves to the cpu, alike.
NOT_ON_VULKAN = {}
MOST_PERMUTES_OF_A_CNN = 2  # the image in, and a map out


def call(command):
    print("+", " ".join(command), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"exit {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def tool(bin_dir, name):
    return os.path.join(bin_dir, name)


def export(bin_dir, folder, name):
    model, bundle = (os.path.join(folder, name + ending) for ending in (".pt2", ".lzb"))
    exporter = tool(bin_dir, "lazy-export")
    summary = json.loads(call([exporter, model, "-o", bundle, "--json"]))
    print(json.dumps({k: v for k, v in summary.items() if k not in ("passes", "notes")}, indent=1))
    expect(summary["shapes"]["cpu"] == 0, f"{summary['shapes']['cpu']} shapes were found by computing on the CPU")
    on_reference = {node["op"] for node in summary["reference_nodes"]}
    expect(on_reference == ON_REFERENCE_KERNELS.get(name, set()),
           f"cpu runs by reference kernels: {summary['reference_nodes']}")
    call([exporter, "verify", bundle])
    method = json.loads(call([exporter, "inspect", bundle, "--json"]))["methods"][0]
    permutes = method["ops"].get("permute", 0)
    if name in CNNS:
        expect(permutes <= MOST_PERMUTES_OF_A_CNN, f"{permutes} permutes in a convolutional network")
    between_convs(method)


def between_convs(method):
    """No permute reads what one conv made and feeds another, directly or through elementwise nodes."""
    convs = ("conv2d", "conv_transpose2d")
    passing = ("unary", "binary", "permute", "max_pool2d", "avg_pool2d", "concat")
    comes_from_conv, after_permute = set(), set()
    for node in method["node_list"]:
        reads = [i for i in node["inputs"] if i >= 0]
        if node["op"] in convs:
            expect(reads[0] not in after_permute, f"a permute between convolutions, before {node}")
        if node["op"] in convs or (node["op"] in passing and comes_from_conv.intersection(reads)):
            comes_from_conv.update(node["outputs"])
        if node["op"] in passing and (after_permute.intersection(reads) or
                                      (node["op"] == "permute" and comes_from_conv.intersection(reads))):
            after_permute.update(node["outputs"])


def run(bin_dir, folder, name, backend):
    runner, bundle = tool(bin_dir, "lazy-run"), os.path.join(folder, name + ".lzb")
    if backend != "vulkan":
        print(call([runner, bundle, "--backend", backend, "--threads", "2"]))
    else:  # checks the samples, too
        nodes = json.loads(call([runner, bundle, "--backend", backend, "--json", "--profile"]))["profile"]
        elsewhere = {node["op"] for node in nodes if node["backend"] != "vulkan"}
        expect(elsewhere == NOT_ON_VULKAN.get(name, set()), f"operators that vulkan leaves to the cpu: {elsewhere}")
    if backend != "reference":  # slow: its samples suffice
        against_eager(runner, bundle, folder, name, backend)


def against_eager(runner, bundle, folder, name, backend):
    """Runs the inputs of NAME.npz and compares with the outputs that eager gave."""
    exporter = tool(os.path.dirname(runner), "lazy-export")
    method = json.loads(call([exporter, "inspect", bundle, "--json"]))["methods"][0]
    examples = numpy.load(os.path.join(folder, name + ".npz"))
    out_dir = os.path.join(folder, f"{name}.{backend}")
    os.makedirs(out_dir, exist_ok=True)
    command = [runner, bundle, "--backend", backend, "--json", "--output-dir", out_dir]
    for number, wanted in enumerate(method["inputs"]):
        path = os.path.join(out_dir, f"in{number}.npy")
        numpy.save(path, examples[f"in{number}"])
        command += ["--input", f"{wanted['name']}={path}"]
    outputs = json.loads(call(command))["outputs"]
    expect(f"out{len(outputs) - 1}" in examples and f"out{len(outputs)}" not in examples, "number of outputs")
    for number, output in enumerate(outputs):
        ours = numpy.load(os.path.join(out_dir, os.path.basename(output["file"]))).astype(numpy.float64)
        eager = examples[f"out{number}"].astype(numpy.float64)
        expect(ours.shape == eager.shape, f"output {number}: shape {ours.shape}, eager's {eager.shape}")
        error = abs(ours - eager).max() / abs(eager).max()
        print(f"output {number}: largest error {error:.2e} of the largest value")
        expect(error <= TOLERANCE, f"output {number} differs from eager's by {error}")


if __name__ == "__main__":
    {"export": export, "run": run}[sys.argv[1]](*sys.argv[2:])
