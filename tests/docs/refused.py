"""Functions that are refused: the examples of docs/refusals.md.

Each is converted and called with `x`, a vector of three ones, and `y`, a 0-d integer tensor of 2.
"""

from __future__ import annotations

import array
import builtins
import collections
import contextlib
import contextvars
import copy
import decimal
import functools
import heapq
import itertools
import queue
import secrets
import sys
import types
import warnings
import weakref

import numpy
import torch

import stator

TAGS = {"seen"}
WEIGHTS = numpy.zeros(3)
OBJECTS = numpy.array([None])
COUNTS = array.array("i", [0])
MAILBOX: queue.SimpleQueue[str] = queue.SimpleQueue()
DEPTH: contextvars.ContextVar[int] = contextvars.ContextVar("depth")


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(_, gradient):
        return gradient * 2


KEPT: dict[str, object] = {}
OPTIMIZER = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
HOLDER = types.SimpleNamespace(one=None, two=None)


class Point:
    def __init__(self, value):
        self.value = value


with warnings.catch_warnings(action="ignore"):  # TorchScript is deprecated
    SCRIPTED = torch.jit.script(torch.nn.ReLU())


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        return x * scale

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Numbered(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return 1.0


class LeftAlone:
    """Code that is not converted."""

    @staticmethod
    @stator.not_to_static
    def keep(value):
        KEPT["value"] = value

    @staticmethod
    @stator.not_to_static
    def set_data(x, y):
        x.data = y


async def asynchronous(x, y):
    return x


def evaluated(x, y):
    return eval("x + 1")


def all_locals(x, y):
    return locals()


def list_with_none_as_an_index(x, y):
    row = None
    if y > 5:
        row = 1
    return x[[row, int(y)]]


def endless_branch(x, y):
    count = 0
    if y > 5:
        while count < 3:
            x.numel()
    return x


def several_exceptions(x, y):
    try:
        return x + 1
    except* ValueError:
        x = x - 1
    return x


def ascii_of_a_list(x, y):
    return f"{[x.sum().item()]!a}"


def large_integer(x, y):
    return x * (int(y) + 2**64)


def overflowing_integer(x, y):
    return x, int(y) ** 64


def sent_value(x, y):
    def numbers():
        with torch.no_grad():
            got = yield 1
        yield got

    return [x * n for n in numbers()]


def tensor_made_behind(x, y):
    return torch.from_numpy(numpy.unwrap(x.numpy()))


def custom_gradient(x, y):
    return Doubled.apply(x)


def inner_gradient(x, y):
    x = x.requires_grad_()
    (x * x).sum().backward()
    return x


def gradient_that_may_be_absent(x, y):
    x = x.requires_grad_()
    total = x.sum() if y > 1 else torch.ones(1, requires_grad=True).sum()
    return torch.autograd.grad(total, [x], allow_unused=True)


def batched_gradients(x, y):
    x = x.requires_grad_()
    rows = torch.ones(int(y), *x.shape)
    return torch.autograd.grad(x * y, [x], rows, is_grads_batched=True)


def seed_of_the_process(x, y):
    return x * (numpy.random.SeedSequence().entropy % 6)


def drawn_by_python(x, y):
    return x * secrets.randbelow(6)


def drawn_by_numpy(x, y):
    return x * numpy.random.rand(len(y.shape) + int(y))


def tensor_attribute(x, y):
    x.note = "seen"
    return x


def attribute_of_a_class_of_torch(x, y):
    torch.nn.Linear.gain = 2
    return x


def caught_exception_kept(x, y):
    kept = None
    try:
        x = x // int(y)
        y = 1 // int(y)
    except ZeroDivisionError as error:
        kept = error
    return str(kept)


def rank_grows(x, y):
    while y > 0:
        x, y = x[None], y - 1
    return x


def nested_list_grows(x, y):
    rows = []
    while y > 0:
        rows = [rows]
        y = y - 1
    return rows


def keys_in_another_order(x, y):
    table = {}
    if y > 1:
        table["a"] = 1
        table["b"] = 2
    else:
        table["b"] = 2
        table["a"] = 1
    return table


def number_for_python(x, y):
    return x.new_tensor(bytearray(int(y)))


def numpy_returned(x, y):
    return numpy.sin(x.numpy()).sum()


def numpy_of_tensor_returned(x, y):
    return numpy.clip(x, 0, 1)


def array_of_objects_written(x, y):
    OBJECTS[0] = "a"


def numpy_written_by_a_library(x, y):
    numpy.add.at(WEIGHTS, [0, 1], 1)


def numpy_in_front(x, y):
    return x.numpy() * x


def identity(x, y):
    return id(x)


def is_of_unknown(x, y):
    first = x if y > 1 else x + 1
    return first is x


def dict_method(x, y):
    table = {}
    if y > 1:
        table["a"] = 1
    return table.__or__({"b": 2})


def generator_given_to_a_library(x, y):
    def numbers():
        yield int(y)
        yield 2

    return x, numpy.fromiter(numbers(), dtype=int)


def generator_through_its_own(x, y):
    root = Point([Point([])])
    if y > 1:
        root.value.append(Point([]))

    def counted(point):
        yield 1
        for child in point.value:
            yield from counted(child)

    return x * sum(counted(root))


def generator_taken_later(x, y):
    def numbers():
        yield int(y)
        yield 2

    return x * next(heapq.merge(numbers(), numbers()))


def function_in_a_generator_expression(x, y):
    scales = (lambda v: v * y * k for k in (1, 2))
    return next(scales)(x)


def range_text(x, y):
    print(range(0, 10, int(y)))


def error_text(x, y):
    return str(OSError(int(y)))


def two_names_kept(x, y):
    if y > 1:
        HOLDER.one = []
        HOLDER.two = HOLDER.one
    if y > 2:
        HOLDER.one.append(x)


def set_text(x, y):
    return str({int(y)})


def ordered_dict_text(x, y):
    return str(collections.OrderedDict(a=int(y)))


def text_by_a_function_of_torch(x, y):
    return x * y, torch._tensor_str._str(x)


def title_of_a_captured_text(x, y):
    return str(int(y)).expandtabs()


def shape_in_place(x, y):
    row = x * 2
    if y > 1:
        row.unsqueeze_(0)
    return row


def resized_as_another(x, y):
    return (x * 2).resize_as_(y)


def grad_mode_left_changed(x, y):
    if y > 1:
        torch.set_grad_enabled(False)
    return x * 2


def complex_text(x, y):
    return complex(y) // 2


def recursion_that_changes(x, y):
    seen = []

    def down(n):
        seen.append(n)
        if n > 7:
            raise ValueError("too many")
        if n > 0:
            down(n - 1)

    try:
        down(int(y))
    except ValueError:
        seen.append(-1)
    return len(seen)


def recursion_that_grows(x, y):
    def down(t, n):
        if n <= 0:
            return t
        return down(t[None], n - 1)

    return down(x, y)


def contiguous_asked(x, y):
    return x.nonzero().t().is_contiguous(memory_format=torch.contiguous_format)


def least_squares_of_several(x, y):
    return torch.linalg.lstsq(x.expand(2, 3, 3), x.expand(2, 3, 3)).solution


def split_into_a_number_of_parts_from_data(x, y):
    return torch.tensor_split(x, y.to(torch.int64))


def array_written_backwards(x, y):
    back = (x.numpy() * 2)[::-1]
    back[0] = 1.0
    return x


def array_read_backwards_from_a_captured_place(x, y):
    return torch.from_numpy(x[x > 0].numpy()[2:0:-1].copy())


def spaced_numbers_of_a_dtype(x, y):
    return torch.from_numpy(numpy.linspace(0, int(y), 3, dtype=numpy.int64))


def view_put_into_a_list(x, y):
    first, kept = {"a": 1}.items(), []
    while y > 0:
        kept.append(first)
        y = y - 1
    return kept


def executed(x, y):
    exec("x = 1")
    return x


def bare_vars(x, y):
    return vars()


def bare_dir(x, y):
    return dir()


def choice_of_a_format(x, y):
    return format(x.sum().item(), ".2f" if y > 1 else ".3f")


def hook_with_effects(x, y):
    double, seen = x.requires_grad_() * 2, []
    double.register_hook(lambda gradient: seen.append(gradient))
    return double, seen


def hook_removed(x, y):
    double = x.requires_grad_() * 2
    double.register_hook(lambda gradient: gradient * 2).remove()
    return double


def saved_otherwise(x, y):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return x * x


def mapped(x, y):
    return torch.vmap(torch.sin)(x)


def gradient_kept(x, y):
    double = x * 2
    double.retain_grad()
    return double


def address(x, y):
    return x.data_ptr()


def storage(x, y):
    return len(x.untyped_storage())


def resized(x, y):
    return x.clone().resize_(2)


def storage_replaced(x, y):
    return x.clone().set_(torch.zeros(2))


def two_names_for_a_new_object(x, y):
    a = b = None
    if y > 0:
        a = b = collections.OrderedDict(x=x)
    return a is b


def array_written(x, y):
    counts = bytearray(2)
    if y > 1:
        counts[0] = 1
    return x


class Placed(dict):
    pass


PLACED = Placed(a=1)


def key_placed_by_path(x, y):
    if y > 1:
        PLACED["b"] = 2
    PLACED["c"] = 3
    PLACED["b"] = 4
    return x


def tuples_for_torch(x, y):
    kept = []
    while y > 0:
        kept.append((x, y))
        y = y - 1
    return torch.stack(kept)


def spread_of_a_long_list(x, y):
    kept = [x for _ in range(int(y))]
    return torch.block_diag(*kept)


def percent_with_names(x, y):
    return "%(n)d" % {"n": int(y)}


def text_of_an_array(x, y):
    print(numpy.sin(x.numpy()))


def set_in_its_order(x, y):
    seen = set()
    for k in range(y):
        seen.add(k)
    for k in seen:
        x = x * k
    return x


def set_method(x, y):
    seen = {int(y)}
    return seen.pop()


def tensor_as_a_key(x, y):
    table = {int(y): x}
    table[y] = x
    return table


def slice_with_a_step_assigned(x, y):
    items = []
    for k in range(y):
        items.append(k)
    items[::2] = [7]
    return items


def slice_deleted_backwards(x, y):
    items = []
    for k in range(y):
        items.append(k)
    del items[::-1]
    return items


def tensor_of_text(x, y):
    names = []
    for k in range(y):
        names.append(f"{k}")
    return torch.tensor(names)


def set_sorted_by_a_key(x, y):
    return sorted({int(y), 3}, key=lambda item: -item)


def spread_into_a_library_function(x, y):
    items = []
    for k in range(y):
        items.append(x * k)
    return torch.broadcast_tensors(*items)


def deque_method(x, y):
    queue = collections.deque([x])
    queue.insert(0, y)
    return queue[0]


def deque_of_unknown_length(x, y):
    return len(collections.deque([x], maxlen=int(y)))


def rank_of_an_item_that_grows(x, y):
    box = {"state": x}
    while y > 0:
        box["state"] = box["state"][None]
        y = y - 1
    return box["state"]


def arguments_of_a_recursive_error(x, y):
    def count_down(n):
        if n > 9:
            raise ValueError("large", n)
        return 0 if n <= 0 else count_down(n - 1)

    try:
        return count_down(y)
    except ValueError as error:
        return error.args[1]


def caught_exception_asked_late(x, y):
    kept = [[]]
    try:
        if y > 1:
            raise ValueError("large")
    except ValueError as error:
        kept = [[error]]
    return isinstance(kept[0][0], ValueError)


def traceback_of_an_exception(x, y):
    try:
        if y > 1:
            raise ValueError("large")
    except ValueError as error:
        return error.__traceback__
    return x


class Lazy:
    def __getattr__(self, name):
        return name


def object_in_a_grown_list(x, y):
    made = []
    while y > 0:
        made.append(Lazy())
        y = y - 1
    return len(made)


def attribute_of_one_object_of_a_list(x, y):
    points = []
    while y > 0:
        points.append(Point(x))
        y = y - 1
    points[0].extra = 1
    return len(points)


def hash_of_an_object_of_a_list(x, y):
    points = []
    while y > 0:
        points.append(Point(x))
        y = y - 1
    return hash(points[0])


def hash_of_a_new_object(x, y):
    return hash(Point(x))


def list_that_may_hold_itself(x, y):
    nodes = [[]]
    for k in range(y):
        nodes.append([])
        nodes[-1].append(nodes[k])
    return nodes


def deques_of_two_lengths(x, y):
    queues = []
    for k in range(y):
        short, long = collections.deque(maxlen=2), collections.deque(maxlen=3)
        queues.append(short if k % 2 else long)
        queues[0].append(k)
    return len(queues)


def private_number_function(x, y):
    return torch._sym_cos(float(x.sum()))


def tuple_sliced_by_a_step(x, y):
    return (1, 2, 3)[:: int(y)]


def iterator_of_one_of_two(x, y):
    chosen = x if y > 1 else (x, x)
    return next(iter(chosen))


def frozen_set_of_numbers(x, y):
    return len(frozenset([int(y), 1]))


def keyword_to_a_function(x, y):
    return Scaled.apply(x, scale=2)


def backward_that_gives_a_number(x, y):
    return Numbered.apply(x.requires_grad_())


def library_object_in_a_branch(x, y):
    letters = queue.Queue()
    if y > 1:
        letters.put("seen")
    return x


def size_of_a_grown_list(x, y):
    items = []
    while y > 0:
        items.append(x * y)
        y = y - 1
    return items.__sizeof__()


def grid_of_a_grown_list(x, y):
    items = []
    while y > 0:
        items.append(x * y)
        y = y - 1
    return torch.meshgrid(items, indexing="ij")


def rest_of_a_grown_list(x, y):
    items = []
    while y > 0:
        items.append(x * y)
        y = y - 1
    match items:
        case [first, *rest]:
            return first * len(rest)
    return x


def tensor_of_grown_lists(x, y):
    items = []
    while y > 0:
        items.append(int(y))
        y = y - 1
    return torch.tensor([items, items])


def hook_after_accumulation(x, y):
    x.register_post_accumulate_grad_hook(print)
    return x


def data_set_by_a_library(x, y):
    z = x.clone()
    LeftAlone.set_data(z, x)
    return z


def number_kept_from_a_branch(x, y):
    if y > 1:
        LeftAlone.keep(int(x.sum()))
    return x * KEPT["value"]


def nested_tensor(x, y):
    return torch._nested_tensor_from_tensor_list([x, x])


def gradient_that_is_not_asked_for(x, y):
    mean = x.mean()[None, None]
    rows, wanted = x[None], [True, False, False]
    return torch.ops.aten.native_layer_norm_backward(
        rows, rows, [3], mean, mean, None, None, wanted
    )


def function_made_in_a_try(x, y):
    try:
        grow = (lambda r: r + 1) if TAGS else grow
        assert y, grow
    except NameError:
        pass
    return x


def array_of_the_caller_written(x, y):
    COUNTS[0] = 1
    return x


def method_of_an_object_of_the_caller(x, y):
    MAILBOX.put("called")
    return x


def context_variable_without_a_value(x, y):
    if y > 0:
        DEPTH.set(1)
    return x


def recorded_warnings(x, y):
    with warnings.catch_warnings(record=True) as found:
        warnings.warn("one", stacklevel=1)
    return x * len(found)


def filters_set_in_a_branch(x, y):
    with warnings.catch_warnings():
        if y > 1:
            warnings.simplefilter("ignore")
        warnings.warn("one", stacklevel=1)
    return x


def numpy_errors_raised(x, y):
    with numpy.errstate(divide="raise"):
        return x * 2


def yield_in_the_middle(x, y):
    def numbers():
        total = abs(y) + abs((yield 1))
        yield total

    return next(numbers()) * x


def value_sent_to_a_list(x, y):
    def numbers():
        yield from [1, 2]

    items = numbers()
    return next(items) + items.send(x)


def output_redirected(x, y):
    with contextlib.redirect_stdout(sys.stderr):
        print(y)
    return x


def list_on_a_caught_exception(x, y):
    error = ValueError("no")
    error.items = [x]
    try:
        if y > 1:
            raise error
    except ValueError as caught:
        return caught.items
    return x


def generator_left_in_a_try(x, y):
    def items():
        try:
            yield x
            yield y
        finally:
            HOLDER.closed = True

    found = items()
    return next(found)


def generator_returned(x, y):
    def items():
        yield x

    return items()


def reversed_array(x, y):
    return x + torch.as_tensor(numpy.arange(3)[::-1])


def function_that_keeps_a_value(x, y):
    doubled = x * 2
    return lambda: doubled


def endless_list(x, y):
    return list(itertools.count())


def merged_items_taken_in_a_branch(x, y):
    items = iter([1, 2, 3])
    pairs = heapq.merge(items, [1, 5])
    if y > 1:
        return next(pairs)
    return x


def merged_items_left_by_data(x, y):
    items = iter([1, 2, 3, 4])
    for first in heapq.merge(items, [1, 5]):
        if first > y:
            break
    return first


def library_given_a_maybe_key(x, y):
    table = {"a": 1}
    if y > 1:
        table["b"] = 2
    return copy.deepcopy(table)


@functools.cache
def _logged(number):
    KEPT["last"] = 1
    return number


def cached_function_with_an_effect(x, y):
    return _logged(int(y))


COUNTED = iter([1, 2])
COUNTS = enumerate(COUNTED)


def iterator_used_beside_enumerate(x, y):
    first = next(COUNTS)
    return first, next(COUNTED)


def attributes_replaced(x, y):
    box = Box()
    box.__dict__ = {"x": x}
    return box.x


def iterator_made_in_a_branch(x, y):
    items = iter([1])
    if y > 1:
        items = iter([2, 3])
    return list(items)


def slice_of_a_captured_range(x, y):
    return range(y)[1:]


def method_of_a_captured_range(x, y):
    return range(int(y)).index(1)


class Rows(list):
    pass


ROWS = Rows()


def list_of_a_class_grows(x, y):
    if y > 1:
        ROWS.append(1)
    return x


class Box:
    pass


def graph_of_a_tensor(x, y):
    return x.grad_fn


def new_seed(x, y):
    torch.seed()
    return x


ITERATOR = iter([1, 2])


def list_with_an_iterator(x, y):
    return torch.stack([x, ITERATOR])


def seed_of_a_gpu(x, y):
    torch.cuda.manual_seed(0)
    return x


def loop_that_an_error_ends(x, y):
    for k in itertools.count():
        if k > y:
            raise ValueError(k)
    return x


REFERENCE = weakref.ref(Point)


def weak_reference(x, y):
    return x if REFERENCE() is None else -x


class Ended:
    def __del__(self):
        pass


def object_with_a_finalizer(x, y):
    Ended()
    return x


CALLS = [0]


def compared_by_library_code(x, y):
    def compare(one, other):
        CALLS[0] += 1
        return one - other

    return x * sorted([2, 1], key=functools.cmp_to_key(compare))[0]


def global_without_a_value(x, y):
    global NEW_GLOBAL
    if y > 1:
        NEW_GLOBAL = 1
    return x


class HashedPoint(Point):
    def __hash__(self):
        return 1


def key_that_is_an_object(x, y):
    return {HashedPoint(1): x}


class Sheet:
    def __init__(self):
        self.rows = [1]


SHEET = Sheet()


def changed_object_for_library_code(x, y):
    if y > 1:
        SHEET.rows.append(2)
    return x * len(copy.copy(SHEET).rows)


def captured_number_for_library_code(x, y):
    return decimal.Decimal(x.sum().item())


def output_of_a_cached_function(x, y):
    @functools.cache
    def announced(k):
        print("computing")
        return k * 2

    return announced(3) * x if y > 1 else x


def set_that_exchanges_items_in_its_loop(x, y):
    found = {1, 2, 3}
    for one in found:
        found.remove(one)
        found.add(one + 9)
    return found


def exception_without_a_name(x, y):
    try:
        return x * (1 // int(y - 2))
    except ZeroDivisionError:
        return sys.exc_info()[1].args


def exit_in_a_branch(x, y):
    if y > 1:
        raise SystemExit(3)
    return x


def copies_that_share_memory(x, y):
    total = x + y
    return copy.deepcopy([total, total[:1]])


def user_code_of_library_code(x, y):
    if y > 1:
        SHEET.rows.append(2)
    return sorted([2, 1], key=functools.cmp_to_key(lambda a, b: (a - b) * len(SHEET.rows)))


def generator_of_another_device(x, y):
    return torch.rand(2, generator=torch.Generator("meta")) + x


def generator_that_leaves(x, y):
    return torch.Generator()


def arguments_of_an_earlier_exception(x, y):
    error = ValueError("small")
    if y > 1:
        error.args = ("large",)
    raise error


def stack_that_an_error_may_leave(x, y):
    closed = []
    with contextlib.ExitStack() as stack:
        stack.callback(closed.append, 1)
        if y > 1:
            raise ValueError("large")
    return x * len(closed)


def stack_that_is_closed(x, y):
    closed = []
    stack = contextlib.ExitStack()
    stack.callback(closed.append, 1)
    stack.close()
    return x * len(closed)


def training_step(x, y):
    OPTIMIZER.zero_grad()
    return x * y


def scripted_module(x, y):
    return SCRIPTED(x) * y


class Loud:
    def __hash__(self):
        print("asked")
        return 1


def key_whose_hash_prints(x, y):
    return x * len({Loud(): 1})


def overflow_that_is_caught(x, y):
    def count(n):
        return n if y < n < 0 else count(n + 1)

    try:
        return x * count(int(y))
    except RecursionError:
        return x


RATES = {"rate": 2}


@functools.cache
def _rated(number):
    return number * RATES["rate"]


def cached_function_of_what_changes(x, y):
    RATES["rate"] = int(y)
    return x * _rated(3)


def leaf_that_other_code_freezes(x, y):
    weight = torch.nn.Parameter(x)
    total = weight * 2
    if y > 1:
        list(itertools.takewhile(lambda on: weight.requires_grad_(on) is None, [False]))
        total = total + weight
    return total


def hook_added_in_a_branch(x, y):
    layer = torch.nn.Linear(3, 3)
    if y > 1:
        layer.register_forward_hook(lambda _module, _given, result: result * 2)
    return layer(x)


@functools.cache
def _doubled(tensor):
    return tensor * 2


def cached_function_of_a_tensor(x, y):
    return _doubled(x) * y


def overflow_that_a_handler_sees(x, y):
    seen = []

    def count(n):
        seen.append(n)
        return n if y < n < 0 else count(n + 1)

    try:
        return x * count(int(y))
    except Exception:  # noqa: BLE001  # it is refused
        return x * len(seen)


def setting_of_the_process(x, y):
    torch.set_default_dtype(torch.float64)
    return torch.ones(3) * x * y


def gradients_left_off(x, y):
    torch.set_grad_enabled(False)
    return x * y


def leaf_of_one_path(x, y):
    total = x * 2
    if y > 1:
        total.requires_grad_()
    return total * y


def operator_that_knows_on_some_paths(x, y):
    class Amount:
        def __add__(self, other):
            if y > 1:
                return NotImplemented
            return x

    return Amount() + 1


def dict_that_gets_and_loses_keys(x, y):
    found = {"one": x, "two": y}
    for _ in found:
        if y > 1:
            found["three"] = x
            del found["one"]
    return found


def dict_with_a_new_key_in_its_loop(x, y):
    found = {1: x, 2: y}
    for _ in found:
        if y > 1:
            found[int(y)] = x
    return found


def dict_of_some_paths_changed_in_its_loop(x, y):
    found = {"one": x}
    if y > 1:
        found["two"] = y
    for _ in found:
        found["three"] = x
    return found


def builtin_that_is_replaced(x, y):
    builtins.len = max
    return x * len([int(y)])


def combinations_of_many_values(x, y):
    rows = [tuple(range(k)) for k in range(51)]
    first, second = rows[int(y)], rows[int(y) + 1]
    return x * len(first + second)


def loop_over_one_of_many_values(x, y):
    rows = [tuple(range(k)) for k in range(101)]
    for k in rows[int(y)]:
        x = x + k
    return x


def class_that_is_changed(x, y):
    class Open:
        factor = 2

    class Closed(Open):
        factor = 0

    door = Open()
    if y > 1:
        door.__class__ = Closed
    return x * door.factor


def builtin_with_an_unusual_keyword(x, y):
    return [value * k for k, value in enumerate(iterable=[x, y])]


@functools.cache
def _applied(function, number):
    return function(number)


def cached_function_of_a_new_function(x, y):
    return _applied(lambda k: k * 2, 3) * x * y
