"""Builtins written out in Python: converted like user code where their operands are captured."""

from __future__ import annotations

import math
from typing import Any

import torch

NO_DEFAULT = object()


def sum_of(items: Any, start: Any = 0) -> Any:
    """`sum(items, start)`."""
    for item in items:
        start = start + item
    return start


def any_of(items: Any) -> Any:
    """`any(items)`."""
    for item in items:
        if item:
            return True
    return False


def all_of(items: Any) -> Any:
    """`all(items)`."""
    for item in items:
        if not item:
            return False
    return True


def max_of(items: Any, key: Any = None, default: Any = NO_DEFAULT) -> Any:
    """`max(items, key=key, default=default)`."""
    found = False
    best = best_key = None
    for item in items:
        item_key = item if key is None else key(item)
        if not found or item_key > best_key:
            best, best_key = item, item_key
            found = True
    if not found:
        if default is NO_DEFAULT:
            raise ValueError("max() iterable argument is empty")
        best = default
    return best


def min_of(items: Any, key: Any = None, default: Any = NO_DEFAULT) -> Any:
    """`min(items, key=key, default=default)`."""
    found = False
    best = best_key = None
    for item in items:
        item_key = item if key is None else key(item)
        if not found or item_key < best_key:
            best, best_key = item, item_key
            found = True
    if not found:
        if default is NO_DEFAULT:
            raise ValueError("min() iterable argument is empty")
        best = default
    return best


def list_of(items: Any) -> Any:
    """`list(items)`."""
    result = []
    for item in items:
        result.append(item)
    return result


def filtered(function: Any, items: Any) -> Any:
    """`filter(function, items)`, as a list."""
    result = []
    for item in items:
        if item if function is None else function(item):
            result.append(item)
    return result


def reduced(function: Any, items: Any, initial: Any = NO_DEFAULT) -> Any:
    """`functools.reduce(function, items, initial)`."""
    found = initial is not NO_DEFAULT
    result = initial if found else None
    for item in items:
        result = function(result, item) if found else item
        found = True
    if not found:
        raise TypeError("reduce() of empty iterable with no initial value")
    return result


def same(item: Any, wanted: Any) -> Any:
    """`item is wanted or item == wanted`: staging has a handler for it (`logic.same`)."""
    return item is wanted or item == wanted


def contains(items: Any, wanted: Any) -> Any:
    """`wanted in items`."""
    for item in items:
        if same(item, wanted):
            return True
    return False


def are_equal(left: Any, right: Any) -> Any:
    """`left == right` of two lists or two tuples."""
    if len(left) != len(right):
        return False
    for one, other in zip(left, right):  # noqa: B905 (they are of one length)
        if not same(one, other):
            return False
    return True


def keys_of(items: Any, key: Any) -> Any:
    """The keys by which `items` are sorted."""
    return [key(item) for item in items]


def clipped(bound: Any, missing: Any, length: Any) -> Any:
    """The place that a bound of a slice stands for, in a list of `length` items."""
    if bound is None:
        return missing
    if bound < 0:
        bound = bound + length
    return min(max(bound, 0), length)


def with_slice(items: Any, start: Any, stop: Any, others: Any) -> Any:
    """`items` after `items[start:stop] = others`."""
    length = len(items)
    first = clipped(start, 0, length)
    last = max(clipped(stop, length, length), first)
    return items[:first] + others + items[last:]


def without_slice(items: Any, start: Any, stop: Any, step: Any) -> Any:
    """`items` after `del items[start:stop:step]`, for a step forwards."""
    first = clipped(start, 0, len(items))
    last = clipped(stop, len(items), len(items))
    kept = []
    for place, item in enumerate(items):
        if place < first or place >= last or (place - first) % step != 0:
            kept.append(item)
    return kept


def enumerated(items: Any, start: Any = 0) -> Any:
    """`enumerate(items, start)`."""
    for item in items:
        yield start, item
        start = start + 1


