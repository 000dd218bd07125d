"""Builtins and containers in Python, converted like user code where operands are captured."""

from __future__ import annotations

import sys

from stator.values.annotations import Staged

NO_DEFAULT = object()
OF_NOTHING = (
    "iterable argument is empty" if sys.version_info >= (3, 12) else "arg is an empty sequence"
)


def sum_of(items: Staged, start: object = 0) -> Staged:
    """`sum(items, start)`."""
    for item in items:
        start = start + item
    return start


def any_of(items: Staged) -> Staged:
    """`any(items)`."""
    for item in items:
        if item:
            return True
    return False


def all_of(items: Staged) -> Staged:
    """`all(items)`."""
    for item in items:
        if not item:
            return False
    return True


def max_of(items: Staged, key: Staged = None, default: object = NO_DEFAULT) -> Staged:
    """`max(items, key=key, default=default)`."""
    items = list(items)
    if len(items) == 0:
        if default is NO_DEFAULT:
            raise ValueError("max() " + OF_NOTHING)
        return default
    best = 0
    if key is None:
        for at in range(1, len(items)):
            if items[at] > items[best]:
                best = at
        return items[best]
    best_key = key(items[0])
    for at in range(1, len(items)):
        item_key = key(items[at])
        if item_key > best_key:
            best, best_key = at, item_key
    return items[best]


def min_of(items: Staged, key: Staged = None, default: object = NO_DEFAULT) -> Staged:
    """`min(items, key=key, default=default)`."""
    items = list(items)
    if len(items) == 0:
        if default is NO_DEFAULT:
            raise ValueError("min() " + OF_NOTHING)
        return default
    best = 0
    if key is None:
        for at in range(1, len(items)):
            if items[at] < items[best]:
                best = at
        return items[best]
    best_key = key(items[0])
    for at in range(1, len(items)):
        item_key = key(items[at])
        if item_key < best_key:
            best, best_key = at, item_key
    return items[best]


def same_pairs(left: Staged, right: Staged) -> Staged:
    """`left == right` of two dicts."""
    if len(left) != len(right):
        return False
    for key, value in left.items():
        if key not in right or not same(right[key], value):
            return False
    return True


def are_in(items: Staged, table: Staged) -> Staged:
    """Is each of `items` in `table`?"""
    for item in items:
        if item not in table:
            return False
    return True


def same_counts(left: Staged, right: Staged) -> Staged:
    """`left == right` of two Counters: what one does not have it has 0 times."""
    for key, count in left.items():
        if right.get(key, 0) != count:
            return False
    for key, count in right.items():
        if left.get(key, 0) != count:
            return False
    return True


def list_of(items: Staged) -> Staged:
    """`list(items)`."""
    result = []
    for item in items:
        result.append(item)
    return result


def dict_of_keys(keys: Staged, value: object = None) -> Staged:
    """`dict.fromkeys(keys, value)`."""
    table = {}
    for key in keys:
        table[key] = value
    return table


def chained(sequences: Staged) -> Staged:
    """`itertools.chain(*sequences)`, as a list."""
    result = []
    for sequence in sequences:
        for item in sequence:
            result.append(item)
    return result


def filtered(function: Staged, items: Staged) -> Staged:
    """`filter(function, items)`, as a list."""
    result = []
    for item in items:
        if item if function is None else function(item):
            result.append(item)
    return result


def reduced(function: Staged, items: Staged, initial: object = NO_DEFAULT) -> Staged:
    """`functools.reduce(function, items, initial)`."""
    found = initial is not NO_DEFAULT
    result = initial if found else None
    for item in items:
        result = function(result, item) if found else item
        found = True
    if not found:
        raise TypeError("reduce() of empty iterable with no initial value")
    return result


def same(item: object, wanted: object) -> Staged:
    """`item is wanted or item == wanted`: staging has a handler for it (`logic.same`)."""
    return item is wanted or item == wanted


def drained(iterator: Staged) -> Staged:
    """The items of an object with a `__next__` that a user wrote."""
    while True:
        try:
            item = next(iterator)
        except StopIteration:
            return
        yield item


def next_or(iterator: Staged, default: object) -> Staged:
    """`next(iterator, default)`."""
    try:
        return next(iterator)
    except StopIteration:
        return default


def contains(items: Staged, wanted: object) -> Staged:
    """`wanted in items`."""
    for item in items:
        if same(item, wanted):
            return True
    return False


