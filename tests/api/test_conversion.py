"""to_static: what it takes, what it gives, and what it refuses."""

import copy
import functools
import secrets
import warnings

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

import stator
from stator import InputSpec, StaticFunction
from stator.errors import ConversionError, UnknownOption, UnsupportedCall
from tests.capture.oracle import check
from tests.said import said


def doubled_while_small(x):
    while x.sum() < 10:
        x = x * 2
    return x


class Scale(torch.nn.Module):
    def __init__(self, scale=2.0):
        super().__init__()
        self.scale = scale
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.scale * self.weight if x.sum() > 0 else x


class StaticScale(Scale):
    @stator.to_static
    def forward(self, x):
        return x * self.scale * self.weight if x.sum() > 0 else x


def test_a_function_made_static_gives_what_it_gave():
    check(doubled_while_small, (torch.ones(2),), (torch.full((2,), 9.0),))


def test_the_decorator_with_arguments_makes_a_static_function():
    @stator.to_static(input_spec=[InputSpec([None])])
    def f(x):
        return x + 1

    assert isinstance(f, StaticFunction)
    assert f.input_spec == [InputSpec([None])]
    assert f(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_the_name_and_docstring_of_the_function_are_kept():
    def f(x):
        """One more."""
        return x + 1

    static = stator.to_static(f)
    assert (static.__name__, static.__doc__) == ("f", "One more.")


def test_a_module_instance_is_given_back_with_another_forward():
    module = Scale()
    assert stator.to_static(module) is module
    assert isinstance(module.forward, StaticFunction)
    assert module(torch.ones(2)).tolist() == [2.0, 2.0]
    assert module(-torch.ones(2)).tolist() == [-1.0, -1.0]


def test_a_module_class_makes_static_instances():
    @stator.to_static
    class Shift(torch.nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x - 1

    module = Shift()
    assert isinstance(module.forward, StaticFunction)
    assert module(torch.ones(1)).item() == 2
    assert module(-torch.ones(1)).item() == -2


def test_a_module_of_torch_can_be_made_static():
    plain = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    x = torch.randn(3, 2)
    want = plain(x)
    assert torch.equal(stator.to_static(plain)(x), want)


def test_a_decorated_forward_works_on_each_instance():
    two, three = StaticScale(2.0), StaticScale(3.0)
    x = torch.ones(2)
    assert two(x).tolist() == [2.0, 2.0]
    assert three(x).tolist() == [3.0, 3.0]
    assert two(x).tolist() == [2.0, 2.0]


def test_two_instances_do_not_share_programs():
    first, second = StaticScale(), StaticScale()
    first(torch.ones(2))
    assert len(first.forward.concrete_programs) == 1
    assert second.forward.concrete_programs == ()


def test_a_bound_method_can_be_made_static():
    class Counter:
        step = 2

        def up(self, x):
            return x + self.step

    assert stator.to_static(Counter().up)(torch.ones(1)).item() == 3


def test_a_method_that_is_no_forward_can_be_decorated():
    class Box:
        def __init__(self, k):
            self.k = k

        @stator.to_static
        def times(self, x):
            return x * self.k

    assert [Box(k).times(torch.ones(1)).item() for k in (2, 3)] == [2, 3]


def test_a_decorated_call_method_is_static():
    class Twice:
        @stator.to_static
        def __call__(self, x):
            return x * 2 if x.sum() > 0 else x

    twice = Twice()
    assert twice(torch.ones(1)).item() == 2
    assert twice(-torch.ones(1)).item() == -1


def test_a_static_method_can_be_static():
    class Box:
        @staticmethod
        @stator.to_static
        def more(x):
            return x + 1

    assert Box.more(torch.ones(1)).item() == Box().more(torch.ones(1)).item() == 2


def test_a_static_parent_method_is_captured_as_part_of_the_child():
    class Child(StaticScale):
        @stator.to_static
        def forward(self, x):
            return super().forward(x) + 1

    child = Child()
    assert child(torch.ones(2)).tolist() == [3.0, 3.0]
    assert child(-torch.ones(2)).tolist() == [0.0, 0.0]


def test_a_child_that_calls_its_static_parent_is_captured_once():
    class Child(StaticScale):
        @stator.to_static
        def forward(self, x):
            return super().forward(x) + 1

    child = Child()
    child(torch.ones(2))
    child(torch.ones(2))
    assert len(child.forward.concrete_programs) == 1


def test_a_lambda_can_be_made_static():
    check(lambda x: x + 1 if x.sum() > 0 else x, (torch.ones(1),), (-torch.ones(1),))


def test_a_partial_can_be_made_static():
    def scaled(scale, x, *, shift):
        return x * scale + shift

    static = stator.to_static(functools.partial(scaled, 2.0, shift=1))
    assert static(torch.ones(1)).item() == 3


def test_making_a_static_function_static_again_gives_itself():
    static = stator.to_static(doubled_while_small)
    assert stator.to_static(static) is static


def test_a_static_function_with_another_spec_is_a_new_one():
    static = stator.to_static(doubled_while_small)
    other = stator.to_static(static, [InputSpec([None])])
    assert other is not static
    assert other.input_spec == [InputSpec([None])]
    assert static.input_spec is None


def test_a_module_made_static_twice_wraps_its_forward_once():
    module = stator.to_static(stator.to_static(Scale()))
    assert not isinstance(module.forward.dygraph_function, StaticFunction)
    assert module(torch.ones(2)).tolist() == [2.0, 2.0]


def test_an_unknown_backend_is_refused_by_its_text():
    with pytest.raises(UnknownOption) as caught:
        stator.to_static(doubled_while_small, backend="xla")
    assert said(caught.value) == (
        "[ST303] there is no backend 'xla'\n"
        "  fix: use one of interpreter, native, inductor, cudagraph"
    )


def test_what_cannot_be_called_is_refused_by_its_text():
    with pytest.raises(ConversionError) as caught:
        stator.to_static(3)
    assert said(caught.value) == (
        "[ST100] an int cannot be made static\n  fix: pass a function, a method or an nn.Module"
    )


def test_a_spec_in_the_place_of_the_function_is_named():
    with pytest.raises(ConversionError) as caught:
        stator.to_static([stator.InputSpec([None])])
    assert said(caught.value) == (
        "[ST100] a list cannot be made static\n"
        "  fix: give the input spec by its name: to_static(input_spec=...)"
    )


class Small:
    __slots__ = ("factor",)

    def __init__(self):
        self.factor = 2

    @stator.to_static
    def more(self, x):
        return x * self.factor


def test_a_method_of_an_object_without_a_dict_is_refused():
    with pytest.raises(ConversionError) as caught:
        Small().more(torch.ones(1))
    assert caught.value.problem == (
        "`more` of a Small, which has no `__dict__`, cannot be made static"
    )
    assert caught.value.fix == (
        'add "__dict__" to its `__slots__`, or make a function static that takes the object'
    )


def test_both_ways_out_for_a_method_of_an_object_without_a_dict_work():
    class Open(Small):
        __slots__ = ("__dict__",)

    assert Open().more(torch.ones(1)).item() == 2
    static = stator.to_static(lambda small, x: Small.more.dygraph_function(small, x) + 1)
    assert static(Small(), torch.ones(1)).item() == 3


def draw(x):
    return x * secrets.randbelow(1 << 40)


def test_without_full_graph_what_cannot_be_captured_runs_eagerly_after_one_warning():
    static = stator.to_static(draw, full_graph=False)
    line = draw.__code__.co_firstlineno + 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        first = static(torch.ones(2))
        second = static(torch.ones(2))
        static(torch.ones(3, dtype=torch.float64))  # another signature, the same cause
    assert [str(one.message) for one in caught] == [
        "draw runs eagerly, as full_graph=False allows: [ST204] `randbelow` returns a different "
        "value each time, and a program would keep the first one\n"
        f"  at {__file__}:{line}, in draw\n"
        "        return x * secrets.randbelow(1 << 40)\n"
        "                   ^\n"
        "  with x: f32[2]\n"
        "  fix: call it outside and pass the value, or use torch's functions"
    ]
    assert caught[0].filename == __file__
    assert not torch.equal(first, second)
    assert static.concrete_programs == ()


def test_fallbacks_lists_each_cause_once_with_its_line():
    static = stator.to_static(draw, full_graph=False)
    with pytest.warns(UserWarning, match="draw runs eagerly"):
        static(torch.ones(1))
    for size in (1, 2, 3):
        static(torch.ones(size, 1))
    (fallback,) = static.fallbacks
    assert fallback.function == "draw"
    assert fallback.place.line == draw.__code__.co_firstlineno + 1
    assert fallback.reason == (
        "`randbelow` returns a different value each time, and a program would keep the first one"
    )


def test_with_full_graph_what_cannot_be_captured_raises_and_nothing_is_listed():
    static = stator.to_static(draw)
    for _ in range(2):
        with pytest.raises(UnsupportedCall):
            static(torch.ones(2))
    assert static.fallbacks == ()


def test_a_static_callee_of_a_function_that_falls_back_is_captured_alone():
    @stator.to_static
    def helper(x):
        return x + 1 if x.sum() > 0 else x - 1

    def outer(x):
        return helper(x) * (0 * secrets.randbelow(6) + 1)

    static = stator.to_static(outer, full_graph=False)
    with pytest.warns(UserWarning, match="outer runs eagerly"):
        assert static(torch.ones(2)).tolist() == [2, 2]
    assert static(-torch.ones(2)).tolist() == [-2, -2]
    assert len(helper.concrete_programs) == 1
    assert static.concrete_programs == ()


def test_a_callee_that_falls_back_makes_a_full_graph_caller_raise():
    helper = stator.to_static(draw, full_graph=False)
    static = stator.to_static(lambda x: helper(x) + 1)
    with pytest.raises(UnsupportedCall):
        static(torch.ones(2))


def test_calls_that_can_be_captured_are_where_others_fall_back():
    def either(x, noisy):
        return x * secrets.randbelow(6) if noisy else x + 1

    static = stator.to_static(either, full_graph=False)
    with pytest.warns(UserWarning, match="either runs eagerly"):
        static(torch.ones(2), True)
    assert static(torch.ones(2), False).tolist() == [2, 2]
    assert len(static.concrete_programs) == 1
    assert len(static.fallbacks) == 1


def test_an_error_of_the_users_is_no_reason_to_fall_back():
    def fail(x):
        raise KeyError("mine")

    static = stator.to_static(fail, full_graph=False)
    with pytest.raises(KeyError, match="mine"):
        static(torch.ones(2))
    assert static.fallbacks == ()


def test_a_build_strategy_must_be_one():
    with pytest.raises(ConversionError) as caught:
        stator.to_static(abs, build_strategy=object())
    assert said(caught.value) == (
        "[ST100] build_strategy is an object\n  fix: give a `stator.static.BuildStrategy`"
    )


def doubled(x):
    twice = x + x
    again = x + x
    if twice.sum() > 0:
        again = again * torch.exp(twice)
    return twice * again


@pytest.mark.parametrize("inplace", [False, True])
def test_a_build_strategy_changes_the_work_and_not_the_results(inplace):
    strategy = stator.static.BuildStrategy(enable_inplace=inplace)
    static = stator.to_static(doubled, build_strategy=strategy)
    for x in (torch.ones(3), -torch.ones(3), torch.ones(5)):
        assert torch.equal(static(x), doubled(x))
        leaf, other = x.clone().requires_grad_(), x.clone().requires_grad_()
        static(leaf).sum().backward()
        doubled(other).sum().backward()
        assert torch.equal(leaf.grad, other.grad)
    with torch.no_grad(), OpCount() as plain:
        stator.to_static(doubled)(torch.ones(3))
    with torch.no_grad(), OpCount() as less:
        static(torch.ones(3))
    assert less.adds == plain.adds - 1


class OpCount(TorchDispatchMode):
    """Counts additions of real tensors."""

    adds = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        is_fake = any(isinstance(arg, FakeTensor) for arg in args)
        self.adds += func is torch.ops.aten.add.Tensor and not is_fake
        return func(*args, **(kwargs or {}))


def test_a_build_strategy_goes_with_methods_copies_and_pickles():
    strategy = stator.static.BuildStrategy(merge_equal_ops=False)

    class Model(torch.nn.Module):
        @stator.to_static(build_strategy=strategy)
        def forward(self, x):
            return doubled(x)

    model = copy.deepcopy(Model())
    assert torch.equal(model(torch.ones(2)), doubled(torch.ones(2)))
    assert model.forward._build_strategy == strategy
    assert (
        stator.to_static(doubled, build_strategy=strategy).specify([])._build_strategy is strategy
    )
