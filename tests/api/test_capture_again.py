"""Every part of what a program holds for: another one gives eager's answer on the next call."""

import array
import builtins
import collections
import contextvars
import copy
import dataclasses
import functools
import operator
import os
import threading
import types

import pytest
import torch
from torch import nn

import stator


def same(got, expected):
    assert type(got) is type(expected)
    if isinstance(expected, torch.Tensor):
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        assert got.requires_grad == expected.requires_grad
        assert got.device == expected.device
        assert got.tolist() == expected.tolist() or got.isnan().all()
    else:
        assert repr(got) == repr(expected)


def follows(function, calls, captures):
    """Each call, made twice in turn, gives eager's answer; `captures` programs serve them all."""
    static = stator.to_static(function)
    for _ in range(2):
        for args, kwargs in calls:
            same(static(*args, **kwargs), function(*args, **kwargs))
    assert len(static.concrete_programs) == captures


def call(*args, **kwargs):
    return args, kwargs


# ---- arguments


def facts(x):
    """A tensor that says everything Python can ask of `x`."""
    return torch.tensor([x.dim(), x.requires_grad, x.dtype == torch.float64, x.is_floating_point()])


ONES = torch.ones(2, 3)


@pytest.mark.parametrize(
    "other",
    [
        ONES.double(),
        ONES.int(),
        ONES[0],
        ONES[None],
        torch.ones(2, 3, requires_grad=True),
        torch.ones(3, 2).t(),
        nn.Parameter(ONES.clone()),
        torch.ones(2, 3, device="meta"),
    ],
    ids=["dtype", "integer", "rank", "rank_up", "requires_grad", "strides", "parameter", "device"],
)
def test_a_tensor_of_another_kind_is_captured_again(other):
    def kind(x):
        return facts(x), str(x.device), isinstance(x, nn.Parameter), x.stride()

    static = stator.to_static(kind)
    for x in (ONES, other, ONES, other):
        (got, *rest), (expected, *wanted) = static(x), kind(x)
        same(got, expected)
        if not isinstance(x, nn.Parameter):  # inside, a parameter is a plain tensor: see README
            assert rest == wanted
    assert len(static.concrete_programs) == 2


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_requires_grad_is_seen_where_no_gradient_is_recorded(mode):
    static = stator.to_static(facts)
    plain, leaf = torch.ones(2), torch.ones(2, requires_grad=True)
    with mode():
        for x in (plain, leaf, plain, leaf):
            same(static(x), facts(x))


def test_another_static_size_is_captured_again_and_the_third_is_not():
    def count(x):
        return x.sum() * x.shape[0]

    follows(count, [call(torch.ones(2)), call(torch.ones(3)), call(torch.ones(1)),
                    call(torch.ones(0))], captures=2)  # fmt: skip


@pytest.mark.parametrize(
    "values",
    [(1, True, 1.0), (0.0, -0.0, 0), (float("nan"), 1.0), ("a", "b", None), (2**70, 2), (1j, 1)],
)
def test_python_numbers_are_told_apart_by_type_sign_and_value(values):
    def show(x, value):
        return x + 1, value if isinstance(value, str | None) else type(value)(value)

    static = stator.to_static(show)
    for value in (*values, *values):
        got, expected = static(ONES, value), show(ONES, value)
        same(got[0], expected[0])
        same(got[1], expected[1])
    assert len(static.concrete_programs) == len(values)


@pytest.mark.parametrize(
    "calls",
    [
        [call((ONES, ONES)), call([ONES, ONES]), call((ONES, ONES, ONES))],
        [call({"a": ONES, "b": 2 * ONES}), call({"b": ONES, "a": 2 * ONES})],
        [call(((ONES,), ONES)), call((ONES, (ONES,)))],
    ],
    ids=["length", "keys", "nesting"],
)
def test_another_structure_is_captured_again(calls):
    def flat(tree):
        items = list(tree.values()) if isinstance(tree, dict) else tree
        total = torch.zeros(2, 3)
        for k, item in enumerate(items):
            total = total + (k + 1) * (item[0] if isinstance(item, tuple) else item)
        return total + isinstance(tree, list)

    follows(flat, calls, captures=len(calls))


def test_a_keyword_or_a_default_is_not_a_position():
    def scaled(x, k=2, *, j=3):
        return x * k + j

    follows(scaled, [call(ONES), call(ONES, 3), call(ONES, k=3), call(ONES, j=4)], captures=4)


