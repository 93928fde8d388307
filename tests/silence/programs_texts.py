"""Values on their way to people, that are kept or counted on the way."""

import logging
import sys
import warnings

import numpy as np
import torch
from harness import case
from torch import nn

X = torch.ones(2)
IDS = [(X, torch.tensor(v)) for v in ([1, 2, 3], [1, 2, 2000])]
FRACTIONS = [(X, torch.tensor(v)) for v in ([1.5, 2.5], [1.5, 2000.5])]
log = logging.getLogger("silence.texts")
log.addHandler(logging.StreamHandler(sys.stderr))
log.setLevel(logging.INFO)


class Kept(nn.Module):
    """Tells by what it has kept while it told."""

    def __init__(self, tell):
        super().__init__()
        self.kept, self.tell = [], tell

    def forward(self, x, ids):
        self.kept.clear()
        self.tell(self, ids)
        return x * (2 if any(float(kept) > 1000 for kept in self.kept) else 1)


def telling(samples=IDS, expect=("refused", "failed")):
    def take(tell):
        def make():
            return Kept(tell)

        make.__name__ = tell.__name__
        return case(samples[0], samples, expect=expect)(make)

    return take


@telling()
def printed_as_it_is_kept(self, ids):
    print(*map(self.kept.append, map(int, ids)))


@telling()
def printed_as_a_name_is_kept(self, ids):
    work = map(self.kept.append, map(int, ids))
    print("kept", *work)


@telling()
def printed_as_a_list_of_what_is_kept(self, ids):
    print(list(map(self.kept.append, map(int, ids))))


@telling()
def printed_as_the_list_is_extended(self, ids):
    print(self.kept.extend(map(int, ids)))


@telling()
def printed_as_a_number_is_kept(self, ids):
    print(self.kept.append(int(ids[2])))


@telling()
def formatted_as_it_is_kept(self, ids):
    print("{} {} {}".format(*map(self.kept.append, map(int, ids))))


@telling()
def formatted_in_place_as_it_is_kept(self, ids):
    print(f"{self.kept.append(int(ids[2]))} {[self.kept.append(int(n)) for n in ids]}")


@telling()
def filled_in_as_it_is_kept(self, ids):
    print("%s %s" % (self.kept.append(int(ids[2])), 1))


@telling()
def logged_as_it_is_kept(self, ids):
    log.info("%s %s %s", *map(self.kept.append, map(int, ids)))


@telling()
def warned_as_it_is_kept(self, ids):
    warnings.warn(f"{list(map(self.kept.append, map(int, ids)))}")


@telling()
def printed_between_what_is_kept(self, ids):
    print(1, sep=" ".join(map(str, map(self.kept.append, map(int, ids)))))


class Counts:
    def __init__(self, kept, number):
        self.kept, self.number = kept, number

    def __str__(self):
        self.kept.append(int(self.number))
        return "counted"


@telling()
def printed_as_its_text_keeps_it(self, ids):
    print(Counts(self.kept, ids[2]))


@telling()
def filled_in_as_its_text_keeps_it(self, ids):
    print("%s" % Counts(self.kept, ids[2]))


@telling()
def logged_as_its_text_keeps_it(self, ids):
    log.info("%s", Counts(self.kept, ids[2]))


@telling()
def looked_up_for_a_text(self, ids):
    table = dict.fromkeys(range(10), 0.0)
    try:
        print(table[int(ids[2])])
    except KeyError:
        self.kept.append(5000)


@telling(FRACTIONS, expect=("right", "refused", "failed"))
def printed_as_an_int_that_raises(self, ids):
    try:
        print(int(ids[1] / (ids[1] - 2000.5)))
    except OverflowError:
        self.kept.append(5000)


@telling()
def printed_as_a_character(self, ids):
    try:
        print("%c" % int(ids[2] * 1000))
    except OverflowError:
        self.kept.append(5000)


class Tee:
    def __init__(self, kept):
        self.kept = kept

    def write(self, text):
        if text.strip():
            self.kept.append(float(text))

    def flush(self):
        pass


