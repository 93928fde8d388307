"""Whether a program reads what it keeps: containers and attributes that tell when somebody looks at them.

Reads are seen, not guessed: in place of a container lies another object that passes for it, an attribute is put behind a descriptor on the
class of its owner. The object is no container to C code: what would read it past its methods (`list.__len__(self.log)`, heapq) raises, which is seen."""

import collections
import sys

from torch.utils import _pytree

from lazyrt.code_names import is_python_class
from lazyrt.tensors import HERE

_WRITES = {
    list: {"append", "extend", "insert", "clear", "__iadd__"},
    dict: {"clear", "update", "__setitem__", "__ior__"},
    collections.deque: {"append", "appendleft", "extend", "extendleft", "clear", "__iadd__", "rotate"},
}
_ABSTRACT = {list: collections.abc.MutableSequence, dict: collections.abc.MutableMapping, collections.deque: collections.abc.MutableSequence}
_IMMUTABLE = 1 << 8  # flag of types
_AT_PLACES = ("__setitem__", "__delitem__")  # of lists: whether they raise tells the length, but for slices
_QUIET = {"maxlen"}
# What reads past them: attributes; lists; any container, or sees that it is another object.
_BEHIND = {"vars", "__dict__", "__getstate__", "copy", "__copy__", "deepcopy", "dumps", "dump", "__reduce_ex__", "get_referents"}
_HEAPS = {"heappush", "heappop", "heappushpop", "heapreplace", "heapify"}
_SIZES = {"getsizeof", "__sizeof__", "get_referents", "get_objects", "get_referrers", "type(x)"}
_OF_OBJECTS = {"__class__", "__new__", "__init_subclass__", "__subclasshook__", "__class_getitem__", "__getattribute__", "__setattr__", "__delattr__", "__missing__"}
_classes: dict = {}


class _Watched:
    """Passes for a container, of which it is made; tells when somebody looks at it."""

    __slots__ = ("_container", "_report", "_others", "__weakref__")

    def __getattr__(self, name):
        if name not in _QUIET:
            self._report()
        return getattr(self._container, name)

    def __setattr__(self, name, value):
        setattr(self._container, name, value)


def _make(cls, container, report, others):
    made = object.__new__(cls)
    for name, value in (("_container", container), ("_report", report), ("_others", others)):
        object.__setattr__(made, name, value)
    others.append(made)
    return made


def _plain(value):
    if is_watched(value):
        value._report()
        return value._container
    return value


def _method(name, is_read):
    def method(self, *args, **kwargs):
        if is_read(args):
            self._report()
        container = self._container
        result = getattr(container, name)(*map(_plain, args), **kwargs)
        return self if result is container else result

    method.__name__ = name
    return method


def _is_at_a_place(args):
    return not args or type(args[0]) is not slice or args[0].step is not None


def _adds(self, other):
    """A longer list of the kind is no look at what is in it."""
    made = self._container.__add__(_plain(other))
    return made if made is NotImplemented else _make(type(self), made, self._report, self._others)


def _adds_to(self, other):
    self._report()
    return other + self._container if type(other) is list else NotImplemented


def _like_of(kind):
    """The class of what stands for a container of the class."""
    if kind not in _classes:
        family = next(base for base in _WRITES if issubclass(kind, base))
        names = [name for name in dir(kind) if name not in _OF_OBJECTS and callable(getattr(kind, name))]
        members = {name: _method(name, (lambda args: False) if name in _WRITES[family] else lambda args: True) for name in names}
        if family is list:
            members.update({name: _method(name, _is_at_a_place) for name in _AT_PLACES})
            members.update(__add__=_adds, __radd__=_adds_to)
        made = type(kind.__name__, (_Watched,), {**members, "__slots__": (), "__hash__": None, "__class__": property(lambda self: kind)})
        _ABSTRACT[family].register(made)
        _register_node(kind, made)
        _classes[kind] = made
    return _classes[kind]


def _register_node(kind, made):
    """torch's trees go by type(x)."""
    node = _pytree.SUPPORTED_NODES.get(kind)
    if node is not None:
        keyed = node.flatten_with_keys_fn
        _pytree.SUPPORTED_NODES[made] = node._replace(type=made, flatten_fn=lambda value: node.flatten_fn(_plain(value)),
                                                      flatten_with_keys_fn=keyed and (lambda value: keyed(_plain(value))))


def is_watched(value):
    return issubclass(type(value), _Watched)


def can_watch(container):
    """Containers for which another object can pass. Not sets: C code reads them past their methods."""
    return type(container) in (list, dict, collections.deque, collections.OrderedDict, collections.defaultdict,
                               collections.Counter)


def unseen_ways(container=None):
    """What code names that reads the container, or attributes where it is None, unseen."""
    if container is None:
        return _BEHIND
    return _SIZES | _HEAPS if isinstance(container, list) else _SIZES


def watched(container, report, others):
    """What stands for the container, and calls report() when somebody looks at it. `others` gets it, and what is made of it by adding."""
    return _make(_like_of(type(container)), container, report, others)


def unwatched(value):
    """The container that a watched one stands for."""
    return value._container if is_watched(value) else value


class WatchedErrors:
    """While installed, report() is called when the program's Python meets an error as C code raises it for what is no container, be it caught."""

    def __init__(self, report):
        self._report, self._before, self._installed = report, None, False

    def install(self):
        self._before, self._installed = sys.gettrace(), True
        sys.settrace(self._begin)

    def remove(self):
        if self._installed:
            sys.settrace(self._before)
            self._installed = False

    def _begin(self, frame, event, value):
        others = self._before and self._before(frame, event, value)
        if frame.f_code.co_filename.startswith(HERE):
            return others
        frame.f_trace_lines = False

        def look(frame, event, value):
            nonlocal others
            others = others and others(frame, event, value)
            if event == "exception" and issubclass(value[0], (TypeError, ValueError, SystemError)):
                self._report()
            return look

        return look


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