# ---- modes


def modes(x):
    return (x * 2).requires_grad, torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def entered(context):
    return context() if context is not None else torch.enable_grad()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_grad_and_inference_mode_are_captured_again(mode):
    static, x = stator.to_static(modes), torch.ones(2, requires_grad=True)
    for context in (None, mode, None, mode):
        with entered(context):
            assert static(x) == modes(x)
    assert len(static.concrete_programs) == 2


def test_inference_mode_is_not_no_grad():
    static, x = stator.to_static(modes), torch.ones(2)
    for context in (torch.no_grad, torch.inference_mode, torch.no_grad, torch.inference_mode):
        with context():
            assert static(x) == modes(x)


AUTOCASTS = {
    "on": {},
    "half": {"dtype": torch.float16},
    "uncached": {"cache_enabled": False},
    "off": {"enabled": False},
}


@pytest.mark.parametrize("first", AUTOCASTS)
@pytest.mark.parametrize("second", AUTOCASTS)
def test_autocast_is_captured_again(first, second):
    def product(x, w):
        return x @ w

    static, x, w = stator.to_static(product), torch.ones(2, 2), torch.ones(2, 2)
    for key in (first, second, first, second):
        with torch.autocast("cpu", **AUTOCASTS[key]):
            same(static(x, w), product(x, w))
    same(static(x, w), product(x, w))


def test_the_default_dtype_is_captured_again():
    def plus(x):
        return x + torch.zeros(2, 3) + torch.tensor(0.1)

    static = stator.to_static(plus)
    try:
        for dtype in (torch.float32, torch.float64, torch.float32, torch.float64):
            torch.set_default_dtype(dtype)
            same(static(ONES), plus(ONES))
    finally:
        torch.set_default_dtype(torch.float32)
    assert len(static.concrete_programs) == 2


def test_the_default_device_is_captured_again():
    def make(x):
        return torch.zeros(2), x * 2

    static = stator.to_static(make)
    for device in ("cpu", "meta", "cpu", "meta"):
        with torch.device(device):
            assert static(ONES)[0].device == make(ONES)[0].device
    assert static(ONES)[0].device.type == "cpu"


def test_the_determinism_flag_is_captured_again():
    def ask(x):
        return x + torch.are_deterministic_algorithms_enabled()

    static = stator.to_static(ask)
    try:
        for flag in (False, True, False, True):
            torch.use_deterministic_algorithms(flag)
            same(static(ONES), ask(ONES))
    finally:
        torch.use_deterministic_algorithms(False)


# ---- Python state


class Settings:
    level = 2  # on the class
    offset = 1

    def __init__(self):
        self.scale = 3

    @property
    def doubled(self):
        return 2 * self.scale


class Derived(Settings):
    pass


class Slotted:
    __slots__ = ("scale",)

    def __init__(self):
        self.scale = 3


def changes(static, eager, x, *steps):
    """Before and after each step the static function gives what the eager one gives."""
    for _ in range(2):
        same(static(x), eager(x))
    for step in steps:
        step()
        for _ in range(2):
            same(static(x), eager(x))


NUMBER, TABLE, ITEMS, HOLDER = 2, {"k": 2}, [1, 2], Settings()
MODULE = types.ModuleType("settings_of_the_test")
MODULE.K = 2


@pytest.mark.parametrize("value", [3, 2.0, True, -0.0, 0.0, "x", float("nan"), None])
def test_a_global_is_watched(monkeypatch, value):
    def read(x):
        return x * 2, NUMBER

    static = stator.to_static(read)
    static(ONES)
    monkeypatch.setitem(globals(), "NUMBER", value)
    same(static(ONES)[1], value)
    same(static(ONES)[1], value)


def test_a_closure_cell_is_watched():
    k = 2

    def read(x):
        return x * k

    def rebind():
        nonlocal k
        k = 5

    changes(stator.to_static(read), read, ONES, rebind)


