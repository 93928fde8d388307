"""The package's face: help(), docstrings, type hints, and what a type checker says of the package and of its users."""

import inspect
import os
import pathlib
import pydoc
import subprocess
import sys

import pytest

import lazyrt

PACKAGE = pathlib.Path(lazyrt.__file__).parent

SETTINGS = """
[mypy]
# What is checked is this package, not PyTorch.
[mypy-torch.*,numpy.*]
follow_imports = skip
[mypy-lazyrt,lazyrt.driver.comparing,lazyrt.bundles.session,lazyrt.report,lazyrt.errors,lazyrt._runtime,lazyrt._tracer]
disallow_untyped_defs = True
disallow_incomplete_defs = True
"""

GOOD = """
import lazyrt

def model(x: object) -> object:
    return x

report = lazyrt.export(model, (1,), "m.lzb", kwargs={"n": 2}, allow=["baked-value"], report="m.html",
                       progress=lambda stage, done, total: print(stage.upper(), done + total))
verdict: str = report.verdict
lines: list[int] = [finding.line for finding in report.findings]
counts: dict[str, int] = report.allowed
program = lazyrt.load("m.lzb", threads=2, memory_limit=1 << 30, work_limit=1 << 40, node_work_limit=1 << 36, deadline=0.5)
program.cancel()
shapes: list[tuple[int, ...]] = program.inputs[0].shapes
kept: str | None = program.verdict
y = program(1, n=2)
tapped: list[str] = list(lazyrt.load("m.lzb", taps=["features.0", "%12"]).taps())
first: dict[str, object] | None = lazyrt.compare("m.lzb", model, (1,), backend="reference", bound=1e-3).first
lazyrt.Record("Options", {"scale": 2.0}).keys()
try:
    program.run({"x": y})
except lazyrt.GuardError as error:
    kind: str = error.kind
"""

BAD = [
    ('lazyrt.export(print, (), "m.lzb", allows=["random"])', "call-arg"),
    ('lazyrt.export(print, (), "m.lzb", report=3)', "arg-type"),
    ('lazyrt.export(3, (), "m.lzb")', "arg-type"),
    ('lazyrt.load("m.lzb", threads="two")', "arg-type"),
    ('lazyrt.load("m.lzb").verdicts', "attr-defined"),
    ('n: int = lazyrt.load("m.lzb").verdict', "assignment"),
    ('lazyrt.export(print, (), "m.lzb").finding', "attr-defined"),
    ("lazyrt.imports", "attr-defined"),
    ('lazyrt.compare("m.lzb", print, bound="small")', "arg-type"),
    ('raise lazyrt.GuardError(3)', "arg-type"),
]


def checker():
    """The command of the type checker. It may be missing on a developer's machine, not in CI."""
    done = subprocess.run([sys.executable, "-m", "mypy", "--version"], capture_output=True, text=True)
    if done.returncode != 0:
        if os.environ.get("CI"):
            pytest.fail("mypy is missing: toolchains/dependencies.lock names it")
        pytest.skip("mypy is not installed (toolchains/bootstrap deps installs it)")
    return [sys.executable, "-m", "mypy", "--no-error-summary", "--show-error-codes"]


def check(folder, *arguments):
    settings = folder / "mypy.ini"
    settings.write_text(SETTINGS)
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    command = [*checker(), "--config-file", str(settings), "--cache-dir", str(folder / "cache"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def test_the_package(tmp_path):
    done = check(tmp_path, "-p", "lazyrt")
    assert done.returncode == 0, done.stdout + done.stderr


def test_users(tmp_path):
    """A good program has no error; each line of the bad ones has the one that is expected."""
    (tmp_path / "good.py").write_text(GOOD)
    bad = ["import lazyrt", *(line for line, _ in BAD)]
    (tmp_path / "bad.py").write_text("\n".join(bad[:1] + [f"def f{i}() -> None:\n    {line}" for i, line in enumerate(bad[1:])]) + "\n")
    done = check(tmp_path, "--strict", "good.py", "bad.py")
    found = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert not [line for line in found if "bad.py" not in line], done.stdout
    for i, (line, code) in enumerate(BAD):
        number = 3 + 2 * i
        assert any(text.startswith(f"bad.py:{number}:") and f"[{code}]" in text for text in found), (line, done.stdout)


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()
    for module in ("_runtime", "_tracer"):
        assert (PACKAGE / f"{module}.pyi").exists()


def public_names():
    """(name, object) of all that the package offers and of its classes' methods."""
    from lazyrt import errors, report
    from lazyrt.bundles import session
    from lazyrt.driver import comparing

    offered = {f"lazyrt.{name}": getattr(lazyrt, name) for name in lazyrt.__all__}
    for module in (comparing, errors, report, session):  # what the package's functions give back, too
        own = {name: value for name, value in vars(module).items() if inspect.isclass(value) and value.__module__ == module.__name__}
        offered.update({f"{module.__name__}.{name}": value for name, value in own.items() if not name.startswith("_")})
    for name, value in offered.items():
        yield name, value
        if inspect.isclass(value):
            for inner, member in vars(value).items():
                if not inner.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                    yield f"{name}.{inner}", member


def test_every_public_name_is_documented_and_typed():
    names = dict(public_names())
    assert len(names) > 25
    assert [name for name, value in names.items() if not (inspect.getdoc(value) or "").strip()] == []
    for name, value in names.items():
        function = value.fget if isinstance(value, property) else value
        if not inspect.isfunction(function):
            continue
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty, name
        bare = [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name != "self"]
        assert bare == [], name


def test_help_shows_everything():
    text = pydoc.plain(pydoc.render_doc(lazyrt.export))
    for word in ("kwargs", "allow", "check", "keep_samples", "report", "progress", "Captures `model(*args, **kwargs)`", "Raises ExportError",
                 "baked-value@model.py:31"):
        assert word in text, text
    assert "**options" not in text


def test_the_face_is_what_the_exporter_takes():
    from lazyrt.driver import exporting

    ours, theirs = (inspect.signature(f).parameters for f in (lazyrt.export, exporting.export))
    assert list(ours) == list(theirs)
    assert {n: (p.kind, p.default) for n, p in ours.items()} == {n: (p.kind, p.default) for n, p in theirs.items()}


def test_stubs_name_what_the_modules_have():
    from lazyrt import _runtime, _tracer

    for module in (_runtime, _tracer):
        stub = (PACKAGE / f"{module.__name__.rpartition('.')[2]}.pyi").read_text()
        for name, value in vars(module).items():
            if name.startswith("_"):
                continue
            assert f"class {name}" in stub or f"def {name}(" in stub, name
            for inner in vars(value) if inspect.isclass(value) else ():
                assert inner.startswith("_") or f" {inner}(" in stub or f" {inner}:" in stub, f"{name}.{inner}"
