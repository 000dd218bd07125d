"""Calls: which callee is converted, and how its arguments arrive."""

import functools
import operator

import pytest
import torch
from torch.nn import functional

import stator
from tests.capture.oracle import check

ONE, NONE = torch.ones(1), -torch.ones(1)


def signed(x, *, up=1, down=1):
    return x + up if x.sum() > 0 else x - down


def test_a_helper_is_converted():
    check(lambda x: signed(signed(x)), (ONE,), (NONE,))


def test_a_partial_is_converted_with_its_arguments():
    check(lambda x: functools.partial(signed, up=3)(x, down=4), (ONE,), (NONE,))


def test_a_partial_of_a_partial_is_converted():
    check(lambda x: functools.partial(functools.partial(signed, up=3), x)(up=5), (ONE,), (NONE,))


class Box:
    kind = "box"

    def __init__(self, x, *more, scale=1):
        self.x = x * scale if x.sum() > 0 else x
        self.more = more

    def get(self):
        return signed(self.x)

    @classmethod
    def make(cls, x):
        return cls(x, 1, scale=3)

    @staticmethod
    def neg(x):
        return -x if x.sum() > 0 else x

    @property
    def total(self):
        return self.x.sum() if self.x.sum() > 0 else self.x.sum() * 2

    def __call__(self, x):
        return signed(x) * self.x

    def __len__(self):
        return 3

    def __getitem__(self, key):
        return self.x if self.x.sum() > key else -self.x

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def test_a_class_with_an_init_is_converted():
    check(lambda x: Box(x, scale=2).x, (ONE,), (NONE,))


def test_methods_of_all_sorts_are_converted():
    check(lambda x: (Box(x).get(), Box.make(x).x, Box.make(x).more, Box.neg(x), Box(x).neg(x)),
          (ONE,), (NONE,))  # fmt: skip


def test_a_property_is_converted():
    check(lambda x: Box(x).total, (ONE,), (NONE,))


def test_an_object_that_can_be_called_is_converted():
    check(lambda x: Box(x)(x), (ONE,), (NONE,))


def test_len_and_items_of_a_users_object_are_converted():
    check(lambda x: (len(Box(x)), Box(x)[0]), (ONE,), (NONE,))


def test_a_bound_method_kept_in_a_variable_is_converted():
    def f(x):
        get = Box(x).get
        return get()

    check(f, (ONE,), (NONE,))


def test_super_of_a_module_runs_with_hooks():
    class Inner(torch.nn.Module):
        def forward(self, x):
            return signed(x)

    class Outer(Inner):
        def __call__(self, x):
            return super().__call__(x) * 2

    check(Outer(), (ONE,), (NONE,))


def test_super_init_and_method_are_converted():
    class Parent:
        def __init__(self, x):
            self.x = signed(x)

        def get(self):
            return self.x

    class Child(Parent):
        def __init__(self, x):
            super().__init__(x)
            self.y = x

        def get(self):
            return super().get() + self.y

    check(lambda x: Child(x).get(), (ONE,), (NONE,))


def test_a_lambda_in_a_dict_is_converted():
    table = {"up": lambda x: signed(x), "down": lambda x: signed(-x)}
    check(lambda x, name: table[name](x), (ONE, "up"), (NONE, "up"), (ONE, "down"))


def test_a_function_chosen_by_a_captured_condition_is_called():
    def f(x):
        act = torch.relu if x.sum() > 2 else signed
        return act(x)

    check(f, (ONE,), (NONE,), (ONE * 5,))


def test_a_function_chosen_by_a_captured_index_is_called():
    acts = [torch.relu, torch.neg, signed]
    check(lambda x: acts[int(x)](x), *((torch.tensor(float(k)),) for k in (0, 1, 2, -1, 5)))


def test_arguments_spread_as_in_python():
    def g(a, b=2, *rest, c, **named):
        return (a, b, rest, c, named)

    check(lambda x: g(*[x, 1], *(2, 3), **{"c": x, "d": 4}), (ONE,))


def test_a_spread_that_depends_on_the_path_calls_each_way():
    def g(*args):
        return len(args)

    def f(x):
        args = (x, x) if x.sum() > 0 else (x,)
        return g(*args)

    check(f, (ONE,), (NONE,))


def test_default_arguments_are_those_of_the_function():
    check(lambda x, k=2, *, m=3: x * k * m, (ONE,), (ONE, 5))


def test_a_wrong_call_raises_as_in_eager():
    check(lambda x: signed(x, x), (ONE,))


def test_operators_as_functions_take_captured_values():
    check(lambda x: operator.add(x, 1) + functools.reduce(operator.add, [x, x, x]), (ONE,))


def test_a_users_decorator_is_converted():
    def logged(function):
        @functools.wraps(function)
        def wrapper(x):
            return function(x) * 2 if x.sum() > 0 else function(x)

        return wrapper

    @logged
    def inner(x):
        return signed(x)

    check(lambda x: inner(x), (ONE,), (NONE,))


def test_a_helper_under_no_grad_as_a_decorator_is_converted():
    @torch.no_grad()
    def inner(x):
        return x * 2 if x.sum() > 0 else x

    check(lambda x: inner(x), (ONE,), (NONE,))


def test_a_symbolic_bool_reaches_torch_as_both_its_values():
    check(lambda x: x.sum(0, keepdim=bool(x.sum() > 0)).dim(), (torch.ones(2, 2),),
          (-torch.ones(2, 2),))  # fmt: skip


def test_a_list_of_the_program_reaches_torch_whole():
    def f(x):
        rows = []
        while x.sum() < 10:
            rows.append(x)
            x = x * 2
        rows.append(x)
        return torch.stack(rows), torch.cat(rows)

    check(f, (ONE,), (ONE * 3,), (ONE * 20,))


def test_a_static_function_called_by_another_is_part_of_its_program():
    inner = stator.to_static(lambda x: x * 2 if x.sum() > 0 else x)
    check(lambda x: inner(x) + 1, (ONE,), (NONE,))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, p: functional.dropout(x, p=p / 9, training=True),
        lambda x, p: functional.layer_norm(x, (4,), eps=p),
        lambda x, p: functional.batch_norm(x, None, None, training=True, eps=p),
        lambda x, p: functional.normalize(x, p=p),
        lambda x, p: torch.cdist(x, x, p=p),
        lambda x, p: x.bernoulli(p / 9),
        lambda x, p: torch.empty(3).normal_(p, p + 1),
        lambda x, p: torch.empty(3).uniform_(-p, p),
    ],
)
def test_an_op_that_takes_plain_floats_is_given_those_of_the_run(function):
    static = stator.to_static(lambda x: function(x, float(x.abs().mean() + 1)))
    for x in (torch.randn(3, 4), torch.randn(3, 4) * 2):
        seen = []
        for one in (static, lambda x: function(x, float(x.abs().mean() + 1))):
            torch.manual_seed(3)
            seen.append(one(x))
        assert torch.equal(*seen)
    assert len(static.concrete_programs) == 1