def test_attributes_of_objects_and_classes_are_watched():
    holder = Derived()

    def read(x):
        return x * holder.scale + holder.level * holder.offset + holder.doubled

    changes(
        stator.to_static(read), read, ONES,
        lambda: setattr(holder, "scale", 5),
        lambda: setattr(holder, "level", 7),  # now hides the class's
        lambda: setattr(Derived, "offset", 9),  # now hides the base's
        lambda: vars(holder).update(scale=6),
        lambda: delattr(holder, "level"),
        lambda: setattr(Derived, "doubled", 1),
    )  # fmt: skip
    del Derived.offset, Derived.doubled


def test_an_attribute_read_from_a_class_is_watched(monkeypatch):
    def read(x):
        return x * Derived.level

    static = stator.to_static(read)
    same(static(ONES), read(ONES))
    monkeypatch.setattr(Settings, "level", 5)
    same(static(ONES), read(ONES))
    monkeypatch.setattr(Derived, "level", 6, raising=False)
    same(static(ONES), read(ONES))


def test_a_slot_is_watched():
    holder = Slotted()

    def read(x):
        return x * holder.scale

    changes(stator.to_static(read), read, ONES, lambda: setattr(holder, "scale", 5))


def test_another_class_of_the_same_object_is_watched():
    class Other(Settings):
        level = 11

    holder = Settings()

    def read(x):
        return x * holder.level

    changes(stator.to_static(read), read, ONES, lambda: setattr(holder, "__class__", Other))


def test_an_attribute_of_a_python_module_is_watched():
    module = MODULE

    def read(x):
        return x * module.K

    changes(stator.to_static(read), read, ONES, lambda: setattr(MODULE, "K", 5))


def test_items_of_dicts_and_lists_are_watched():
    table, items = {"k": 2, "inner": {"j": 1}}, [1, [2, 3]]

    def read(x):
        total = x * table["k"] + table["inner"]["j"] + table.get("absent", 0)
        return total + items[0] * items[1][1] + len(items)

    changes(
        stator.to_static(read), read, ONES,
        lambda: table.update(k=3),
        lambda: table["inner"].update(j=4),
        lambda: table.update(absent=5),
        lambda: items.__setitem__(0, 6),
        lambda: items[1].__setitem__(1, 7),
        lambda: items.append(8),
    )  # fmt: skip


def test_a_method_replaced_on_its_class_is_watched(monkeypatch):
    class Scaler:
        def scale(self, x):
            return x * 2

    scaler = Scaler()

    def read(x):
        return scaler.scale(x)

    def replace():
        Scaler.scale = lambda self, x: x * 3

    changes(stator.to_static(read), read, ONES, replace)


def test_another_default_of_a_helper_is_watched():
    def helper(x, k=2):
        return x * k

    def read(x):
        return helper(x)

    changes(stator.to_static(read), read, ONES, lambda: setattr(helper, "__defaults__", (5,)))


def test_another_code_of_a_helper_is_watched():
    def helper(x):
        return x * 2

    def other(x):
        return x * 3

    def read(x):
        return helper(x)

    changes(stator.to_static(read), read, ONES,
            lambda: setattr(helper, "__code__", other.__code__))  # fmt: skip


def test_a_partial_given_as_a_helper_is_watched():
    helper = functools.partial(torch.mul, other=2)
    holder = types.SimpleNamespace(helper=helper)

    def read(x):
        return holder.helper(x)

    changes(stator.to_static(read), read, ONES,
            lambda: setattr(holder, "helper", functools.partial(torch.mul, other=3)))  # fmt: skip


DEPTH = contextvars.ContextVar("depth", default=1)
PER_THREAD = threading.local()
ARRAY = array.array("i", [1])
BYTES = bytearray(b"a")
QUEUE = collections.deque([1])
CHAINED = collections.ChainMap({"k": 1})
WRAPPED = collections.UserDict({"k": 1})