def are_equal(left: Staged, right: Staged) -> Staged:
    """`left == right` of two lists or two tuples."""
    if len(left) != len(right):
        return False
    for one, other in zip(left, right):  # noqa: B905 (they are of one length)
        if not same(one, other):
            return False
    return True


def keys_of(items: Staged, key: Staged) -> Staged:
    """The keys by which `items` are sorted."""
    return [key(item) for item in items]


def copied_rows(rows: Staged) -> Staged:
    """A list with a copy of each of `rows`."""
    copies = []
    for row in rows:
        copies.append(list(row))
    return copies


def clipped(bound: Staged, missing: object, length: Staged) -> Staged:
    """The place that a bound of a slice represents, in a list of `length` items."""
    if bound is None:
        return missing
    if bound < 0:
        bound = bound + length
    return min(max(bound, 0), length)


def with_slice(items: Staged, start: object, stop: object, others: Staged) -> Staged:
    """`items` after `items[start:stop] = others`."""
    length = len(items)
    first = clipped(start, 0, length)
    last = max(clipped(stop, length, length), first)
    return items[:first] + others + items[last:]


def without_slice(items: Staged, start: Staged, stop: Staged, step: object) -> Staged:
    """`items` after `del items[start:stop:step]`, for a step forwards."""
    first = clipped(start, 0, len(items))
    last = clipped(stop, len(items), len(items))
    kept = []
    for place, item in enumerate(items):
        if place < first or place >= last or (place - first) % step != 0:
            kept.append(item)
    return kept


def enumerated(items: Staged, start: Staged = 0) -> Staged:
    """`enumerate(items, start)`."""
    for item in items:
        yield start, item
        start = start + 1


def sorted_by(items: Staged, given: Staged, reverse: object = False) -> Staged:
    """`items` in the order of the keys `given`: stable, as exchanges are of neighbours."""
    result, keys = list(items), list(given)
    for end in range(1, len(result)):
        for k in range(end, 0, -1):
            if keys[k - 1] < keys[k] if reverse else keys[k] < keys[k - 1]:
                keys[k - 1], keys[k] = keys[k], keys[k - 1]
                result[k - 1], result[k] = result[k], result[k - 1]
    return result


def missing(items: Staged, name: str, wanted: object) -> Staged:
    """What Python says where the method `name` of `items` does not find `wanted`."""
    raise NotImplementedError("converted code calls it by `library.text`", items, name, wanted)


def index_of(items: Staged, wanted: object) -> Staged:
    """`items.index(wanted)`."""
    for position, item in enumerate(items):
        if same(item, wanted):
            return position
    raise ValueError(missing(items, "index", wanted))


def count_of(items: Staged, wanted: object) -> Staged:
    """`items.count(wanted)`."""
    count = 0
    for item in items:
        if same(item, wanted):
            count = count + 1
    return count


def remove_from(items: Staged, wanted: object) -> None:
    """`items.remove(wanted)`."""
    for position, item in enumerate(items):
        if same(item, wanted):
            del items[position]
            return
    raise ValueError(missing(items, "remove", wanted))


# ---- dicts (lists of pairs) and sets (lists of items) of the program


def find(items: Staged, wanted: object) -> Staged:
    """The index of `wanted` among `items`; -1 if it is not there."""
    for place, item in enumerate(items):
        if same(item, wanted):
            return place
    return -1


def place_in(pairs: Staged, key: object) -> Staged:
    """The index of `key` among `pairs`; -1 if it is not there."""
    for place, pair in enumerate(pairs):
        if same(pair[0], key):
            return place
    return -1


def table_has(pairs: object, key: object) -> Staged:
    """`key in table`."""
    return place_in(pairs, key) >= 0


def table_get(pairs: Staged, key: object, default: object = NO_DEFAULT) -> Staged:
    """`table[key]`, or `table.get(key, default)`."""
    place = place_in(pairs, key)
    if place < 0:
        if default is NO_DEFAULT:
            raise KeyError(key)
        return default
    return pairs[place][1]


def table_set(pairs: Staged, key: Staged, value: Staged) -> None:
    """`table[key] = value`."""
    place = place_in(pairs, key)
    if place < 0:
        pairs.append((key, value))
    else:
        pairs[place] = (pairs[place][0], value)


def table_setdefault(pairs: Staged, key: Staged, default: Staged) -> Staged:
    """`table.setdefault(key, default)`."""
    place = place_in(pairs, key)
    if place < 0:
        pairs.append((key, default))
        return default
    return pairs[place][1]


