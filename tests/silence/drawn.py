"""python drawn.py [--seeds FIRST LAST] [--kind KIND] [--front FRONT] [--shrink] [--show]: programs drawn by seeds, judged as those of the suites are. KIND is memory
(drawn_programs.py), objects (drawn_objects.py) or sizes (drawn_sizes.py), FRONT python, torchscript (a file, through lazy-export) or scripted (torch.jit.script's
module through lazyrt.export). Every fourth program of the first two kinds is exported with three samples. Ends with an error when one is silent, crashes or is "caught". With --shrink each of these is printed with as few statements as still do it."""

import argparse
import functools
import importlib.util
import multiprocessing
import pathlib
import queue as queues
import random as random_numbers
import sys
import tempfile
import warnings

BATCH = 20  # programs of a process: an export looks at everything that Python holds
LIMIT = 900  # seconds for one: where sizes vary many are tried


def inputs(seed, named):
    """Rows of arguments, small and large ones, zeros, the same again: "full" is f32[3,4], "index" i64[3] in 0..2."""
    import torch

    random = torch.Generator().manual_seed(seed)

    def drawn(kind, scale):
        return torch.randn(3, 4, generator=random) * scale if kind == "full" else torch.randperm(3, generator=random)

    scales = [1, 1, 1, 0.01, 30, 1, 1, 0, 1, -3, 1, 1, 100, 1, 1, 1, 0.1, 1, 1, 1]
    rows = [tuple(drawn(kind, scale) for kind in named.values()) for scale in scales]
    return rows + [rows[0], rows[0], tuple(row.abs() for row in rows[1]), *rows[2:18]]


def sized_inputs(seed, program):
    """Rows of arguments at both ends of the sizes, beside the sample, at others that are drawn, some of them twice. "rows_n" is f32[n,4]."""
    import torch

    draw, random = random_numbers.Random(seed), torch.Generator().manual_seed(seed)
    bounds = program.sizes.values()
    points = [[start for *_, start in bounds], [least for least, *_ in bounds], [most for _, most, _ in bounds]]
    points += [[min(max(start + more, least), most) for least, most, start in bounds] for more in (-1, 1, 2)]
    points += [[draw.randint(least, most) for least, most, _ in bounds] for _ in range(18)]
    points += [points[0], points[6], points[6], points[1]]
    sizes = [dict(zip(program.sizes, point)) for point in points]
    return [tuple(torch.randn(size[kind.removeprefix("rows_")], 4, generator=random) for kind in program.inputs.values()) for size in sizes]


def author(kind):
    """(seed, script) -> Program"""
    import drawn_objects
    import drawn_programs
    import drawn_sizes

    return {"memory": drawn_programs.drawn_program, "objects": drawn_objects.drawn_objects, "sizes": drawn_sizes.drawn_sizes}[kind]


def load(file, count):
    """The file as a module of a new name: what it keeps at its top is its own."""
    spec = importlib.util.spec_from_file_location(f"{file.stem}_{count}", file)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def judged(program, seed, front):
    """(verdict, text) of a Program, exported in this process. Beside the harness's verdicts "void", which eager does not run, and "caught": only the check saw that
    the capture was wrong."""
    import torch

    import harness

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, f"drawn_{seed}.py")
        file.write_text(program.source())
        modules = []

        def make():
            torch.manual_seed(0)
            modules.append(load(file, len(modules)))
            made = modules[-1].Drawn()
            return torch.jit.script(made) if front != "python" else made

        try:
            rows = sized_inputs(seed, program) if program.sizes else inputs(seed, program.inputs)
            try:
                trial = make()
                with torch.no_grad():
                    for row in rows if program.sizes else rows[:3]:
                        trial(*harness._copy(row))
                del trial
            except Exception as error:
                return "void", f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
            more = (rows[9], rows[3]) if seed % 4 == 3 and not program.sizes else ()
            dynamic = {name: {dim: (symbol, *program.sizes[symbol][:2]) for dim, symbol in dims.items()} for name, dims in (program.dims or {}).items()}
            case = harness.Case(file.stem, make, harness.Call(rows[0]), [harness.Call(row) for row in rows], more=more, floor=0.05, dynamic=dynamic or None,
                                front="torchscript" if front == "torchscript" else "python")
            verdict, text = harness.judge(case)
            return ("caught" if verdict == "failed" and "does not give what the program gives" in text else verdict), text
        finally:
            for module in modules:
                del sys.modules[module.__name__]


def _work(queue, seeds, kind, front):
    warnings.filterwarnings("ignore")
    for seed in seeds:
        queue.put((seed, *judged(author(kind)(seed, front != "python"), seed, front)))


def _judged_apart(program, seed, front, queue):
    warnings.filterwarnings("ignore")
    queue.put(judged(program, seed, front))


def verdict_apart(program, seed, front, context):
    queue = context.Queue()
    process = context.Process(target=_judged_apart, args=(program, seed, front, queue))
    process.start()
    process.join(LIMIT)
    if process.exitcode is None:
        process.kill()
        return "crashed", "no end"
    return queue.get() if not queue.empty() else ("crashed", f"the process died with {process.exitcode}")


def shrunk(program, seed, front, verdict, context):
    """The smallest that is found with the same verdict."""
    again = True
    while again:
        again = False
        for other in program.smaller():
            if verdict_apart(other, seed, front, context)[0] == verdict:
                program, again = other, True
                break
    return program


def judge_all(seeds, kind, front, context):
    """(seed, verdict, text) of each. A process that dies takes one program with it."""
    left = list(seeds)
    while left:
        batch, queue = left[:BATCH], context.Queue()
        process = context.Process(target=_work, args=(queue, batch, kind, front))
        process.start()
        for seed in batch:
            found = _next(queue, process)
            left.pop(0)
            yield found or (seed, "crashed", f"the process died with {process.exitcode}")
            if not found:
                break
        process.join(10)
        process.kill()


def _next(queue, process):
    for _ in range(10 * LIMIT):
        try:
            return queue.get(timeout=0.1)
        except queues.Empty:
            if not process.is_alive() and queue.empty():
                return None
    process.kill()
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs=2, type=int, default=[0, 20], metavar=("FIRST", "LAST"))
    parser.add_argument("--kind", choices=["memory", "objects", "sizes"], default="memory")
    parser.add_argument("--front", choices=["python", "torchscript", "scripted"], default="python")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--show", action="store_true", help="print the programs only")
    given = parser.parse_args()
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    draw = functools.partial(author(given.kind), script=given.front != "python")
    seeds = range(*given.seeds)
    if given.show:
        for seed in seeds:
            print(f"# {seed}\n{draw(seed).source()}")
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "lazyrt", "harness", "drawn_programs", "drawn_objects", "drawn_sizes"])
    counts, wrong = {}, 0
    for seed, verdict, text in judge_all(seeds, given.kind, given.front, context):
        counts[verdict] = counts.get(verdict, 0) + 1
        bad = verdict in ("silent", "crashed", "caught")
        wrong += bad
        print(f"{verdict:8} {seed:6} {text}", flush=True)
        if given.shrink and bad:
            program = shrunk(draw(seed), seed, given.front, verdict, context)
            print(f"{program.source()}# {verdict_apart(program, seed, given.front, context)}\n", flush=True)
    print(", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items())))
    print(f"{sum(counts.values()) - wrong} passed, {wrong} failed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