OUTSIDE = {
    "a context variable": (lambda x: x * DEPTH.get(), lambda: DEPTH.set(5)),
    "os.environ.get": (
        lambda x: x * int(os.environ.get("STATOR_TEST_A", "1")),
        lambda: os.environ.update(STATOR_TEST_A="5"),
    ),
    "in os.environ": (
        lambda x: x * (2 if "STATOR_TEST_B" in os.environ else 1),
        lambda: os.environ.update(STATOR_TEST_B="5"),
    ),
    "os.getenv": (
        lambda x: x * int(os.getenv("STATOR_TEST_C", "1")),
        lambda: os.environ.update(STATOR_TEST_C="5"),
    ),
    "os.getcwd": (lambda x: x * len(os.getcwd()), lambda: os.chdir("/")),
    "a thread's own": (
        lambda x: x * getattr(PER_THREAD, "k", 1),
        lambda: setattr(PER_THREAD, "k", 5),
    ),
    "an array's item": (lambda x: x * ARRAY[0], lambda: ARRAY.__setitem__(0, 5)),
    "an array's length": (lambda x: x * len(ARRAY), lambda: ARRAY.append(5)),
    "a bytearray": (lambda x: x * len(BYTES), lambda: BYTES.append(5)),
    "a deque": (lambda x: x * len(QUEUE), lambda: QUEUE.append(5)),
    "a ChainMap": (lambda x: x * CHAINED["k"], lambda: CHAINED.update(k=5)),
    "a UserDict": (lambda x: x * WRAPPED["k"], lambda: WRAPPED.update(k=5)),
    "the number of threads": (
        lambda x: x * torch.get_num_threads(),
        lambda: torch.set_num_threads(torch.get_num_threads() % 2 + 1),
    ),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_the_process_and_its_objects_hold(name, monkeypatch):
    for variable in ("STATOR_TEST_A", "STATOR_TEST_B", "STATOR_TEST_C"):
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)
    monkeypatch.chdir(".")
    threads = torch.get_num_threads()
    contextvars.copy_context().run(_changes_with, *OUTSIDE[name])
    torch.set_num_threads(threads)


def _changes_with(function, change):
    static = stator.to_static(function)
    before = function(ONES)
    same(static(ONES), before)
    same(static(ONES), before)
    change()
    same(static(ONES), function(ONES))
    assert not torch.equal(static(ONES), before)
    assert len(static.concrete_programs) == 2


@dataclasses.dataclass
class Setting:
    k: int = 1
    items: list = dataclasses.field(default_factory=lambda: [1])


class Outer:
    def __init__(self):
        self.k, self.items, self.inner = 1, [1], types.SimpleNamespace(j=1)


SEEN_BY_LIBRARIES = {
    "copy": (lambda x, o, s: x * copy.copy(o).k, lambda o, s: setattr(o, "k", 5)),
    "deepcopy": (
        lambda x, o, s: x * copy.deepcopy(o).inner.j,
        lambda o, s: setattr(o.inner, "j", 5),
    ),
    "a list in it": (
        lambda x, o, s: x * len(copy.deepcopy(o).items),
        lambda o, s: o.items.append(5),
    ),
    "replace": (
        lambda x, o, s: x * dataclasses.replace(s, items=[]).k,
        lambda o, s: setattr(s, "k", 5),
    ),
    "asdict": (lambda x, o, s: x * dataclasses.asdict(s)["k"], lambda o, s: setattr(s, "k", 5)),
    "attrgetter": (
        lambda x, o, s: x * operator.attrgetter("k")(o),
        lambda o, s: setattr(o, "k", 5),
    ),
    "vars": (lambda x, o, s: x * vars(o)["k"], lambda o, s: setattr(o, "k", 5)),
    "repr": (lambda x, o, s: x * len(repr(s)), lambda o, s: setattr(s, "k", 555)),
    "==": (lambda x, o, s: x * (2 if s == Setting() else 1), lambda o, s: setattr(s, "k", 5)),
    "max by a key": (
        lambda x, o, s: x * max([o, s], key=lambda one: one.k).k,
        lambda o, s: setattr(s, "k", 5),
    ),
}


@pytest.mark.parametrize("name", SEEN_BY_LIBRARIES)
def test_what_library_code_sees_of_an_object(name):
    function, change = SEEN_BY_LIBRARIES[name]
    outer, setting = Outer(), Setting()
    _changes_with(lambda x: function(x, outer, setting), lambda: change(outer, setting))


def test_a_context_variable_is_set_on_every_call():
    def deeper(x):
        token = DEPTH.set(DEPTH.get() + 1)
        y = x * DEPTH.get()
        DEPTH.reset(token)
        if x.sum() > 0:
            DEPTH.set(9)
        return y * DEPTH.get()

    def run(function):
        seen = []
        for sign in (-1, 1, -1, 1):
            seen.append((function(ONES * sign).tolist(), DEPTH.get()))
        return seen

    eager = contextvars.copy_context().run(run, deeper)
    assert contextvars.copy_context().run(run, stator.to_static(deeper)) == eager