def sorted_of(items: Any, key: Any = None, reverse: Any = False) -> Any:
    """`sorted(items)`: stable, as every exchange is of neighbours that are out of order."""
    result = list(items)
    keys = [item if key is None else key(item) for item in result]
    for end in range(1, len(result)):
        for k in range(end, 0, -1):
            if keys[k - 1] < keys[k] if reverse else keys[k] < keys[k - 1]:
                keys[k - 1], keys[k] = keys[k], keys[k - 1]
                result[k - 1], result[k] = result[k], result[k - 1]
    return result


def index_of(items: Any, wanted: Any) -> Any:
    """`items.index(wanted)`."""
    for position, item in enumerate(items):
        if same(item, wanted):
            return position
    raise ValueError("list.index(x): x not in list")


def count_of(items: Any, wanted: Any) -> Any:
    """`items.count(wanted)`."""
    count = 0
    for item in items:
        if same(item, wanted):
            count = count + 1
    return count


def remove_from(items: Any, wanted: Any) -> None:
    """`items.remove(wanted)`."""
    for position, item in enumerate(items):
        if same(item, wanted):
            del items[position]
            return
    raise ValueError("list.remove(x): x not in list")


# ---- dicts (lists of pairs) and sets (lists of items) of the program


def place_in(pairs: Any, key: Any) -> Any:
    """Where `key` stands among `pairs`; -1 where it does not."""
    for place, pair in enumerate(pairs):
        if same(pair[0], key):
            return place
    return -1


def table_has(pairs: Any, key: Any) -> Any:
    """`key in table`."""
    return place_in(pairs, key) >= 0


def table_get(pairs: Any, key: Any, default: Any = NO_DEFAULT) -> Any:
    """`table[key]`, or `table.get(key, default)`."""
    place = place_in(pairs, key)
    if place < 0:
        if default is NO_DEFAULT:
            raise KeyError(key)
        return default
    return pairs[place][1]


def table_set(pairs: Any, key: Any, value: Any) -> None:
    """`table[key] = value`."""
    place = place_in(pairs, key)
    if place < 0:
        pairs.append((key, value))
    else:
        pairs[place] = (pairs[place][0], value)


def table_setdefault(pairs: Any, key: Any, default: Any) -> Any:
    """`table.setdefault(key, default)`."""
    place = place_in(pairs, key)
    if place < 0:
        pairs.append((key, default))
        return default
    return pairs[place][1]


def table_pop(pairs: Any, key: Any, default: Any = NO_DEFAULT) -> Any:
    """`table.pop(key, default)`."""
    place = place_in(pairs, key)
    if place < 0:
        if default is NO_DEFAULT:
            raise KeyError(key)
        return default
    return pairs.pop(place)[1]


def table_update(pairs: Any, others: Any) -> None:
    """`table.update(other)`."""
    for key, value in others:
        table_set(pairs, key, value)


def table_keys(pairs: Any) -> Any:
    """`list(table)`."""
    return [pair[0] for pair in pairs]


def table_values(pairs: Any) -> Any:
    """`list(table.values())`."""
    return [pair[1] for pair in pairs]


def table_default(pairs: Any, key: Any, factory: Any) -> Any:
    """`table[key]` of a defaultdict."""
    place = place_in(pairs, key)
    if place < 0:
        value = factory()
        pairs.append((key, value))
        return value
    return pairs[place][1]


def deque_append(items: Any, maxlen: Any, item: Any) -> None:
    """`a_deque.append(item)`."""
    items.append(item)
    if maxlen is not None and len(items) > maxlen:
        items.pop(0)


def deque_appendleft(items: Any, maxlen: Any, item: Any) -> None:
    """`a_deque.appendleft(item)`."""
    items.insert(0, item)
    if maxlen is not None and len(items) > maxlen:
        items.pop()


def deque_extend(items: Any, maxlen: Any, others: Any) -> None:
    """`a_deque.extend(others)`."""
    for other in others:
        deque_append(items, maxlen, other)


def deque_extendleft(items: Any, maxlen: Any, others: Any) -> None:
    """`a_deque.extendleft(others)`."""
    for other in others:
        deque_appendleft(items, maxlen, other)


