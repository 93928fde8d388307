"""Who is told of errors of NumPy's arithmetic, which what is captured does not see."""

import warnings

import numpy

from lazyrt.errors import Error


class Watchers:
    """Who is told of errors of arithmetic, which what is captured does not see."""

    before = None  # what the capture has found

    @staticmethod
    def now():
        """(the kinds of errors that raise or call, how many filters raise, who shows warnings)"""
        told = {kind for kind, how in numpy.geterr().items() if how not in ("ignore", "warn")}
        raising = sum(entry[0] == "error" and issubclass(RuntimeWarning, entry[2]) for entry in warnings.filters)
        return told, raising, (getattr(warnings, "_showwarnmsg_impl", None), warnings.showwarning)

    @classmethod
    def check(cls):
        """Raises Error where somebody hears more than before."""
        if cls.before is None:
            return
        (told, raising, shown), (told_before, raising_before, shown_before) = cls.now(), cls.before
        if not told <= told_before or raising > raising_before or shown != shown_before:
            raise Error("the program wants to be told of NumPy's errors (np.errstate, warnings), which what is captured does not see: look at the "
                        "values instead (np.isfinite)", "unsupported")
