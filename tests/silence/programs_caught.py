"""Errors of eager's that the program catches: they steer it, also where nothing reads what the call would have given."""

import asyncio
import contextlib

import torch
import torch.nn.functional as F
from harness import case

TABLE = torch.arange(12.0).reshape(4, 3)
INSIDE, LAST, OUTSIDE, BELOW = (torch.tensor(ids) for ids in ([0, 1], [3, 3], [2, 9], [-9, 0]))
IDS = [(INSIDE,), (LAST,), (OUTSIDE,), (BELOW,)]
LOUD = ("right", "refused")  # never another answer; the other way is another variant
REFUSED = ("refused",)


def steered_by(call, errors=Exception):
    """The program that only asks whether the call raises."""
    def program(ids):
        try:
            call(ids)
        except errors:
            return ids * 0 - 1
        return ids * 2

    return program


@case(IDS[0], IDS, expect=REFUSED)
def rows_that_nobody_reads():
    return steered_by(lambda ids: TABLE[ids], IndexError)


@case(IDS[2], IDS, expect=REFUSED)
def rows_that_are_not_there_at_export():
    return steered_by(lambda ids: TABLE[ids], IndexError)


@case(IDS[0], IDS, expect=REFUSED)
def embedding_tried():
    return steered_by(torch.nn.Embedding(4, 3), (IndexError, RuntimeError))


@case(IDS[2], IDS, expect=REFUSED)
def embedding_tried_in_vain():
    return steered_by(torch.nn.Embedding(4, 3), IndexError)


@case(IDS[0], IDS, expect=REFUSED)
def columns_that_nobody_reads():
    return steered_by(lambda ids: TABLE[:, ids.clamp(max=2) + (ids > 3)])


@case(IDS[0], IDS, expect=REFUSED)
def pairs_that_nobody_reads():
    return steered_by(lambda ids: TABLE[ids, ids.clamp(-3, 2)], LookupError)


@case(IDS[0], IDS, expect=REFUSED)
def selected_tried():
    return steered_by(lambda ids: torch.index_select(TABLE, 0, ids), IndexError)


@case(IDS[2], IDS, expect=REFUSED)
def selected_columns_raise_another_error():
    return steered_by(lambda ids: torch.index_select(TABLE, 1, ids), RuntimeError)


@case(IDS[0], IDS, expect=REFUSED)
def gathered_tried():
    return steered_by(lambda ids: TABLE[:, 0].gather(0, ids), RuntimeError)


@case(IDS[2], IDS, expect=REFUSED)
def gathered_raises_no_index_error():
    def program(ids):
        try:
            TABLE[:, 0].gather(0, ids)
        except IndexError:
            return ids - 7
        except RuntimeError:
            return ids + 7
        return ids

    return program


@case(IDS[0], IDS, expect=REFUSED)
def scattered_tried():
    return steered_by(lambda ids: torch.zeros(4).scatter(0, ids, 1.0))


@case(IDS[0], IDS, expect=REFUSED)
def scattered_with_sums_tried():
    return steered_by(lambda ids: torch.zeros(4).scatter_add(0, ids, torch.ones(2)))


@case(IDS[0], IDS, expect=REFUSED)
def scattered_with_the_largest_tried():
    return steered_by(lambda ids: torch.zeros(4).scatter_reduce(0, ids, torch.ones(2), "amax"))


@case(IDS[0], IDS, expect=REFUSED)
def taken_tried():
    return steered_by(lambda ids: torch.take(TABLE, ids + 6 * (ids > 3)), IndexError)


@case(IDS[0], IDS, expect=REFUSED)
def written_rows_tried():
    def write(ids):
        rows = TABLE.clone()
        rows[ids] = 1.0

    return steered_by(write, IndexError)


@case(IDS[0], IDS, expect=REFUSED)
def filled_rows_tried():
    return steered_by(lambda ids: TABLE.index_fill(0, ids, 1.0), IndexError)


@case(IDS[0], IDS, expect=REFUSED)
def added_rows_tried():
    return steered_by(lambda ids: TABLE.index_add(0, ids, torch.ones(2, 3)))


@case(IDS[0], IDS, expect=REFUSED)
def copied_rows_tried():
    return steered_by(lambda ids: TABLE.index_copy(0, ids, torch.ones(2, 3)))


@case(IDS[0], IDS, expect=REFUSED)
def classes_tried():
    return steered_by(lambda ids: F.one_hot(ids, 4))


@case(IDS[0], IDS, expect=REFUSED)
def loss_of_classes_tried():
    return steered_by(lambda ids: F.cross_entropy(torch.ones(2, 4), ids), IndexError)


