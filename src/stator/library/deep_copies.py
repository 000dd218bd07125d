"""`copy.deepcopy` of containers and objects that may hold captured values.

Python's own cannot copy a captured tensor or number, and would see the caller's lists as they were
before the call. What has no parts that converted code knows is left to it.
"""

from __future__ import annotations

import copy
from typing import Any, get_args

import torch

from stator.errors import UnsupportedCall
from stator.library.modules import tree_watch
from stator.library.user_methods import user_method
from stator.state.library_objects import watch_object
from stator.state.session import Session
from stator.state.unconverted import watched
from stator.torch_private.fake import FakeTensor
from stator.values.annotations import Staged
from stator.values.attributes import attributes_of, update_attributes
from stator.values.containers import is_plain_object
from stator.values.pooled import Reference
from stator.values.staged import StagedDict, StagedList
from stator.values.symbolic import CapturedText, Number
from stator.values.union import Union

ATOMS = (
    bool, int, float, complex, str, bytes, type(None), CapturedText, *get_args(Number),
)  # fmt: skip
PROTOCOL = ("__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")
NOT_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
    "the moment.  If you were attempting to deepcopy a module, this may be because of a "
    "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
)


def deep_copy(
    session: Session, value: Staged, memo: dict[int, Any] | None = None, _nil: object = ()
) -> Staged:
    """`copy.deepcopy(value, memo)`."""
    if memo is None:
        memo = {}
        session.provenance.add_created(memo)
    return DeepCopy(session, memo).of(value)


class DeepCopy:
    """One call of `deepcopy`: what it has copied so far is in `memo`, by id, as Python has it."""

    def __init__(self, session: Session, memo: dict[int, Any]) -> None:
        self.session, self.memo = session, memo
        self.memories: dict[int, torch.Tensor] = {}  # the tensor that was copied, by its memory

    def of(self, value: Staged) -> Staged:
        """The copy of `value`."""
        value = self.session.staged(value)
        if isinstance(value, ATOMS):
            return value
        if id(value) in self.memo:
            return self.memo[id(value)]
        if isinstance(value, Union):
            return self.session.recorder.apply(value, self.of)
        made = self._copy(value)
        if made is not value:
            self.memo[id(value)] = made
            self.memo.setdefault(id(self.memo), []).append(value)  # which keeps its id its own
        return made

    def _copy(self, value: Staged) -> Staged:
        own = user_method(value, "__deepcopy__")
        if own is not None:
            return self.session.interpreter.call_method(own, value, self.memo)
        if isinstance(value, torch.Tensor) and type(value) in (torch.Tensor, FakeTensor):
            return self._tensor(value)
        if type(value) is torch.nn.Parameter:
            return self._parameter(value)
        if isinstance(value, torch.nn.Module):
            return self._module(value)
        if isinstance(value, StagedList) and value.is_open:
            return self.session.interpreter.run(items_copied, value)
        if isinstance(value, Reference):
            return self._by_python(value)
        if type(value) in (list, StagedList):
            return self._list(value)
        if type(value) is dict or (type(value) is StagedDict and not value.is_open):
            return self._dict(value)
        if type(value) is tuple:
            copies = [self.of(item) for item in value]
            same = all(one is item for one, item in zip(copies, value, strict=True))
            return value if same else tuple(copies)
        if is_plain_object(value) and not any(user_method(value, name) for name in PROTOCOL):
            return self._object(value)
        return self._by_python(value)

    def _tensor(self, value: torch.Tensor) -> Staged:
        call, get = self.session.interpreter.call, self.session.interpreter.get
        memory = value.untyped_storage()._cdata
        if self.memories.setdefault(memory, value) is not value:
            raise UnsupportedCall(
                "`deepcopy` copies two tensors that share memory: the copies would share it, too",
                fix="copy each of them by `clone()`",
            )
        if not value.requires_grad:
            return call(get(value, "clone"))
        if not get(value, "is_leaf"):
            raise RuntimeError(NOT_LEAF)
        return self._by_python(value)

    def _parameter(self, value: torch.nn.Parameter) -> Staged:
        call, get = self.session.interpreter.call, self.session.interpreter.get
        copied = call(get(call(get(value, "detach")), "clone"))
        return call(torch.nn.Parameter, copied, requires_grad=get(value, "requires_grad"))

    def _module(self, value: torch.nn.Module) -> Staged:
        """Python's own copies the module around the copies of its tensors, which are the run's."""
        with tree_watch(self.session, (value,)):
            for tensor in (*value.parameters(), *value.buffers()):
                self.of(tensor)
            made = self._by_python(value)
        for module in made.modules():
            self.session.provenance.add_created(module)
        return made

    def _list(self, value: Staged) -> Staged:
        made = self.memo[id(value)] = self.session.interpreter.new_list(())
        for index in range(len(value)):
            made.append(self.of(self.session.interpreter.getitem(value, index)))
        return made

    def _dict(self, value: Staged) -> Staged:
        made = self.memo[id(value)] = StagedDict()
        for key in list(value):
            made[self.of(key)] = self.of(self.session.interpreter.getitem(value, key))
        return made

    def _object(self, value: Any) -> Staged:
        cls: Any = type(value)
        made = self.memo[id(value)] = cls.__new__(cls)
        self.session.provenance.add_created(made)
        get = self.session.interpreter.get_plainly
        names = list(attributes_of(value))
        update_attributes(made, {name: self.of(get(value, name)) for name in names})
        return made

    def _by_python(self, value: Staged) -> Staged:
        watch_object(self.session, value, set())
        with watched(self.session, "deepcopy", (value,)):
            made = copy.deepcopy(value, self.memo)
        if made is not value:
            self.session.provenance.add_created(made)
        return made


def items_copied(items: Staged) -> Staged:
    """A list whose length only a run knows; converted like user code."""
    return [copy.deepcopy(item) for item in items]
