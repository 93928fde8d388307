"""What a program depends on that no trace shows: eager is run again on the sample's values under other circumstances.

See layouts.py for the inputs' memory and call_forms.py for the form of the call."""

import functools
import random
import sys
import weakref

import numpy
import torch

from lazyrt import layouts
from lazyrt.call_logs import CallLog, Seen
from lazyrt.kept_sets import SetChanges, SetRemovals, is_restorable


class Unstable(Exception):
    """The program gives another result on the same inputs and from the same state, as far as it is seen."""


def gradients_matter(job, sample):
    """Whether callers who record gradients, though they ask for none, get other results. Raises Unstable."""
    if job.takes_gradients:
        return False
    plain, recorded = job.seen(sample), _recorded(job, sample)
    if recorded is None:
        return False
    if recorded.same(plain):
        if job.has_fast_paths:
            _note_fast_paths(job, sample, recorded.result)
        return False
    _compare_again(_recorded(job, sample), recorded)
    again = job.observed(sample)
    _compare_again(again, plain)
    if layouts.same_results(recorded.result, plain.result):
        return again.calls == plain.calls  # else the program makes other calls each time
    recorded = _recorded_without(job, sample, _onednn)
    if layouts.same_results(recorded, _without(job, sample, _onednn)):
        job.notes.append("kernels of oneDNN, which takes some calls only where no gradients are recorded, or only where they are, give other results on the "
                         "sample than PyTorch's own: the bundle is compared with what eager gives under torch.no_grad()")
        return False
    if layouts.same_results(recorded, _without(job, sample, _onednn, _fast_paths)):
        job.notes.append(_OF_TRANSFORMERS)
        return False
    return True


_OF_TRANSFORMERS = ("torch.nn's transformers give other results under torch.no_grad() than with autograd on, at padded places or where attention sees nothing: "
                    "the bundle gives the former")


def _note_fast_paths(job, sample, recorded):
    """They are not taken where calls are written down."""
    if not layouts.same_results(recorded, job.eager(sample)) and layouts.same_results(recorded, _without(job, sample, _fast_paths)):
        job.notes.append(_OF_TRANSFORMERS)


def _without(job, sample, *switches):
    """Eager's result without what only some calls take."""
    def switch_off(args, kwargs):
        for switch in switches:
            switch(False)
        return args, kwargs

    enabled = torch._C._get_mkldnn_enabled()
    try:
        return job.eager(sample, arrange=switch_off)
    finally:
        _onednn(enabled)


def _recorded_without(job, sample, *switches):
    job.takes_gradients = True
    try:
        return _without(job, sample, *switches)
    finally:
        job.takes_gradients = False


def _onednn(enabled):
    torch._C._set_mkldnn_enabled(enabled)


def _fast_paths(enabled):
    torch.backends.mha.set_fastpath_enabled(enabled)


def _compare_again(again, seen):
    """Counters, clocks and writes that nobody sees make differences, too."""
    if again is None or not layouts.same_results(again.result, seen.result):
        raise Unstable


def _recorded(job, sample):
    """What eager does where gradients are recorded; None where it raises then: such callers get nothing."""
    job.takes_gradients = True
    try:
        return job.observed(sample)
    except Exception:
        return None
    finally:
        job.takes_gradients = False


def calls_until_repeat(job, sample, names, most):
    """How many calls of eager in a row it takes until these buffers hold what they held before an earlier one; None where that is none of the first `most`."""
    buffers, seen = job.fresh_buffers(), []
    try:
        for calls in range(most + 1):
            held = dict(buffers.items())
            values = [held[name].tolist() for name in names]
            if values in seen:
                return calls
            seen.append(values)
            job.call_again(sample, buffers)
    except Exception:  # of eager on its own earlier results, or where a name stands for something else by now
        pass
    finally:
        job.restore()
    return None


def removals_from_sets(job, sample):
    """[(file, line)] where the program takes items out of a set that it keeps: the order of those that are left, and of what comes later, depends on that."""
    pictures = [phase.picture for phase in job.state.known]
    kept = [value for picture in pictures for value in picture.kept_sets()]
    if not kept or not any(picture.names_attribute("set |= x") for picture in pictures):
        return []
    with SetRemovals(kept) as removals:
        job.eager(sample)
    return list(removals.places)


def refuse_changed_sets(job, samples):
    """Raises ExportError before a call changes a set that could not be restored."""
    picture = job.state.first.picture
    kept = [value for value in picture.kept_sets() if not is_restorable(value)]
    if kept and picture.names_attribute("set |= x"):
        for sample in samples:
            with SetChanges(kept) as changes:
                job.eager(sample)
            changes.refuse()


