"""Everything that a capture reads of the world is a guard: a change is seen at the next call."""

import decimal
import functools
import math
import sys

import numpy
import pytest
import torch
from torch import nn

import stator
from stator.errors import UnsupportedCall
from tests.stories.story import Story, check

X = [torch.tensor([1.0, -2.0]), torch.tensor([3.0, 1.0]), torch.tensor([1.0, -2.0])]
ONE = X[0]


def mutable_default():
    def f(x, bag=[]):  # noqa: B006
        bag.append(1)
        return x + len(bag)

    return Story(f, X, lambda: list(f.__defaults__[0]))


def mutable_keyword_default():
    def f(x, *, bag={}):  # noqa: B006
        bag["n"] = bag.get("n", 0) + 1
        return x + bag["n"]

    return Story(f, X, lambda: dict(f.__kwdefaults__["bag"]))


def keyword_default_replaced():
    def f(x, *, k=2):
        return x * k

    def change(g):
        f.__kwdefaults__["k"] = 50
        return g(ONE)

    return Story(f, [ONE, change])


def defaults_replaced():
    def f(x, k=2):
        return x * k

    def change(g):
        f.__defaults__ = (50,)
        return g(ONE)

    return Story(f, [ONE, change])


def parametrization_added_and_removed():
    class Double(nn.Module):
        def forward(self, w):
            return w * 2

    torch.manual_seed(0)
    m = nn.Linear(2, 2, bias=False)

    def on(g):
        nn.utils.parametrize.register_parametrization(m, "weight", Double())
        return g(ONE)

    def off(g):
        nn.utils.parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
        return g(ONE)

    return Story(m, [ONE, on, off])


def class_of_the_module_replaced():
    class A(nn.Module):
        def forward(self, x):
            return x * 2

    class B(A):
        def forward(self, x):
            return x - 2

    m = A()

    def swap(g):
        m.__class__ = B
        return g(ONE)

    return Story(m, [ONE, swap])


def class_of_an_attribute_replaced():
    class A:
        rate = 2

    class B(A):
        rate = 5

    box = A()

    def swap(g):
        box.__class__ = B
        return g(ONE)

    return Story(lambda x: x * box.rate, [ONE, swap])


def forward_of_the_class_replaced():
    class A(nn.Module):
        def forward(self, x):
            return x * 2

    def patch(g):
        A.forward = lambda self, x: x - 7
        return g(ONE)

    return Story(A(), [ONE, patch])


def global_hook_of_modules():
    def hooked(g):
        hook = nn.modules.module.register_module_forward_hook(lambda mod, a, out: out + 1000)
        try:
            return g(ONE)
        finally:
            hook.remove()

    return Story(nn.Sequential(nn.Tanh()), [ONE, hooked, ONE])


def patched(holder, name, new):
    """A call during which `holder.name` is `new`."""

    def call(g):
        old = getattr(holder, name)
        setattr(holder, name, new)
        try:
            return g(ONE)
        finally:
            setattr(holder, name, old)

    return call


def function_of_torch_replaced():
    double = patched(nn.functional, "relu", lambda x: x * 100)
    return Story(lambda x: nn.functional.relu(x), [ONE, double, ONE])


def method_of_tensors_replaced():
    double = patched(torch.Tensor, "relu", lambda x: x * 100)
    return Story(lambda x: x.relu(), [ONE, double, ONE])


def function_of_the_standard_library_replaced():
    double = patched(math, "sqrt", lambda x: x * 100)
    return Story(lambda x: x * math.sqrt(4.0), [ONE, double, ONE])


def global_that_appears():
    def f(x):
        return later(x) if x.sum() < 0 else x  # noqa: F821

    globals().pop("later", None)

    def define(g):
        globals()["later"] = torch.abs
        return g(ONE)

    return Story(f, [ONE, define])


def builtin_that_a_global_hides():
    def f(x):
        return x * abs(-3)

    globals().pop("abs", None)

    def define(g):
        globals()["abs"] = lambda value: 10
        try:
            return g(ONE)
        finally:
            del globals()["abs"]

    return Story(f, [ONE, define, ONE])