def deque_pop(items: Any) -> Any:
    """`a_deque.pop()`."""
    if len(items) == 0:
        raise IndexError("pop from an empty deque")
    return items.pop()


def deque_popleft(items: Any) -> Any:
    """`a_deque.popleft()`."""
    if len(items) == 0:
        raise IndexError("pop from an empty deque")
    return items.pop(0)


def deque_clear(items: Any) -> None:
    """`a_deque.clear()`."""
    items.clear()


def deque_reverse(items: Any) -> None:
    """`a_deque.reverse()`."""
    items.reverse()


def deque_rotate(items: Any, steps: Any = 1) -> None:
    """`a_deque.rotate(steps)`."""
    if len(items) > 0:
        cut = len(items) - steps % len(items)
        items[:] = items[cut:] + items[:cut]


def set_add(items: Any, item: Any) -> None:
    """`a_set.add(item)`."""
    if not contains(items, item):
        items.append(item)


def set_discard(items: Any, item: Any) -> None:
    """`a_set.discard(item)`."""
    for position, one in enumerate(items):
        if same(one, item):
            del items[position]
            return


def set_remove(items: Any, item: Any) -> None:
    """`a_set.remove(item)`."""
    if not contains(items, item):
        raise KeyError(item)
    set_discard(items, item)


def set_update(items: Any, others: Any) -> None:
    """`a_set.update(others)`."""
    for other in others:
        set_add(items, other)


def is_less(left: Any, right: Any) -> Any:
    """`left < right` of two tuples or two lists."""
    for one, other in zip(left, right):  # noqa: B905 (the shorter one decides)
        if not same(one, other):
            return one < other
    return len(left) < len(right)


def repeat_text(text: Any, times: Any) -> Any:
    """`text * times`."""
    result = ""
    for _ in range(times):
        result = result + text
    return result


# ---- math and the methods of numbers


def gcd(*numbers: Any) -> Any:
    """`math.gcd(*numbers)`."""
    result = 0
    for number in numbers:
        other = abs(number)
        while other != 0:
            result, other = other, result % other
    return result


def lcm(*numbers: Any) -> Any:
    """`math.lcm(*numbers)`."""
    result = 1
    for number in numbers:
        common = gcd(result, number)
        result = 0 if common == 0 else result // common * abs(number)
    return result


def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    """`math.isclose(a, b)`."""
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    difference = abs(float(b) - float(a))
    return difference <= abs(rel_tol * b) or difference <= abs(rel_tol * a) or difference <= abs_tol


def fabs(x: Any) -> Any:
    """`math.fabs(x)`."""
    return abs(float(x))


def power(x: Any, y: Any) -> Any:
    """`math.pow(x, y)`: always a float, and no complex numbers."""
    x, y = float(x), float(y)
    if x < 0 and math.isfinite(x) and math.isfinite(y) and y % 1.0 != 0.0:
        raise ValueError("math domain error")
    if x == 0.0 and y < 0:
        raise ValueError("math domain error")
    return x**y


def degrees(x: Any) -> Any:
    """`math.degrees(x)`."""
    return x * (180.0 / math.pi)


def radians(x: Any) -> Any:
    """`math.radians(x)`."""
    return x * (math.pi / 180.0)


def factorial(n: Any) -> Any:
    """`math.factorial(n)`."""
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    result = 1
    for k in range(1, n + 1):
        result = result * k
    return result


def perm(n: Any, k: Any = None) -> Any:
    """`math.perm(n, k)`."""
    if k is None:
        return factorial(n)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    result = 1
    for j in range(k):
        result = result * (n - j)
    return result


def comb(n: Any, k: Any) -> Any:
    """`math.comb(n, k)`."""
    return perm(n, k) // factorial(k)


def prod(items: Any, start: Any = 1) -> Any:
    """`math.prod(items, start=start)`."""
    for item in items:
        start = start * item
    return start


