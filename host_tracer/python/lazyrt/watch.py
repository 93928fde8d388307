"""Whether a program reads what it keeps: containers and attributes that tell when somebody looks at them.

Reads are seen, not guessed: a container is replaced by one of a subclass whose reading methods report, an attribute by a
descriptor on the class of its owner."""

import collections

from lazyrt.code_names import is_python_class

_WRITES = {
    list: {"append", "extend", "insert", "clear", "__iadd__"},
    dict: {"clear", "update", "__setitem__", "__ior__"},
    collections.deque: {"append", "appendleft", "extend", "extendleft", "clear", "__iadd__", "rotate", "maxlen"},
}
_IMMUTABLE = 1 << 8  # flag of types
_AT_PLACES = ("__setitem__", "__delitem__")  # of lists: whether they raise tells the length, but for slices
_NO_READS = {"__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__class_getitem__", "__dir__", "__doc__",
             "__getattribute__", "__setattr__", "__delattr__", "__hash__", "__sizeof__", "__dict__", "__weakref__", "__module__",
             "__missing__", "default_factory", "__getstate__"}
_classes: dict = {}


def _nothing():
    pass


def _reports(base, name):
    def method(self, *args, **kwargs):
        self._report()
        return getattr(base, name)(self, *args, **kwargs)

    method.__name__ = name
    return method


def _reports_at_a_place(base, name):
    def method(self, key, *value):
        if type(key) is not slice or key.step is not None:
            self._report()
        return getattr(base, name)(self, key, *value)

    method.__name__ = name
    return method


def _adds(base):
    def __add__(self, other):
        """A longer list of the kind is no look at what is in it."""
        made = type(self)(base.__add__(self, other))
        made._report, made._original = self._report, None
        return made

    return __add__


def _like_of(kind):
    """The watched class of a container's class."""
    if kind not in _classes:
        family = next(base for base in _WRITES if issubclass(kind, base))
        quiet = _WRITES[family] | _NO_READS
        names = [name for name in dir(kind) if name not in quiet and callable(getattr(kind, name))]
        members = {name: _reports(kind, name) for name in names}
        if family is list:
            members.update({name: _reports_at_a_place(kind, name) for name in _AT_PLACES})
            members["__add__"] = _adds(kind)
            members["__radd__"] = lambda self, other: (self._report(), other + list(self))[1]
        _classes[kind] = type(kind.__name__, (kind,), {**members, "_lazyrt_watched": True, "_report": staticmethod(_nothing), "_original": None})
    return _classes[kind]


def is_watched(value):
    return getattr(type(value), "_lazyrt_watched", False)


def can_watch(container):
    """Containers whose subclass can be made from them alone. Not sets: C code reads them past their methods."""
    return type(container) in (list, dict, collections.deque, collections.OrderedDict, collections.defaultdict,
                               collections.Counter)


def watched(container, report):
    """A copy of the container that calls report() when somebody looks at it."""
    kind = _like_of(type(container))
    if isinstance(container, collections.deque):
        made = kind(container, container.maxlen)
    elif isinstance(container, collections.defaultdict):
        made = kind(container.default_factory, container)
    else:
        made = kind(container)
    made._report, made._original = report, container
    return made


def unwatched(container):
    """What stands for a watched container afterwards: the one that it was made of, with its content now."""
    base = type(container).__mro__[1]
    original = container._original
    if original is None:
        return base(base.__iter__(container)) if base is list else None
    if isinstance(original, dict):
        table = collections.OrderedDict if isinstance(original, collections.OrderedDict) else dict
        items = list(table.items(container))
        table.clear(original)
        for key, value in items:
            table.__setitem__(original, key, value)
    else:
        items = list(base.__iter__(container))
        original.clear()
        original.extend(items)
    return original


class WatchedAttributes:
    """While installed, report(path) is called when an attribute is read before it is written."""

    def __init__(self, report):
        self._report = report
        self._installed = {}  # (class, name) -> _Descriptor

    def add(self, path, owner, name):
        cls = type(owner)
        descriptor = self._installed.get((cls, name))
        if descriptor is None:
            descriptor = self._installed[cls, name] = _Descriptor(cls, name, self._report)
            setattr(cls, name, descriptor)
        descriptor.paths[id(owner)] = path

    def remove(self):
        for (cls, name), descriptor in self._installed.items():
            descriptor.remove(cls, name)
        self._installed = {}


class _Descriptor:
    def __init__(self, cls, name, report):
        self.name, self.paths, self._report = name, {}, report
        self._before = vars(cls).get(name, self)
        self._default = getattr(cls, name, self)

    def remove(self, cls, name):
        if self._before is self:
            delattr(cls, name)
        else:
            setattr(cls, name, self._before)

    def __get__(self, owner, cls=None):
        if owner is None:
            return self._class_value()
        path = self.paths.get(id(owner))
        if path is not None:
            self._report(path)
        if self.name in owner.__dict__:
            return owner.__dict__[self.name]
        return self._class_value()

    def _class_value(self):
        if self._default is self:
            raise AttributeError(self.name)
        return self._default

    def __set__(self, owner, value):
        self.paths.pop(id(owner), None)  # what is read from here on is of this call
        owner.__dict__[self.name] = value

    def __delete__(self, owner):
        if self.name not in owner.__dict__:
            raise AttributeError(self.name)
        del owner.__dict__[self.name]


def can_watch_attribute(owner, name):
    """Attributes of instances that lie in their __dict__, and for which nobody else has a descriptor."""
    if isinstance(owner, (type, dict, list, collections.deque)) or name not in getattr(owner, "__dict__", ()):
        return False
    if type(owner).__flags__ & _IMMUTABLE or not is_python_class(type(owner)):
        return False
    return not hasattr(vars_of_class(type(owner)).get(name), "__get__")


def vars_of_class(cls):
    found = {}
    for base in reversed(cls.__mro__):
        found.update(vars(base))
    return found