@telling()
def printed_into_what_keeps_it(self, ids):
    print(ids[2].item(), file=Tee(self.kept))


# ------------------------------------------------------------------------ what is told and no more


@telling(FRACTIONS, expect=("right",))
def told_in_many_ways(self, ids):
    mean = ids.mean().item()
    print("mean", mean, ids, [mean, ids[0]], {"mean": mean})
    print(f"{mean:.3f} {ids[0].item():8.2f} {ids}")
    print("mean %.3f" % mean, "%s %s" % (mean, ids), "{:.2f} {}".format(mean, ids[0].item()))
    print(ids.tolist(), float(ids[0]), round(mean, 2), ids.mean().item(), end=f"{mean}\n", file=sys.stderr)
    print(ids.numpy(), f"{ids.numpy()}")
    log.info("mean %.3f of %s", mean, ids)
    log.info(f"{mean}")
    warnings.warn(f"the mean is {mean}")


@case((X, torch.tensor([1, 2, 3])), IDS, expect=("refused", "failed"))
def text_of_an_array_as_the_answer():
    return lambda x, ids: x * (2 if str(ids.numpy()) == "[   1    2 2000]" else 1)


@case((X,), [(X,), (X * 2,)], expect=("right",))
def text_of_the_shape_of_an_array():
    return lambda x: x * (2 if str(np.zeros(x.numpy().shape)) == "[0. 0.]" else 1)


# ------------------------------------------------------------------------ truths that decide what is told


class EveryFifth(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps, self.verbose = 0, True

    def forward(self, x):
        self.steps += 1
        if self.verbose and self.steps % 5 == 0:
            print(f"step {self.steps}", x.mean().item())
            log.info("mean %.3f", float(x.mean()))
        return x * 2


@case((X,), [(X * i,) for i in range(12)], expect=("right",))
def told_every_fifth_step():
    return EveryFifth()


@case((X,), [(X,), (X * 100,), (X * float("nan"),)], expect=("right",))
def told_of_what_is_no_number():
    def program(x):
        if x.isnan().any() or not x.abs().max().item() < 50:
            print("strange", x.max())
        return x * 2

    return program


class Decides(nn.Module):
    """What is done on a truth is more than told."""

    def __init__(self, step):
        super().__init__()
        self.kept, self.step = [], step

    def forward(self, x, ids):
        self.kept.clear()
        self.step(self, ids)
        return x * (2 if self.kept else 1)

    def keep(self, value=1):
        self.kept.append(value)
        return value

    @property
    def kept_as_it_is_asked_for(self):
        return self.keep()


def deciding(step):
    def make():
        return Decides(step)

    make.__name__ = step.__name__
    return case(IDS[0], IDS, expect=("refused", "failed"))(make)


@deciding
def told_by_a_method_that_keeps(self, ids):
    if ids[2] > 1000:
        print(self.keep())


@deciding
def told_by_a_property_that_keeps(self, ids):
    if ids[2].item() > 1000:
        print(self.kept_as_it_is_asked_for)


@deciding
def told_beside_what_is_kept(self, ids):
    if ids[2] > 1000:
        print("large")
        self.keep()


@deciding
def told_or_kept(self, ids):
    if ids[2] < 1000:
        print("small")
    else:
        self.keep()


@deciding
def told_after_another_question_that_keeps(self, ids):
    if ids[2] > 1000 and self.keep():
        print("large")


@deciding
def told_after_a_chain_of_questions(self, ids):
    if 1000 < ids[2].item() < self.keep(5000):
        print("large")


@deciding
def told_where_the_error_is_caught(self, ids):
    try:
        if ids[2] > 1000:
            print("%d" % "large")
    except TypeError:
        self.keep()


@deciding
def told_to_what_keeps(self, ids):
    if ids[2] > 1000:
        print("7", file=Tee(self.kept))


@deciding
def told_as_something_is_kept(self, ids):
    if ids[2] > 1000:
        print(*map(self.keep, range(3)), f"{self.keep()}", end=str(self.keep()))


@deciding
def truth_that_is_kept(self, ids):
    if large := ids[2].item() > 1000:
        print("large")
    if large:
        self.keep()