@case((torch.tensor([0, -100]),), [(torch.tensor(ids),) for ids in ([0, -100], [3, 3], [4, 0], [-1, 0])], expect=REFUSED)
def loss_with_ignored_classes_tried():
    return steered_by(lambda ids: F.nll_loss(torch.ones(2, 4), ids), IndexError)


@case((torch.tensor([0.2, 0.9]),), [(torch.tensor(p),) for p in ([0.0, 1.0], [0.5, 1.1], [float("nan"), 0.5])], expect=REFUSED)
def targets_of_a_loss_tried():
    return steered_by(lambda p: F.binary_cross_entropy(torch.full((2,), 0.5), p), RuntimeError)


@case((torch.tensor([True, False, True]),), [(torch.tensor(m),) for m in ([True, False, False], [True, True, True])], expect=REFUSED)
def mask_of_too_many_tried():
    return steered_by(lambda mask: torch.zeros(3).masked_scatter(mask, torch.ones(2)), RuntimeError)


DIVISORS = [(torch.tensor(d),) for d in ([1, 2], [-3, 3], [0, 5])]


@case(DIVISORS[0], DIVISORS, expect=REFUSED)
def quotient_tried():
    return steered_by(lambda d: torch.tensor([7, 8]) // d, RuntimeError)


@case(DIVISORS[2], DIVISORS, expect=REFUSED)
def quotient_by_zero_at_export():
    return steered_by(lambda d: torch.tensor([7, 8]) // d, RuntimeError)


@case(DIVISORS[0], DIVISORS, expect=REFUSED)
def remainder_tried():
    return steered_by(lambda d: 7 % d, RuntimeError)


@case(DIVISORS[0], DIVISORS, expect=REFUSED)
def rounded_quotient_tried():
    return steered_by(lambda d: torch.div(d + 1, d, rounding_mode="trunc") + torch.fmod(d, d), RuntimeError)


@case(DIVISORS[0], DIVISORS, expect=("right",))
def floats_are_divided_by_zero():
    return steered_by(lambda d: torch.ones(2) // d)


@case(IDS[0], IDS, expect=REFUSED)
def rows_that_are_read_if_they_are_there():
    def program(ids):
        try:
            return TABLE[ids].sum()
        except IndexError:
            return TABLE.mean()

    return program


@case(IDS[0], IDS, expect=REFUSED)
def errors_suppressed():
    def program(ids):
        found = ids * 0
        with contextlib.suppress(IndexError):
            TABLE[ids]
            found = found + 1
        return found

    return program


@case(IDS[0], IDS, expect=REFUSED)
def left_by_finally():
    def program(ids):
        found = ids * 0
        for _ in range(1):
            try:
                TABLE[ids]
                found = found + 1
            finally:
                break
        return found

    return program


@case(IDS[0], IDS, expect=REFUSED)
def tried_by_a_caller():
    def look(ids):
        TABLE.index_select(0, ids)
        return ids + 1

    def program(ids):
        try:
            return look(ids)
        except (KeyError, IndexError):
            return ids - 1

    return program


@case(IDS[2], IDS, expect=("right", "refused", "failed"))
def text_of_the_error():
    def program(ids):
        try:
            TABLE[ids]
        except IndexError as error:
            return {"why": str(error), "ids": ids}
        return {"why": "", "ids": ids}

    return program


@case((INSIDE,), [(INSIDE,), (LAST,)], expect=("right",))
def rows_by_a_mask_in_a_try():
    def program(ids):
        try:
            return TABLE[ids][:, torch.tensor([True, False, True])]
        except IndexError:
            return TABLE

    return program


class Layers(torch.nn.Module):
    """A try that cannot take what a look-up raises leaves the bundle SOUND."""

    def __init__(self):
        super().__init__()
        self.rows = torch.nn.Embedding(4, 3)

    def forward(self, ids):
        try:
            return self.rows(ids)
        except (KeyError, TypeError):
            return ids
        finally:
            self.seen = None


@case((INSIDE,), [(INSIDE,), (LAST,)], expect=("right",))
def rows_in_a_try_of_other_errors():
    return Layers()


class Pages:
    """Python goes through it until an IndexError."""

    def __init__(self, ids):
        self.ids = ids

    def __getitem__(self, page):
        return TABLE.index_select(0, self.ids + page)


@case((torch.tensor([1]),), [(torch.tensor([1]),), (torch.tensor([0]),), (torch.tensor([3]),)], expect=REFUSED)
def loop_that_an_error_ends():
    return lambda ids: sum(1 for _ in Pages(ids)) + ids * 0


# -------------------------------------------------------------------- errors that leave a try in another way


class Abort(Exception):
    pass


def told_by(events):
    """The program that goes by the first event of a generator."""
    return lambda ids: ids * 2 if next(events(ids)) == "fine" else ids * 0 - 1


def unless(look, errors=Abort):
    """The program that goes on where `look` raises one of these."""
    def program(ids):
        try:
            look(ids)
        except errors:
            return ids * 0 - 1
        return ids * 2

    return program


@case(IDS[0], IDS, expect=REFUSED)
def error_told_before_it_is_raised_again():
    def events(ids):
        try:
            TABLE[ids]
            yield "fine"
        except IndexError:
            yield "error"
            raise

    return told_by(events)


@case(IDS[0], IDS, expect=REFUSED)
def assertion_told_before_it_is_raised_again():
    def events(ids):
        try:
            assert ids.max() < 4
            assert ids.min() > -5
            yield "fine"
        except AssertionError:
            yield "error"
            raise

    return told_by(events)


@case(DIVISORS[0], DIVISORS, expect=REFUSED)
def end_told_by_finally():
    def events(ids):
        said = "error"
        try:
            ids[1] // ids[0]
            said = "fine"
        finally:
            yield said

    return told_by(events)


@case(IDS[0], IDS, expect=REFUSED)
def error_told_by_another_generator():
    def events(ids):
        try:
            TABLE[ids]
            yield "fine"
        except IndexError:
            yield from ["error"]
            raise

    return told_by(events)


@case(IDS[0], IDS, expect=REFUSED)
def error_told_while_a_task_waits():
    """Another task runs on between the error and its end."""
    def program(ids):
        told = []

        async def look():
            try:
                TABLE[ids]
            except IndexError:
                told.append("error")
                await asyncio.sleep(0)
                raise

        async def wait():
            task = asyncio.ensure_future(look())
            while not told and not task.done():
                await asyncio.sleep(0)

        asyncio.run(wait())
        return ids * 0 - 1 if told else ids * 2

    return program


@case(IDS[0], IDS, expect=REFUSED)
def finally_raises_another_error():
    def look(ids):
        fine = False
        try:
            TABLE[ids]
            fine = True
        finally:
            if not fine:
                raise Abort("no such row")

    return unless(look)


@case(IDS[0], IDS, expect=REFUSED)
def handler_calls_what_raises_another_error():
    def abort(error):
        raise Abort(str(error))

    def look(ids):
        try:
            TABLE[ids]
        except IndexError as error:
            abort(error)
            raise

    return unless(look)


@case(IDS[0], IDS, expect=REFUSED)
def method_of_a_finally_raises_another_error():
    class Reader:
        done = False

        def read(self, ids):
            TABLE.index_select(0, ids)
            self.done = True

        def close(self):
            if not self.done:
                raise Abort("closed before the end")

    def look(ids):
        reader = Reader()
        try:
            reader.read(ids)
        finally:
            reader.close()

    return unless(look)


@case(IDS[0], IDS, expect=REFUSED)
def name_that_a_finally_lacks():
    def look(ids):
        try:
            found = TABLE[ids]
        finally:
            found.sum()

    return unless(look, NameError)


@case(IDS[0], IDS, expect=REFUSED)
def key_that_a_handler_lacks():
    def look(ids):
        known = {}
        try:
            TABLE[ids]
        except IndexError:
            known["error"]
            raise

    return unless(look, KeyError)


@case(IDS[0], IDS, expect=REFUSED)
def loop_that_a_finally_ends():
    """No try around it: Python takes the StopIteration for the end."""
    class Rows:
        asked = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.asked += 1
            fine = False
            try:
                TABLE[rows[0]]
                fine = self.asked < 3
            finally:
                if not fine:
                    raise StopIteration
            return self.asked

    rows = [None]

    def program(ids):
        rows[0] = ids
        return ids * 0 + sum(Rows())

    return program


@case(IDS[0], IDS, expect=REFUSED)
def attribute_that_a_finally_takes_away():
    class Table:
        def __init__(self, ids):
            self.ids = ids

        @property
        def first(self):
            fine = False
            try:
                TABLE[self.ids]
                fine = True
            finally:
                if not fine:
                    raise AttributeError("first")

    return lambda ids: ids * 2 if hasattr(Table(ids), "first") else ids * 0 - 1


@case((INSIDE,), [(INSIDE,), (LAST,)], expect=("right",))
def rows_in_a_try_that_only_raises_again():
    def program(ids):
        done = False
        try:
            try:
                return TABLE[ids] * 2
            except IndexError:
                done = None
                raise
            finally:
                done = True
        except Abort:
            return TABLE * done

    return program