# ---- modules


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.dropout = nn.Dropout(0.5)
        self.scale = 2

    def forward(self, x):
        return self.dropout(self.linear(x)) * self.scale


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.plain = nn.Sequential(
            nn.Linear(3, 3), nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5))
        )
        self.register_buffer("shift", torch.zeros(3))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.plain(x) + self.shift


def zeroed(parameter):
    return nn.Parameter(torch.zeros_like(parameter))


def on_output(module, args, output):
    return output + 100


MODULE_STEPS = {
    "eval": lambda m: m.eval(),
    "one_dropout": lambda m: setattr(m.plain[1][1], "training", False),
    "inner_dropout": lambda m: m.blocks[1].dropout.eval(),
    "rate": lambda m: setattr(m.plain[1][1], "p", 0.0),
    "attribute": lambda m: setattr(m.blocks[1], "scale", 5),
    "parameter": lambda m: setattr(m.blocks[0].linear, "weight", zeroed(m.blocks[0].linear.weight)),
    "parameter_of_a_library_module": lambda m: setattr(m.plain[0], "bias", zeroed(m.plain[0].bias)),
    "no_bias": lambda m: setattr(m.plain[0], "bias", None),
    "buffer": lambda m: setattr(m, "shift", torch.ones(3)),
    "child": lambda m: setattr(m.blocks[0], "linear", nn.Linear(3, 3, bias=False)),
    "block": lambda m: m.blocks.append(nn.Linear(3, 3)),
    "layer": lambda m: m.plain.append(nn.Linear(3, 3)),
    "inner_layer": lambda m: m.plain[1].append(nn.Linear(3, 3)),
    "double": lambda m: m.double(),
    "freeze": lambda m: m.requires_grad_(False),
    "freeze_one": lambda m: m.plain[0].weight.requires_grad_(False),
    "thaw": lambda m: m.shift.requires_grad_(),
    "learn_in_place": lambda m: m.shift.add_(torch.ones(3, requires_grad=True)),
    "data_of_another_size": lambda m: setattr(m.shift, "data", torch.ones(4, 1)),
    "data_of_another_rank": lambda m: setattr(m.shift, "data", torch.ones(4, 1, 1)),
    "data_of_another_dtype": lambda m: setattr(m.shift, "data", torch.ones(3).double()),
    "data_of_other_strides": lambda m: setattr(m.plain[0].weight, "data",
                                               torch.arange(9.0).view(3, 3).t()),
    "data_alike": lambda m: setattr(m.plain[0].weight, "data", torch.arange(9.0).view(3, 3)),
    "hook": lambda m: m.blocks[0].register_forward_hook(on_output),
    "hook_put_in_by_hand": lambda m: m.blocks[0]._forward_hooks.update({-1: on_output}),
    "hook_of_a_library_module": lambda m: m.plain[1][0].register_forward_hook(on_output),
    "pre_hook": lambda m: m.plain[0].register_forward_pre_hook(lambda m, args: (args[0] * 2,)),
    "forward": lambda m: setattr(m.blocks[0], "forward", lambda x: x * 7),
    "forward_of_a_library_module": lambda m: setattr(m.plain[0], "forward", lambda x: x * 7),
}  # fmt: skip


def seeded(model, x):
    torch.manual_seed(0)
    return model(x)


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # of a non-leaf
@pytest.mark.parametrize("extended", [True, False], ids=["extension", "plain"])
@pytest.mark.parametrize("step", MODULE_STEPS.values(), ids=MODULE_STEPS.keys())
def test_a_change_to_a_model_is_seen(step, extended, monkeypatch):
    if not extended:
        monkeypatch.setattr("stator.state.snapshot.extension", lambda: None)
        monkeypatch.setattr("stator.api.entries.extension", lambda: None)
    torch.manual_seed(1)
    model, x = Stack(), torch.randn(4, 3)
    static = stator.to_static(Stack())
    static.load_state_dict(model.state_dict())
    for _ in range(2):
        same(seeded(static, x).detach(), seeded(model, x).detach())
    torch.manual_seed(2)
    step(model)
    torch.manual_seed(2)
    step(static)
    x = (
        x.to(model.blocks[0].linear.weight.dtype)
        if hasattr(model.blocks[0].linear, "weight")
        else x
    )
    for _ in range(2):
        got, expected = seeded(static, x), seeded(model, x)
        torch.testing.assert_close(got, expected)
        assert got.requires_grad == expected.requires_grad


