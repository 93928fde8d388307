"""By which calls of torch functions the results of a run come out of its inputs, so that two runs can be compared on values that show no difference.

What is computed without the inputs, a table of some size, say, is what it holds: whether this run made it or an earlier one does not matter."""

import torch

from lazyrt import layouts
from lazyrt.call_logs import CallLog, Content, Shape, name_of

_Tensor = torch.Tensor
_MOST_ELEMENTS = 1 << 20  # of what is known by what it holds
_MOST_OF_PARAMETER = 1 << 14


class Numbering:
    """Numbers of values and contents, the same in all runs that share it."""

    def __init__(self):
        self._calls, self._contents = {}, {}

    def of_call(self, call):
        return self._calls.setdefault(call, len(self._calls))

    def of_content(self, tensor):
        alike = self._contents.setdefault((tensor.dtype, tensor.shape), [])
        known = next((i for i, other in enumerate(alike) if layouts.same_results(tensor, other)), None)
        if known is None:
            known = len(alike)
            alike.append(tensor.detach().clone())
        return tensor.dtype, tuple(tensor.shape), known


class Flow(CallLog):
    """One run. `calls`: those that write, in order."""

    def __init__(self, numbering, registered):
        super().__init__(registered)
        self._numbering = numbering

    def of(self, result):
        """What a result is: equal for what comes of equal inputs in the same way."""
        return [self._form(leaf) for leaf in torch.utils._pytree.tree_leaves(result)]

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self._ask_for_names()
        name = name_of(func)
        forms = tuple(map(self._form, (*args, *kwargs.values())))
        result = func(*args, **kwargs)
        if self.says_nothing(name):
            return self._passed_on(args, result)
        if any(map(_depends, forms)):
            number = self._numbering.of_call((name, tuple(kwargs), forms, len(self.calls)))
            if result is None or args and result is args[0] or "out" in kwargs:  # it may write
                self.calls.append(number)
            self._label(args[0] if name == "__setitem__" else result, number)
        return result

    def _passed_on(self, args, result):
        first = next((value for value in args if isinstance(value, _Tensor)), None)
        if isinstance(result, _Tensor) and result is not first and first is not None and self.made.knows(first):
            self.made.add(result, self._form(first))
        return result

    def _label(self, result, *number):
        if isinstance(result, _Tensor):
            self.made.add(result, ("of inputs", *number))
        elif isinstance(result, (list, tuple)):
            for i, item in enumerate(result):
                self._label(item, *number, i)

    def _form(self, value):
        if isinstance(value, _Tensor):
            return self._form_of_tensor(value)
        if isinstance(value, (list, tuple)):
            return tuple(map(self._form, value))
        form = super()._form(value)
        return self._plain(form) if isinstance(form, tuple) else form

    def _form_of_tensor(self, tensor):
        if self.made.knows(tensor):
            return self.made.name(tensor) or ("of inputs", self.made.input(tensor))
        if tensor.numel() > (_MOST_OF_PARAMETER if isinstance(tensor, torch.nn.Parameter) else _MOST_ELEMENTS):
            return "large", tensor.dtype, tuple(tensor.shape), self._name(tensor)
        return self._plain(Shape((tensor.dtype, self.content_of(tensor))))

    def _plain(self, form):
        """Contents by their numbers."""
        if isinstance(form, Content):
            return self._numbering.of_content(form.tensor)
        return tuple(map(self._plain, form)) if isinstance(form, tuple) else form


def _depends(form):
    return isinstance(form, tuple) and (form[:1] == ("of inputs",) or any(map(_depends, form)))
