"""new_tree(): what library code has just made, as converted code would have made it.

    settings = json.loads(text)         # a dict of lists, which are Python's own
    settings["sizes"].append(3)

A list in such a result is no one else's, so it must not be taken for one of the caller's, whose
changes are effects. What has other references than those inside the result existed before, and is
left as it is, with all that it holds.
"""

from __future__ import annotations

import collections
import sys
from collections.abc import Iterator
from typing import Any

import torch

from stator.state.session import Session
from stator.state.stand_ins import staged_copy
from stator.values.annotations import Staged
from stator.values.attributes import attributes_of
from stator.values.containers import is_plain_object
from stator.values.contents import change

COPIED = (
    list, dict, set, collections.deque, collections.defaultdict, collections.OrderedDict,
    collections.Counter,
)  # fmt: skip
HELD_HERE = 2  # references to a part while they are counted: in a list here, and an argument


def new_tree(session: Session, result: object) -> Staged:
    """`result`, which is new, with containers of the capture in the place of those in it."""
    if not _has_parts(result):
        return result
    return _NewTree(session, _new_nodes(result)).of(result)


class _NewTree:
    """What becomes of each part of one result: a part in two places is one object."""

    def __init__(self, session: Session, new: dict[int, object]) -> None:
        self.session, self.new = session, new
        self.made: dict[int, Staged] = {}  # by the id of the part

    def of(self, part: Any) -> Staged:
        """What converted code has in the place of `part`."""
        if id(part) not in self.new:
            return part
        if id(part) not in self.made:
            self.made[id(part)] = self._make(part)
        return self.made[id(part)]

    def _make(self, part: Any) -> Staged:
        if type(part) is torch.Tensor:
            return part.clone()  # every run needs its own
        if type(part) is tuple:
            items = [self.of(item) for item in part]
            same = all(one is item for one, item in zip(items, part, strict=True))
            return part if same else tuple(items)
        if not _is_copied(part):
            return self._object(part)
        made: Any = staged_copy(part)
        self.made[id(part)] = made
        if isinstance(part, dict):
            for key, item in part.items():
                dict.__setitem__(made, key, self.of(item))
        elif not isinstance(part, set):
            for index, item in enumerate(part):
                list.__setitem__(made, index, self.of(item))
        return made

    def _object(self, part: Any) -> Staged:
        self.made[id(part)] = part
        self.session.provenance.add_created(part)
        attributes = {name: self.of(value) for name, value in attributes_of(part).items()}
        change(part, attributes, ())
        return part


def _new_nodes(result: object) -> dict[int, object]:
    """By id: what is in `result`, and nowhere else."""
    held, nodes = _references(result)
    new = {id(result): result}
    for index in range(1, len(nodes)):  # by index: a variable would be one reference more
        if sys.getrefcount(nodes[index]) == held[id(nodes[index])] + HELD_HERE:
            new[id(nodes[index])] = nodes[index]
    reached: dict[int, object] = {}
    waiting = [result]
    while waiting:
        node = waiting.pop()
        if id(node) in new and id(node) not in reached:
            reached[id(node)] = node
            waiting += _parts_of(node)
    return reached


def _references(result: object) -> tuple[dict[int, int], list[object]]:
    """How often each part of `result` is held by others, by its id; and the parts."""
    nodes, held = [result], {id(result): 0}
    for node in nodes:
        for part in _parts_of(node):
            if id(part) not in held:
                held[id(part)] = 0
                nodes.append(part)
            held[id(part)] += 1
    return held, nodes


def _is_copied(value: object) -> bool:
    return type(value) in COPIED


def _has_parts(value: object) -> bool:
    return type(value) is tuple or _is_copied(value) or is_plain_object(value)


def _parts_of(value: Any) -> Iterator[object]:
    """The containers, objects and tensors that `value` holds."""
    items: Any = ()
    if isinstance(value, dict) and _is_copied(value):
        items = value.values()
    elif type(value) is tuple or _is_copied(value):
        items = value
    elif is_plain_object(value):
        items = attributes_of(value).values()
    return (item for item in items if _has_parts(item) or type(item) is torch.Tensor)