def attribute_that_appears():
    class Box:
        pass

    box = Box()

    def f(x):
        try:
            return x * box.rate
        except AttributeError:
            return x

    def define(g):
        box.rate = 5
        return g(ONE)

    return Story(f, [ONE, define])


def partial_with_a_list():
    log = []

    def base(log, x):
        log.append(1)
        return x + len(log)

    return Story(functools.partial(base, log), X, lambda: list(log))


def partial_with_a_keyword_replaced():
    def base(x, k):
        return x * k

    bound = functools.partial(base, k=2)

    def change(g):
        bound.keywords["k"] = 9
        return g(ONE)

    return Story(bound, [ONE, change])


def _counter():
    n = 0

    def inc(x):
        nonlocal n
        n += 1
        return x + n

    return inc


def closures_of_one_factory_inside_and_outside():
    outer = _counter()

    def f(x):
        local = _counter()
        return local(x) + outer(x)

    return Story(f, X)


def closures_of_one_factory_in_a_list():
    outer = [_counter(), _counter()]

    def f(x):
        local = _counter()
        return local(x) + outer[0](x) * 10 + outer[1](outer[1](x)) * 100

    return Story(f, X, lambda: [one.__closure__[0].cell_contents for one in outer])


def _divides(g):
    with numpy.errstate(divide="ignore"):
        return g(ONE)


def _divides_strictly(g):
    with numpy.errstate(divide="raise"):
        return g(ONE)


def error_modes_of_numpy():
    def f(x):
        return (1.0 / numpy.array([1.0, 0.0])).tolist(), numpy.geterr()["divide"]

    return Story(f, [_divides, _divides_strictly, _divides])


def error_modes_of_a_number_of_numpy():
    def f(x):
        return float(numpy.float64(1.0) / numpy.float64(0.0))

    return Story(f, [_divides, _divides_strictly, _divides])


def precision_of_decimal_numbers():
    def f(x):
        return str(decimal.Decimal(1) / decimal.Decimal(3))

    def roughly(g):
        with decimal.localcontext() as context:
            context.prec = 3
            return g(ONE)

    return Story(f, [ONE, roughly, ONE])


def limit_of_recursion():
    return Story(lambda x: x + sys.getrecursionlimit(), X)


@pytest.mark.parametrize("make", [
    mutable_default, mutable_keyword_default, keyword_default_replaced, defaults_replaced,
    parametrization_added_and_removed, class_of_the_module_replaced,
    class_of_an_attribute_replaced, forward_of_the_class_replaced, global_hook_of_modules,
    function_of_torch_replaced, method_of_tensors_replaced,
    function_of_the_standard_library_replaced, global_that_appears, builtin_that_a_global_hides,
    attribute_that_appears, partial_with_a_list, partial_with_a_keyword_replaced,
    closures_of_one_factory_inside_and_outside, closures_of_one_factory_in_a_list,
    error_modes_of_numpy, error_modes_of_a_number_of_numpy, precision_of_decimal_numbers,
    limit_of_recursion,
])  # fmt: skip
def test_a_change_between_calls_is_seen(make):
    check(make)


def test_captured_arrays_are_refused_where_numpy_raises():
    static = stator.to_static(lambda x: numpy.log(x.numpy()))
    static(ONE)
    with numpy.errstate(invalid="raise"), pytest.raises(UnsupportedCall) as caught:
        static(ONE)
    assert caught.value.problem == (
        "`numpy.errstate` turns numpy's warnings into errors, which a program does not raise"
    )


def attribute_set_and_deleted():
    box = type("Box", (), {})()

    def f(x):
        box.high = 3
        del box.high
        return x * 2

    def late(static):
        box.high = 9
        return static(ONE)

    return Story(f, [ONE, late, ONE], lambda: dict(vars(box)))


def test_an_attribute_that_is_set_and_deleted_is_deleted_by_each_call():
    check(attribute_set_and_deleted)
