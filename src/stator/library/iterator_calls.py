"""`iter`, `next`, `zip`, `map`, `enumerate`, `reversed`, `filter` and `itertools`: iterators."""

from __future__ import annotations

import functools
import io
import itertools
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

import torch

from stator.capture.conversions import index
from stator.capture.journal import Journal
from stator.capture.numbers import both
from stator.containers import definitions, iteration, lazy_definitions, machine_definitions
from stator.containers import standard_definitions as standard
from stator.containers.dict_calls import with_dicts
from stator.containers.generators import StagedGenerator
from stator.containers.iteration import CapturedRange, Indexed, indexed
from stator.containers.iterators import (
    PythonItems,
    StagedIterator,
    endless,
    new_iterator,
    next_item,
)
from stator.containers.lists import is_captured, list_get
from stator.containers.machine_definitions import Machine
from stator.containers.tensor_index import read_tensor
from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.library.captured_values import is_made_since, is_runtime_sequence, rows
from stator.library.iterator_classes import class_of_new
from stator.library.lazy_iterators import (
    lazily,
    needed,
    needed_for,
    reversed_by_index,
    zipped_in_turn,
)
from stator.library.user_methods import user_method
from stator.library.wrong_arguments import handled
from stator.program.ir import with_inner_ops
from stator.program.opset.queries import kind_of, row_of, written_by
from stator.program.opset.row import Kind
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.arrays import KnownArray
from stator.values.staged import StagedList, StagedSet, is_table, tick
from stator.values.union import Union, over_unions

EMPTY: tuple[Any, ...] = ([], (), "", {}, set(), range(0), {}.values(), {}.items())
# Python's own iterators that run no code when an item is taken
PLAIN: tuple[type, ...] = (
    *(type(iter(one)) for one in EMPTY),
    type(reversed([])), itertools.product, itertools.combinations, itertools.permutations,
    itertools.combinations_with_replacement,
)  # fmt: skip
Source = tuple[Indexed, bool]  # the items, and whether a loop over them is written out


def is_native(value: object) -> TypeGuard[Iterator[Any]]:
    """Is `value` an iterator of Python's own?"""
    return (
        isinstance(value, Iterator)
        and not isinstance(value, StagedIterator | StagedGenerator | io.IOBase)
        and user_method(value, "__next__") is None
    )


def staged_iterator(
    session: Session, native: Iterator[Any], args: Args = (), *, is_new: bool = False
) -> StagedIterator:
    """The iterator of the program that represents one of Python's own, always the same one."""
    if id(native) not in session.native_iterators:
        if session.recorder.depth and not is_new:
            raise UnsupportedCall(
                f"items of {with_article(type(native).__name__)} that may be from outside this "
                "branch or loop of the program are taken inside it",
                fix="make a list of it first: `list(...)`",
            )  # fmt: skip
        is_plain = isinstance(native, PLAIN) or type(native).__module__ == "itertools"
        code = not is_plain or any(isinstance(arg, Iterator) or callable(arg) for arg in args)
        instead = functools.partial(needed_for, type(native))
        items = PythonItems(session, native, instead, code=code).as_indexed()
        made = new_iterator(session, items, type(native), unrolls=True)
        session.native_iterators[id(native)] = (native, made)
    found: StagedIterator = session.native_iterators[id(native)][1]
    return found


def opened(session: Session, value: Staged) -> Staged:
    """`value`, or what the `__iter__` that a user wrote gives; a `__next__` as a generator."""
    method = user_method(value, "__iter__")
    if method is not None and not isinstance(value, Machine):
        value = session.interpreter.call_method(method, value)
    if not isinstance(value, Machine) and user_method(value, "__next__") is not None:
        value = session.interpreter.call(definitions.drained, value)
    return value


def runs_code(value: object) -> bool:
    """Does code of the user's run when an item of `value` is taken, which is opened?"""
    return isinstance(value, StagedGenerator | Machine)


TAKES_ITEMS = frozenset({  # of lists, dicts, sets, deques and strings
    "extend", "extendleft", "update", "join", "union", "intersection", "difference",
    "symmetric_difference", "isdisjoint", "issubset", "issuperset", "intersection_update",
    "difference_update", "symmetric_difference_update",
})  # fmt: skip


