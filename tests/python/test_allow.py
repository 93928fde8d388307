"""Findings let through by id, by line and by a comment, what the reports and the bundle say of it, and the page that explains them."""

import importlib.util
import inspect
import math
import pathlib
import re
import statistics

import numpy as np
import pytest
import torch

import lazyrt

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def smuggle(x):
    first = x * math.sin(float(x.mean()))
    return first + x * math.sin(float(x.max()))


def draw(x):
    return x + torch.rand(4)


def with_a_comment(x):
    first = x * math.sin(float(x.mean()))  # lazyrt: allow random, baked-value (fixed in training)
    # lazyrt: allow baked-value
    return first + x * math.sin(float(x.max()))


def with_a_comment_for_another_line(x):
    y = x * 2  # lazyrt: allow baked-value
    return y * math.sin(float(x.mean()))


def with_words_that_are_no_comment(x):
    note = "lazyrt: allow baked-value"; return x * math.sin(float(x.mean())) * len(note)  # noqa: E702


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def errors(error):
    return [finding for finding in error.findings if finding.severity == "error"]


def export_fails(model, bundle, **options):
    with pytest.raises(lazyrt.ExportError) as raised:
        lazyrt.export(model, (torch.rand(4),), bundle, **options)
    return raised.value


def by_numpy(x):
    return x * float(np.percentile(x, 50))


def by_statistics(x):
    return x * statistics.fmean(x.tolist())


@pytest.mark.parametrize("model", [by_numpy, by_statistics])
def test_what_a_library_reads_is_named_by_the_line_that_calls_it(bundle, model):
    line = line_of(model, "return")
    found = errors(export_fails(model, bundle))
    assert {(pathlib.Path(finding.file).name, finding.line) for finding in found} == {("test_allow.py", line)}
    assert lazyrt.export(model, (torch.rand(4),), bundle, allow=[f"baked-value@test_allow.py:{line}"]).verdict == "ALLOWED"


@pytest.mark.parametrize("entry", ["no-such", "baked-value@a.py:x", "baked-value@a.py", "baked-value@a.py:4,baked-value@b.py:5", "baked-value,random"])
def test_an_entry_of_another_form_is_refused(bundle, entry):
    with pytest.raises(lazyrt.Error, match="allow"):
        lazyrt.export(smuggle, (torch.rand(4),), bundle, allow=[entry])


def test_where_values_are_shown_is_noted(bundle):
    def shows(x):
        print("the mean is", x.mean().item())
        return x * 2

    report = lazyrt.export(shows, (torch.rand(4),), bundle)
    assert report.verdict == "SOUND" and any("test_allow.py" in note and "shown" in note for note in report.notes)


def test_by_id(bundle):
    assert len(errors(export_fails(smuggle, bundle))) == 2
    report = lazyrt.export(smuggle, (torch.rand(4),), bundle, allow=["baked-value"])
    assert report.verdict == "ALLOWED" and report.allowed == {"baked-value": 2}
    assert report.to_json()["verdict"] == "ALLOWED" and report.to_json()["allowed"] == {"baked-value": 2}
    assert "let through baked-value 2" in report.summary and not errors(report)
    assert lazyrt.load(bundle).verdict == "ALLOWED"


def test_by_line(bundle):
    first, second = line_of(smuggle, "x.mean()"), line_of(smuggle, "x.max()")
    for place in (f"test_allow.py:{first}", f"python/test_allow.py:{first}", f"{__file__}:{first}"):
        left = errors(export_fails(smuggle, bundle, allow=[f"baked-value@{place}"]))
        assert [finding.line for finding in left] == [second]
    both = [f"baked-value@test_allow.py:{line}" for line in (first, second)]
    assert lazyrt.export(smuggle, (torch.rand(4),), bundle, allow=both).allowed == {"baked-value": 2}


@pytest.mark.parametrize("place", ["allow.py:{}", "other/test_allow.py:{}", "test_allow.py:1{}"])
def test_another_place_lets_nothing_through(bundle, place):
    entry = "baked-value@" + place.format(line_of(smuggle, "x.mean()"))
    assert len(errors(export_fails(smuggle, bundle, allow=[entry]))) == 2


def test_by_comment(bundle, tmp_path):
    page = tmp_path / "m.html"
    report = lazyrt.export(with_a_comment, (torch.rand(4),), bundle, report=page)
    assert report.verdict == "ALLOWED" and report.allowed == {"baked-value": 2}
    assert "baked-value 2" in page.read_text() and 'class="verdict bad">ALLOWED' in page.read_text()