@pytest.mark.parametrize("make", [lambda: nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)),
                                  lambda: nn.Dropout(0.5)])  # fmt: skip
def test_a_library_module_that_is_itself_static_is_watched(make):
    model, x = make(), torch.ones(2, 3)
    static = stator.to_static(make())
    static.load_state_dict(model.state_dict())
    for training in (True, False, True):
        model.train(training), static.train(training)
        same(seeded(static, x).detach(), seeded(model, x).detach())


def test_a_removed_hook_is_seen():
    model, x = Stack().eval(), torch.randn(4, 3)
    handle = model.plain[0].register_forward_hook(on_output)
    eager, static = model(x), stator.to_static(model)
    same(static(x), eager)
    handle.remove()
    same(static(x), Stack.forward(model, x))


def test_a_hook_on_all_modules_is_seen():
    model, x = stator.to_static(Stack().eval()), torch.randn(4, 3)
    before = model(x)
    handle = nn.modules.module.register_module_forward_hook(lambda m, args, out: out * 2)
    try:
        assert model(x).tolist() != before.tolist()
    finally:
        handle.remove()
    same(model(x), before)


def test_a_dtype_changed_in_place_is_seen_where_only_the_weight_has_it():
    table = nn.Embedding(4, 2)

    def look_up(ids):
        return table(ids) + torch.zeros(2, dtype=table.weight.dtype)

    static, ids = stator.to_static(look_up), torch.tensor([1, 2])
    for convert in (table.float, table.double, table.float, table.double):
        convert()
        same(static(ids).detach(), look_up(ids).detach())


@pytest.mark.parametrize("ask", [lambda x: getattr(x, "tag", 1), lambda x: hasattr(x, "tag")])
def test_an_attribute_that_a_tensor_argument_gets_later_is_seen(ask):
    static, plain, tagged = stator.to_static(lambda x: x * ask(x)), torch.ones(2), torch.ones(2)
    same(static(plain), plain * ask(plain))
    tagged.tag = 3
    with pytest.raises(stator.StatorError, match="which the caller has set on a tensor"):
        static(tagged)
    same(static(plain), plain * ask(plain))


def test_parameters_that_are_added_are_seen():
    listed = nn.ParameterList([nn.Parameter(torch.ones(3))])
    named = nn.ParameterDict({"a": nn.Parameter(torch.ones(3))})

    def function(x):
        for factor in (*listed, *named.values()):
            x = x * factor
        return x * len(listed) * ("b" in named) + len(named)

    static = stator.to_static(function)
    same(static(ONES), function(ONES))
    listed.append(nn.Parameter(torch.full((3,), 2.0)))
    same(static(ONES), function(ONES))
    named["b"] = nn.Parameter(torch.full((3,), 3.0))
    same(static(ONES), function(ONES))
    del named["a"]
    same(static(ONES), function(ONES))


def test_what_a_cached_function_has_read_of_a_tensor_may_not_be_written():
    table = torch.ones(3)

    @functools.cache
    def total(number):
        return table.sum() * number

    def function(x):
        return x * total(2) if x.sum() > 100 else x

    static = stator.to_static(function)
    same(static(ONES), function(ONES))
    table.add_(1)
    with pytest.raises(stator.StatorError, match="its cache may hold the result"):
        static(ONES)


def test_an_attribute_of_a_module_is_set_without_the_module_being_empty(monkeypatch):
    monkeypatch.setattr(builtins, "stator_test_value", 0, raising=False)

    def function(x):
        builtins.stator_test_value += 1
        return x * builtins.stator_test_value

    static = stator.to_static(function)
    same(static(ONES), ONES)
    same(static(ONES), ONES * 2)


def test_a_size_check_that_fails_after_writes_to_new_tensors_captures_again():
    def normalized(x):
        total = torch.zeros(3)
        total.add_(1)
        if x.sum() < -100:
            raise ValueError("too small")
        return nn.functional.batch_norm(x, None, None, training=True) + total

    static = stator.to_static(normalized)
    for rows in (4, 6, 3):
        x = torch.rand(rows, 3)
        assert torch.equal(static(x), normalized(x))
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        static(torch.rand(1, 3))