def listed_for(session: Session, owner: object, name: str, args: Args) -> Args:
    """The arguments of a method of a container, which goes through them from start to end."""
    if name not in TAKES_ITEMS or isinstance(owner, torch.Tensor):
        return args
    if isinstance(owner, dict):
        args = with_dicts(session, args)
    return tuple(_listed(session, opened(session, arg)) for arg in args)


def _listed(session: Session, value: Staged) -> Staged:
    takes = isinstance(value, StagedIterator) or runs_code(value)
    return session.interpreter.call(list, value) if takes else value


SEEN: frozenset[Kind] = frozenset({"output", "host", "mode"})  # it matters when such ops run
SEQUENCES = (StagedList, list, tuple)
BY_NUMBER: tuple[type, ...] = (type(reversed([])), type(iter([])), type(iter(())))


class IteratorCalls:
    """The calls of one capture that make iterators, or take items of them."""

    def __init__(self, session: Session) -> None:
        self.session, self.recorder = session, session.recorder
        self.handlers: dict[Any, Callable[..., Any]] = {
            enumerate: self._enumerate, zip: self._zip, reversed: self._reversed, map: self._map,
            filter: self._filter, next: self._next, iter: self._iter,
            itertools.count: self._count, itertools.cycle: self._cycle,
            itertools.repeat: self._repeat, itertools.islice: self._islice,
            itertools.chain: self._chain, itertools.chain.from_iterable: self._chain_of,
            itertools.starmap: self._starmap,
        }  # fmt: skip

    def source(self, value: Staged) -> Source:
        """The items that `value` gives, one after the other."""
        if is_native(value):
            value = staged_iterator(self.session, value)
        if isinstance(value, StagedIterator):
            return value.stream(), False
        found = indexed(self.recorder, value)
        if found is not None:
            return found, False
        if isinstance(value, range):
            known = CapturedRange(value.start, value.stop, value.step)
            return Indexed(known.more, known.item, known.length), False
        if isinstance(value, torch.Tensor):
            count = value.shape[0]
            return Indexed(
                lambda k: k < count, lambda k: read_tensor(value, k), lambda: count
            ), True
        if isinstance(value, StagedList):
            return self._list_items(value), True
        if isinstance(value, Union) and all(
            isinstance(one, SEQUENCES) for one in value.alternatives
        ):
            items = self._items_of_one(value)
            return items, isinstance(items.length(), int)
        if isinstance(value, KnownArray):
            return self._known_items(value), True
        return iteration.of_python(self.recorder, rows(value)), True

    def _list_items(self, items: StagedList) -> Indexed:
        """The items of a list, which may change before they are taken."""

        def length() -> Staged:
            return self.session.interpreter.call(len, items)

        def item(at: Staged) -> Staged:
            if not items.is_open and isinstance(at, int):
                return self.session.interpreter.getitem(items, at)
            return list_get(self.recorder, items, at)

        return Indexed(lambda at: at < length(), item, length)

    def _items_of_one(self, union: Union) -> Indexed:
        """The items of one of several lists and tuples, each read when it is taken."""
        interpreter = self.session.interpreter

        def length() -> Staged:
            return interpreter.call(len, union)

        return Indexed(lambda at: at < length(), lambda at: interpreter.getitem(union, at), length)

    def _known_items(self, array: KnownArray) -> Indexed:
        """The items of an array, which may be written to before they are taken."""
        count = len(array.value)
        return Indexed(
            lambda at: at < count, lambda at: self.session.interpreter.getitem(array, at),
            lambda: count,
        )  # fmt: skip

    def _made(self, items: Indexed, cls: type, *, unrolls: bool) -> StagedIterator:
        return new_iterator(self.session, items, cls, unrolls=unrolls)

    def _enumerate(self, values: Staged, start: Staged = 0) -> Staged:
        start = index(self.recorder, start)
        if not isinstance(start, torch.SymInt | torch.SymBool):
            enumerate((), start)  # which raises for what is no number
        if isinstance(values, Union):
            return self.recorder.apply(values, lambda one: self._enumerate(one, start))
        values = opened(self.session, values)
        if runs_code(values):
            return self.session.interpreter.call(definitions.enumerated, values, start)
        items, unrolls = self.source(values)
        made = self._made(iteration.enumerated(items, start), enumerate, unrolls=unrolls)
        made.is_by_number = not isinstance(self._seen(values), StagedIterator)
        return made

    def _zip(self, *values: Staged, **kwargs: Staged) -> Staged:
        if not values:
            return self._made(iteration.of_python(self.recorder, ()), zip, unrolls=True)
        values = tuple(opened(self.session, value) for value in values)
        strict = bool(kwargs.get("strict"))
        if any(map(runs_code, values)) or (
            strict and self._is_lazy(lazy_definitions.zipped_strictly)
        ):
            return self._zip_of_code(values, strict=strict)
        sources = [self.source(value) for value in values]
        parts = [items for items, _ in sources]
        unrolls = all(unrolls for _, unrolls in sources)
        streams = [isinstance(self._seen(value), StagedIterator) for value in values]
        items = iteration.zipped(parts)
        if kwargs.get("strict"):
            items = Indexed(functools.partial(self._strict_more, parts), items.item, items.length)
        elif sum(streams) > 1 or any(streams[:-1]):
            if self._is_lazy(lazy_definitions.zipped_in_turn):
                return zipped_in_turn(self.session, values)
            if self._is_of_run(values):
                return self._zip_of_run(values)
            return staged_iterator(self.session, zip(*values), values, is_new=True)  # noqa: B905
        made = self._made(items, zip, unrolls=unrolls)
        made.is_by_number = not any(streams) and not kwargs.get("strict")
        return made

    def _zip_of_code(self, values: tuple[Staged, ...], *, strict: bool) -> Staged:
        """`zip` of generators, and of others beside them."""
        call = self.session.interpreter.call
        if strict:
            rows = call(lazy_definitions.ones, values[0])
            for count, value in enumerate(values[1:], 1):
                items = value if runs_code(value) else self._iter(value)
                rows = call(lazy_definitions.zipped_strictly, rows, items, count)
            return rows
        at = next(k for k, value in enumerate(values) if runs_code(value))
        before, after = (
            self._zip(*some) if some else self._repeat(())
            for some in (values[:at], values[at + 1 :])
        )
        return call(lazy_definitions.zipped, before, values[at], after)

    def _is_lazy(self, definition: Staged) -> bool:
        return lazily(self.session, definition)

    def _is_of_run(self, values: tuple[Staged, ...]) -> bool:
        """Does only a run know how many items there are, and can each be read by its number?"""
        iterators = [one for one in values if isinstance(one, StagedIterator)]
        others = [one for one in values if not isinstance(one, StagedIterator)]
        return all(one.is_by_number or one.cls in BY_NUMBER for one in iterators) and (
            any(not isinstance(one.more(), bool) for one in iterators)
            or any(is_runtime_sequence(self.recorder, one) for one in others)
        )

    def _zip_of_run(self, values: tuple[Staged, ...]) -> Staged:
        """`zip` of iterators that nothing else uses: how many items each gives is the run's."""
        again = functools.partial(needed, lazy_definitions.zipped_in_turn)
        parts = [
            one.spend(again) if isinstance(one, StagedIterator) else self.source(one)[0]
            for one in values
        ]
        made = self._made(iteration.zipped(parts), zip, unrolls=False)
        made.is_by_number = True
        return made

    def _seen(self, value: object) -> object:
        return staged_iterator(self.session, value) if is_native(value) else value

    def _strict_more(self, parts: list[Indexed], at: object) -> Staged:
        """Is there a row `at` of a strict `zip`? An error where only some have an item."""
        more = [part.more(at) for part in parts]
        if not all(isinstance(one, bool) for one in more):
            raise needed(lazy_definitions.zipped_strictly)
        if len(set(more)) > 1:
            at_fault = more.index(not more[0])
            what = "shorter" if more[0] else "longer"
            others = "argument 1" if at_fault == 1 else f"arguments 1-{at_fault}"
            raise ValueError(f"zip() argument {at_fault + 1} is {what} than {others}")
        return more[0]

    def _reversed(self, values: Staged) -> Staged:
        method = user_method(values, "__reversed__")
        if method is not None:
            return self.session.interpreter.call_method(method, values)
        if user_method(values, "__getitem__") and user_method(values, "__len__"):
            return reversed_by_index(self.session, values)
        if isinstance(values, Union):
            return self.recorder.apply(values, self._reversed)
        if isinstance(values, torch.Tensor):  # as eager: the rows of a flipped copy
            return values.flip(0) if values.dim() else reversed(values)
        cls = self.session.interpreter.call(type, values)
        is_sequence = hasattr(cls, "__len__") and hasattr(cls, "__getitem__")
        if getattr(cls, "__reversed__", None) is None and not is_sequence:
            raise TypeError(f"'{cls.__name__}' object is not reversible")
        items, unrolls = self.source(values)
        return self._made(iteration.reversed_items(items), type(reversed([])), unrolls=unrolls)

    def _map(self, function: object, *values: Staged) -> Staged:
        call = self.session.interpreter.call
        if not values:
            map(function)  # type: ignore[call-overload]  # which raises
        values = tuple(opened(self.session, value) for value in values)
        if len(values) == 1 and runs_code(values[0]):
            return call(lazy_definitions.mapped, function, values[0])
        if any(map(runs_code, values)):
            return call(lazy_definitions.mapped_rows, function, self._zip(*values))
        if len(values) == 1:
            items, unrolls = self.source(values[0])
            mapped = iteration.mapped(lambda value: call(function, value), items)
            return self._made(mapped, map, unrolls=unrolls)
        rows_of = self._zip(*values)
        if runs_code(rows_of):
            return call(lazy_definitions.mapped_rows, function, rows_of)
        mapped = iteration.mapped(lambda row: call(function, *row), rows_of.items)
        return self._made(mapped, map, unrolls=rows_of.unrolls)

    def _starmap(self, function: object, values: Staged) -> Staged:
        values, call = opened(self.session, values), self.session.interpreter.call
        if runs_code(values):
            return call(lazy_definitions.starred, function, values)
        items, unrolls = self.source(values)
        mapped = iteration.mapped(lambda row: call(function, *row), items)
        return self._made(mapped, itertools.starmap, unrolls=unrolls)

    def _filter(self, function: Staged, values: Staged) -> Staged:
        """`filter`, whose test is made of all items at once unless something tells when that is."""
        values = opened(self.session, values)
        if runs_code(values) or self._is_lazy(lazy_definitions.filtered):
            return self.session.interpreter.call(lazy_definitions.filtered, function, values)
        recorder, start = self.recorder, tick()
        journal = recorder.journal = Journal(recorder.journal)
        done = len(recorder.scope.block.ops)
        try:
            kept = self.session.interpreter.run(definitions.filtered, function, values)
        finally:
            journal.keep()
            assert journal.parent is not None
            recorder.journal = journal.parent
        ops = list(with_inner_ops(recorder.scope.block.ops[done:]))
        made = {value for op in ops for value in op.results}
        is_written = any(value not in made for op in ops for value in written_by(op))
        is_new = self.session.provenance.created_since(recorder.scope.program)
        changed = [obj for obj, _ in journal.changed() if not isinstance(obj, StagedIterator)]
        changed = [obj for obj in changed if not (is_made_since(start, obj) and is_new(obj))]
        is_seen = any(kind_of(op) in SEEN or row_of(op.name).random for op in ops)
        if is_written or changed or is_seen:
            raise needed(lazy_definitions.filtered)
        items, unrolls = self.source(kept)
        return self._made(items, filter, unrolls=unrolls)

    @over_unions("iterator")
    def _next(self, iterator: Staged, *default: Staged) -> Staged:
        if isinstance(iterator, Machine) and default:
            return self.session.interpreter.run(machine_definitions.next_or, iterator, *default)
        own = user_method(iterator, "__next__")
        if own is not None and default:
            return self.session.interpreter.run(definitions.next_or, iterator, *default)
        if own is not None:
            return self.session.interpreter.call(own, iterator)
        if is_native(iterator):
            iterator = staged_iterator(self.session, iterator)
        if isinstance(iterator, StagedIterator):
            return next_item(self.session, iterator, *default)
        return next(iterator, *default)

    def _iter(self, *args: Staged) -> Staged:
        if len(args) == 2:
            if not callable(args[0]):
                raise TypeError("iter(v, w): v must be callable")
            return self.session.interpreter.run(lazy_definitions.called_until, *args)
        (value,) = args
        if isinstance(value, Union):
            return self.recorder.apply(value, self._iter)
        if isinstance(value, StagedIterator | StagedGenerator):
            return value
        method = user_method(value, "__iter__")
        if method is not None:
            return self.session.interpreter.call_method(method, value)
        if is_native(value):
            return staged_iterator(self.session, value)
        if isinstance(value, StagedSet) and is_table(value):
            value = self.session.interpreter.call(list, value)  # refuses its order
        items, unrolls = self.source(value)
        return self._made(items, class_of_new(value), unrolls=unrolls)

    # ---- itertools

    def _count(self, start: Staged = 0, step: Staged = 1) -> Staged:
        items = Indexed(lambda _: True, lambda k: start + k * step, endless)
        if isinstance(start, float) or isinstance(step, float):
            return self.session.interpreter.call_library(itertools.count, (start, step), {})
        return self._made(items, itertools.count, unrolls=False)

    def _repeat(self, value: Staged, times: Staged = None) -> Staged:
        if times is None:
            items = Indexed(lambda _: True, lambda _: value, endless)
        else:
            items = Indexed(lambda k: k < times, lambda _: value, lambda: times)
        return self._made(items, itertools.repeat, unrolls=isinstance(times, int))

    def _cycle(self, values: Staged) -> Staged:
        values = opened(self.session, values)
        if runs_code(values):
            return self.session.interpreter.call(lazy_definitions.repeated, values)
        whole = self.session.interpreter.call(list, values)
        items, _ = self.source(whole)
        count = items.length()
        round_about = Indexed(lambda _: count > 0, lambda k: items.item(k % count), endless)
        return self._made(round_about, itertools.cycle, unrolls=False)

    def _islice(self, values: Staged, *bounds: Staged) -> Staged:
        if all(isinstance(one, int | None) for one in bounds):
            itertools.islice((), *bounds)  # which raises for a negative one
        start, stop, step = _bounds(*bounds)
        values = opened(self.session, values)
        if runs_code(values):
            return self.session.interpreter.call(lazy_definitions.sliced, values, start, stop, step)
        items, unrolls = self.source(values)
        if isinstance(self._seen(values), StagedIterator):
            if stop is None or step != 1 or not (isinstance(start, int) and isinstance(stop, int)):
                whole = (self._seen(values), start, stop, step)
                return self.session.interpreter.call(lazy_definitions.sliced, *whole)
            return self._islice_stream(items, start, stop)

        def more(at: Staged) -> Staged:
            place = start + at * step
            return items.more(place) if stop is None else both(place < stop, items.more(place))

        sliced = Indexed(more, lambda at: items.item(start + at * step), _no_length)
        return self._made(sliced, itertools.islice, unrolls=unrolls)

    def _islice_stream(self, items: Indexed, start: int, stop: int) -> Staged:
        for _ in range(start):
            if items.more(0) is not True:
                break
            items.item(0)
        sliced = Indexed(lambda at: both(at < stop - start, items.more(at)), items.item, _no_length)
        return self._made(sliced, itertools.islice, unrolls=False)

    def _chain(self, *values: Staged) -> Staged:
        return self._chain_of(values)

    def _chain_of(self, values: Staged) -> Staged:
        """The items of each, all in a list; those of iterators are taken one by one."""
        if not is_captured(values):
            values = opened(self.session, values)
            if self._is_moved(values):
                return self.session.interpreter.call(standard.one_after_another, values)
            values = self.session.interpreter.call(tuple, values)
            if any(self._is_moved(value) for value in values):
                return self.session.interpreter.call(standard.one_after_another, values)
        whole = self.session.interpreter.run(definitions.chained, values)
        items, unrolls = self.source(whole)
        return self._made(items, itertools.chain, unrolls=unrolls)

    def _is_moved(self, value: Staged) -> bool:
        """Can it be seen when items of `value` are taken?"""
        runs = any(user_method(value, name) is not None for name in ("__iter__", "__next__"))
        return runs or runs_code(value) or isinstance(value, StagedIterator) or is_native(value)

    def call(self, function: Staged, args: Args, kwargs: Keywords) -> Staged:
        """`function(*args, **kwargs)`."""
        return handled(function, self.handlers[function], args, kwargs)


def _bounds(*bounds: Staged) -> tuple[Staged, Staged, Staged]:
    if len(bounds) == 1:
        return 0, bounds[0], 1
    start, stop, step = (*bounds, None)[:3]
    return start or 0, stop, step or 1


def _no_length() -> int:
    raise TypeError("object of type 'itertools.islice' has no len()")