@pytest.mark.parametrize("model", [with_a_comment_for_another_line, with_words_that_are_no_comment])
def test_what_is_no_comment_for_the_line(bundle, model):
    assert errors(export_fails(model, bundle))


def test_of_what_is_found_after_the_capture(bundle):
    import random

    def model(x):
        random.random()
        return x + torch.rand(4)

    report = lazyrt.export(model, (torch.rand(4),), bundle, allow=("random",))
    assert report.verdict == "ALLOWED" and report.allowed == {"random": 1}


@pytest.mark.parametrize("entry, text", [
    ("backed-value", "no finding 'backed-value'; there are baked-output, baked-value"),
    ("backed-value@a.py:3", "no finding 'backed-value'"),
    ("baked-value@a.py", "id@file.py:line"),
    ("baked-value@a.py:", "id@file.py:line"),
    ("baked-value@a.py:3x", "id@file.py:line"),
    ("baked-value@a.py:0", "id@file.py:line"),
    ("baked-value@:3", "id@file.py:line"),
    ("", "no finding ''"),
])
def test_entries_that_are_none(bundle, entry, text):
    with pytest.raises(lazyrt.InputError) as raised:
        lazyrt.export(draw, (torch.rand(4),), bundle, allow=["random", entry])
    assert text in str(raised.value)


def test_entries_that_did_nothing_are_named(bundle):
    report = lazyrt.export(draw, (torch.rand(4),), bundle, allow=["random", "baked-value@model.py:3"])
    assert "allow 'baked-value@model.py:3' let nothing through" in report.summary
    assert "allow 'random'" not in report.summary


def test_one_text_is_one_entry(bundle):
    assert lazyrt.export(draw, (torch.rand(4),), bundle, allow="random").allowed == {"random": 1}


def test_the_verdict_is_in_the_bundle(bundle):
    lazyrt.export(lambda x: x + 1, (torch.rand(4),), bundle)
    assert lazyrt.load(bundle).verdict == "SOUND"
    branch = lambda x: x + 1 if x.sum() > 0 else x - 1  # noqa: E731
    lazyrt.export(branch, (torch.rand(4),), bundle)
    assert lazyrt.load(bundle).verdict == "SPECIALIZED"

    def worse(x):
        return x + 1 if x.shape[0] == 4 else draw(x[:4])

    report = lazyrt.export(worse, [(torch.rand(4),), (torch.rand(5),)], bundle, allow="random")
    assert report.verdict == lazyrt.load(bundle).verdict == "ALLOWED"


# -------------------------------------------------------------------- VERDICTS.md

def ids_in_the_sources():
    """Ids that a source gives to findings -> one place each."""
    patterns = [r'\.id = "([^"]+)"', r'Severity::k\w+,\s*"([^"]+)"', r'add_finding\(\s*"\w+",\s*"([^"]+)"',
                r'_find\([^"]*"\w+",\s*"([^"]+)"']
    found = {}
    for path in (SOURCE / "host_tracer").rglob("*"):
        if path.suffix in (".cpp", ".h", ".py") and not path.name.endswith("_test.cpp"):
            for pattern in patterns:
                found.update({id: path.name for id in re.findall(pattern, path.read_text())})
    return found


def test_the_page_has_every_finding_and_no_other():
    listed = re.search(r"kFindingIds\[\] = \{(.*?)\};", (SOURCE / "host_tracer/trace/finding_ids.h").read_text(), re.S)
    known = re.findall(r'"([^"]+)"', listed.group(1))
    page = (SOURCE / "host_tracer/VERDICTS.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \|", page, re.M)
    assert known == sorted(set(known)), "finding_ids.h is in order"
    assert sorted(rows) == known, "the table of VERDICTS.md has the ids of finding_ids.h, each once"
    assert sorted(ids_in_the_sources()) == known, ids_in_the_sources()


def test_the_page_has_every_verdict():
    page = (SOURCE / "host_tracer/VERDICTS.md").read_text()
    names = re.findall(r'return "([A-Z]+)";', (SOURCE / "host_tracer/trace/trace.cpp").read_text())
    assert len(names) >= 4 and all(f"**{name}**" in page for name in names)


def test_ids_that_the_page_lacks_cannot_be_used(bundle, monkeypatch):
    from lazyrt import _tracer
    from lazyrt.driver import exporting

    monkeypatch.setattr(exporting, "_let_through", lambda traces, allow: traces[0].add_finding("note", "of-my-own", "text"))
    with pytest.raises(lazyrt.Error, match="of-my-own"):
        lazyrt.export(lambda x: x + 1, (torch.rand(4),), bundle)
    assert importlib.util.find_spec(_tracer.__name__)