def log_to_base(x: Any, base: Any) -> Any:
    """`math.log(x, base)`."""
    return math.log(x) / math.log(base)


def is_integer(x: Any) -> Any:
    """`x.is_integer()` of a float."""
    return math.isfinite(x) and math.floor(x) == x


def bit_length(n: Any) -> Any:
    """`n.bit_length()`."""
    n, length = abs(n), 0
    while n != 0:
        n, length = n >> 1, length + 1
    return length


def bit_count(n: Any) -> Any:
    """`n.bit_count()`."""
    n, count = abs(n), 0
    while n != 0:
        n, count = n >> 1, count + n % 2
    return count


def result_after_hook(hook: Any, module: Any, *given: Any) -> Any:
    """The result of `module`, the last of `given`, as a forward hook leaves it."""
    result = given[-1]
    changed = hook(module, *given)
    if changed is not None:
        result = changed
    return result


def positional_after_hook(hook: Any, module: Any, args: Any) -> Any:
    """The arguments of `module` as a forward pre-hook leaves them."""
    changed = hook(module, args)
    if changed is not None:
        args = changed if isinstance(changed, tuple) else (changed,)
    return args


def arguments_after_hook(hook: Any, module: Any, args: Any, kwargs: Any) -> Any:
    """The same, keyword arguments included."""
    changed = hook(module, args, kwargs)
    if changed is not None:
        args, kwargs = changed
    return args, kwargs


CHECKPOINT_OPTIONS = (
    "context_fn", "determinism_check", "debug", "early_stop", "preserve_rng_state",
)  # fmt: skip


def checkpoint(function: Any, *args: Any, use_reentrant: Any = None, **kwargs: Any) -> Any:
    """`torch.utils.checkpoint.checkpoint`: the same values and gradients; nothing is freed early.

    The reentrant form gives no gradient at all where no argument requires one.
    """
    given = {name: value for name, value in kwargs.items() if name not in CHECKPOINT_OPTIONS}
    leaves = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.requires_grad]
    if use_reentrant in (None, True) and not leaves:
        with torch.no_grad():
            return function(*args, **given)
    return function(*args, **given)


def pad_packed_sequence(
    sequence: Any, batch_first: Any = False, padding_value: Any = 0.0, total_length: Any = None
) -> Any:
    """`torch.nn.utils.rnn.pad_packed_sequence`: the op finds the length by itself."""
    longest = sequence.batch_sizes.size(0)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input"
        )
    length = -1 if total_length is None else total_length
    padded, lengths = torch._VF._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, length
    )
    unsorted = sequence.unsorted_indices
    if unsorted is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, unsorted), lengths[unsorted.cpu()]


def distribution_init(
    self: Any, batch_shape: Any = (), event_shape: Any = (), validate_args: Any = None
) -> None:
    """`Distribution.__init__`: the error for a wrong parameter does not print the parameter."""
    self._batch_shape, self._event_shape = torch.Size(batch_shape), torch.Size(event_shape)
    if validate_args is not None:
        self._validate_args = validate_args
    if self._validate_args:
        for name, constraint in self.arg_constraints.items():
            checked = name in self.__dict__ and not constraint.is_discrete
            if checked and not constraint.check(getattr(self, name)).all():
                raise ValueError(
                    f"Expected parameter {name} of distribution {type(self).__name__} "
                    f"to satisfy the constraint {constraint!r}"
                )


def validate_sample(self: Any, value: Any) -> None:
    """`Distribution._validate_sample`: its error does not print the value."""
    if not isinstance(value, torch.Tensor):
        raise ValueError("The value argument to log_prob must be a Tensor")
    expected = (*self._batch_shape, *self._event_shape)
    for size, wanted in zip(reversed(value.shape), reversed(expected), strict=False):
        if size != 1 and wanted != 1 and size != wanted:
            raise ValueError("Value is not broadcastable with batch_shape+event_shape")
    if not self.support.check(value).all():
        raise ValueError(
            f"Expected value argument to be within the support ({self.support!r}) "
            f"of the distribution {type(self).__name__}"
        )