# -------------------------------------------------------------------- random numbers


def draws_matter(job, sample):
    """Whether results are others after other seeds of Python's generators, first draws near 0 and 1 among them."""
    for tensors in ([tensor.detach() for _, tensor in sample.inputs], [_all_different(tensor) for _, tensor in sample.inputs]):
        copies = [[tensor.clone() for tensor in tensors] for _ in _seeds()]
        try:
            results = [job.eager(sample, given, arrange=functools.partial(_seeded, seed)) for seed, given in zip(_seeds(), copies)]
        except Exception:  # with some draws only, or no such values for eager
            return True
        if not all(layouts.same_results(result, results[0]) for result in results):
            return True
    return False


def _seeded(seed, args, kwargs):
    random.seed(seed)
    numpy.random.seed(seed)
    return args, kwargs


def _all_different(tensor):
    """Floating values close to the tensor's, no two of them equal; other tensors as they are."""
    if not tensor.is_floating_point() or not tensor.numel():
        return tensor.detach()
    step = (tensor.detach().abs().max() + 1) / (100 * tensor.numel())
    return tensor.detach() + (step * torch.arange(tensor.numel())).reshape(tensor.shape).to(tensor.dtype)


def altered(sample):
    """[tensors] in place of the sample's: of other scales and signs; what is no floating number in another order."""
    given = [tensor.detach() for _, tensor in sample.inputs]
    return [[_rearranged(tensor) if not tensor.is_floating_point() else tensor * by + by / 4 for tensor in given] for by in (-1.5, 30)]


def _rearranged(tensor):
    return tensor.flip(tuple(range(tensor.dim()))) if tensor.layout == torch.strided else tensor


@functools.lru_cache(maxsize=1)
def _seeds():
    first = {seed: (random.Random(seed).random(), numpy.random.RandomState(seed).random_sample()) for seed in range(3000)}
    ends = [end(first, key=lambda seed, i=i: first[seed][i]) for i in (0, 1) for end in (min, max)]
    return [*ends, *range(6)]


# -------------------------------------------------------------------- objects that are given again


def objects_matter(job, sample):
    """Whether a second call gives something else on the objects of the first one, with their first content, than on others. Raises
    Unstable."""
    if not job.keeps_objects and not sample.arrays:  # who holds an array does not hold the tensor that it was made of
        return False
    again, afresh = (_second_call(job, sample, again) for again in (True, False))
    if again is None or again.same(afresh):
        return False
    more = [_second_call(job, sample, again) for again in (True, False)]
    for now, before in zip(more, (again, afresh)):
        _compare_again(now, before)
    if not layouts.same_results(again.result, afresh.result):
        return True
    return all(now.calls == before.calls for now, before in zip(more, (again, afresh)))  # else it makes other calls each time


def _second_call(job, sample, again):
    """What a second call does, with the error that it raises for a result. None where the first one raises."""
    first, second = _objects(sample), _objects(sample)
    buffers, before, log = job.fresh_buffers(), job.call_log(), CallLog()
    log.made = before.made  # what the first call got and made is no constant of the second one, and an input that is kept by a name is an input
    log.takes([torch.as_tensor(each) for each in (*first, *second)])
    try:
        _call(job, sample, first, buffers, before)
        for given, fresh in zip(first, second) if again else ():
            _refill(given, fresh)
    except Exception:
        job.restore()
        return None
    try:
        return Seen(_call(job, sample, first if again else second, buffers, log), log.calls)
    except Exception as error:
        return Seen(f"{type(error).__name__} is raised", log.calls)
    finally:
        job.restore()


def _refill(given, fresh):
    """First content, and no gradients: callers clear them."""
    if isinstance(given, torch.Tensor):
        given.grad = None
        given.detach_().requires_grad_(False)
    given[...] = fresh


def _objects(sample):
    """Tensors and arrays of NumPy as a caller would give them."""
    return [tensor.numpy().copy() if name in sample.arrays else tensor.detach().clone() for name, tensor in sample.inputs]


def traces_of(objects):
    """What changes when a program holds on to one of them, or marks it."""
    return [(sys.getrefcount(each), weakref.getweakrefcount(each), list(getattr(each, "__dict__", ()))) for each in objects]


def _call(job, sample, given, buffers, mode=None):
    arrays = iter([each for each in given if not isinstance(each, torch.Tensor)])
    tensors = [each if isinstance(each, torch.Tensor) else tensor for each, (_, tensor) in zip(given, sample.inputs)]
    return job.call_eagerly(sample, tensors, buffers, mode, array=lambda tensor: next(arrays))