def table_pop(pairs: Staged, key: object, default: object = NO_DEFAULT) -> Staged:
    """`table.pop(key, default)`."""
    place = place_in(pairs, key)
    if place < 0:
        if default is NO_DEFAULT:
            raise KeyError(key)
        return default
    return pairs.pop(place)[1]


def table_popitem(pairs: Staged, last: object, caller: str) -> Staged:
    """`table.popitem(last)`; `caller` is how the error of an empty one begins."""
    if len(pairs) == 0:
        raise KeyError(f"{caller}dictionary is empty")
    return pairs.pop() if last else pairs.pop(0)


def table_move_to_end(pairs: Staged, key: object, last: object) -> None:
    """`table.move_to_end(key, last)`."""
    place = place_in(pairs, key)
    if place < 0:
        raise KeyError(key)
    pair = pairs.pop(place)
    if last:
        pairs.append(pair)
    else:
        pairs.insert(0, pair)


def table_update(pairs: object, others: Staged) -> None:
    """`table.update(other)`."""
    for key, value in others:
        table_set(pairs, key, value)


def table_keys(pairs: Staged) -> Staged:
    """`list(table)`."""
    return [pair[0] for pair in pairs]


def table_values(pairs: Staged) -> Staged:
    """`list(table.values())`."""
    return [pair[1] for pair in pairs]


def table_default(pairs: Staged, key: Staged, factory: Staged) -> Staged:
    """`table[key]` of a defaultdict."""
    place = place_in(pairs, key)
    if place < 0:
        value = factory()
        pairs.append((key, value))
        return value
    return pairs[place][1]


def deque_append(items: Staged, maxlen: Staged, item: Staged) -> None:
    """`a_deque.append(item)`."""
    items.append(item)
    if maxlen is not None and len(items) > maxlen:
        items.pop(0)


def deque_appendleft(items: Staged, maxlen: Staged, item: Staged) -> None:
    """`a_deque.appendleft(item)`."""
    items.insert(0, item)
    if maxlen is not None and len(items) > maxlen:
        items.pop()


def deque_extend(items: object, maxlen: object, others: Staged) -> None:
    """`a_deque.extend(others)`."""
    for other in others:
        deque_append(items, maxlen, other)


def deque_extendleft(items: object, maxlen: object, others: Staged) -> None:
    """`a_deque.extendleft(others)`."""
    for other in others:
        deque_appendleft(items, maxlen, other)


def deque_pop(items: Staged) -> Staged:
    """`a_deque.pop()`."""
    if len(items) == 0:
        raise IndexError("pop from an empty deque")
    return items.pop()


def deque_popleft(items: Staged) -> Staged:
    """`a_deque.popleft()`."""
    if len(items) == 0:
        raise IndexError("pop from an empty deque")
    return items.pop(0)


def deque_clear(items: Staged) -> None:
    """`a_deque.clear()`."""
    items.clear()


def deque_reverse(items: Staged) -> None:
    """`a_deque.reverse()`."""
    items.reverse()


def deque_rotate(items: Staged, steps: Staged = 1) -> None:
    """`a_deque.rotate(steps)`."""
    if len(items) > 0:
        cut = len(items) - steps % len(items)
        items[:] = items[cut:] + items[:cut]


def set_add(items: Staged, item: Staged) -> None:
    """`a_set.add(item)`."""
    if not contains(items, item):
        items.append(item)


def set_discard(items: Staged, item: object) -> None:
    """`a_set.discard(item)`."""
    for position, one in enumerate(items):
        if same(one, item):
            del items[position]
            return


def set_remove(items: object, item: object) -> None:
    """`a_set.remove(item)`."""
    if not contains(items, item):
        raise KeyError(item)
    set_discard(items, item)


def set_update(items: object, others: Staged) -> None:
    """`a_set.update(others)`."""
    for other in others:
        set_add(items, other)


def is_less(left: Staged, right: Staged) -> Staged:
    """`left < right` of two tuples or two lists."""
    for one, other in zip(left, right):  # noqa: B905 (the shorter one decides)
        if not same(one, other):
            return one < other
    return len(left) < len(right)


def is_at_most(left: Staged, right: Staged) -> Staged:
    """`left <= right` of two tuples or two lists; not the opposite of `>`, where there is nan."""
    for one, other in zip(left, right):  # noqa: B905 (the shorter one decides)
        if not same(one, other):
            return one <= other
    return len(left) <= len(right)


def repeat_text(text: Staged, times: Staged) -> Staged:
    """`text * times`; `text` is a string of the program."""
    result = text[:0]
    for _ in range(times):
        result = result + text
    return result
