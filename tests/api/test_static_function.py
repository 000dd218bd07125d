"""StaticFunction: when a call is captured, when a program is used again, and why."""

import copy
import functools
import pickle
import random
import sys
import threading
import types
import warnings

import pytest
import torch

import stator
from stator import InputSpec
from stator.api import static_function
from stator.errors import SpecMismatch
from tests.capture.oracle import check
from tests.said import said

SCALE = 2.0
TABLE = {"a": 2.0}
SCALES = [2.0, 3.0]
LOOKUP = {1: 10.0, 2: 20.0}
settings = types.ModuleType("settings")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(2, 2)])
        self.tail = torch.nn.Sequential(torch.nn.Linear(2, 2))
        self.scale = 2.0

    def forward(self, x):
        x = self.linear(x)
        for block in self.blocks:
            x = block(x)
        x = self.tail(x) * self.scale
        return x + 1 if hasattr(self, "extra") else x


def agree_after(model, change):
    """Fail unless a static model follows `change` as a plain copy does."""
    plain, x = copy.deepcopy(model), torch.randn(3, 2)
    static = stator.to_static(model)
    assert torch.equal(static(x), plain(x))
    change(plain)
    change(static)
    assert torch.equal(static(x), plain(x))


def reasons(static):
    return [concrete.reason for concrete in static.concrete_programs]


# ---- when a call is captured


def test_a_second_call_of_one_kind_runs_the_same_program():
    static = check(lambda x: x + 1, (torch.ones(2),), (torch.zeros(2),))
    assert len(static.concrete_programs) == 1


def test_another_dtype_is_captured_again():
    static = check(lambda x: x + 1, (torch.ones(2),), (torch.ones(2, dtype=torch.int64),))
    assert reasons(static) == [
        "it was called for the first time", "the dtype of x is int64, not float32",
    ]  # fmt: skip


@pytest.mark.parametrize("value", [3, 2.0, True, None, "a", (2,)])
def test_another_python_argument_is_captured_again(value):
    static = check(lambda x, k: (x, k), (torch.ones(1), 2), (torch.ones(1), value))
    assert len(static.concrete_programs) == 2


def test_keyword_arguments_are_followed():
    static = stator.to_static(lambda x, *, k=1.0: x * k)
    assert [static(torch.ones(1), k=k).item() for k in (2.0, 3.0)] == [2, 3]
    assert static(torch.ones(1)).item() == 1


def test_a_changed_global_is_captured_again(monkeypatch):
    static = stator.to_static(lambda x: x * SCALE)
    assert static(torch.ones(1)).item() == 2
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert static(torch.ones(1)).item() == 5
    assert reasons(static)[1] == "global SCALE is 5.0, not 2.0"


def test_a_global_put_back_finds_its_first_program(monkeypatch):
    static = stator.to_static(lambda x: x * SCALE)
    static(torch.ones(1))
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "SCALE", 5.0)
        static(torch.ones(1))
    assert static(torch.ones(1)).item() == 2
    assert len(static.concrete_programs) == 2


def test_a_changed_closure_variable_is_captured_again():
    scale = 2.0
    static = stator.to_static(lambda x: x * scale)
    assert static(torch.ones(1)).item() == 2
    scale = 3.0
    assert static(torch.ones(1)).item() == 3
    assert reasons(static)[1] == "variable scale is 3.0, not 2.0"


def test_a_changed_module_attribute_is_captured_again():
    model = stator.to_static(Model())
    x = torch.randn(3, 2)
    first = model(x)
    model.scale = 4.0
    assert torch.equal(model(x), first * 2)
    assert reasons(model.forward)[1] == "Model.scale is 4.0, not 2.0"


def test_training_and_evaluation_are_two_programs():
    class Drop(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = torch.nn.Dropout(0.5)

        def forward(self, x):
            return self.drop(x)

    model, x = stator.to_static(Drop()), torch.ones(100)
    assert not torch.equal(model(x), x)
    model.eval()
    assert torch.equal(model(x), x)
    model.train()
    assert not torch.equal(model(x), x)
    assert len(model.forward.concrete_programs) == 2


def test_grad_mode_is_part_of_what_a_program_holds_for():
    static = stator.to_static(lambda x: x + 1 if torch.is_grad_enabled() else x - 1)
    assert static(torch.ones(1)).item() == 2
    with torch.no_grad():
        assert static(torch.ones(1)).item() == 0


def test_a_changed_item_of_a_global_dict_is_captured_again(monkeypatch):
    static = stator.to_static(lambda x: x * TABLE["a"])
    assert static(torch.ones(1)).item() == 2
    monkeypatch.setitem(TABLE, "a", 7.0)
    assert static(torch.ones(1)).item() == 7


def test_a_changed_attribute_of_an_argument_is_captured_again():
    config = types.SimpleNamespace(scale=2.0)
    static = stator.to_static(lambda x, c: x * c.scale)
    assert static(torch.ones(1), config).item() == 2
    config.scale = 3.0
    assert static(torch.ones(1), config).item() == 3


def test_a_rebound_helper_is_captured_again(monkeypatch):
    static = stator.to_static(lambda x: helper(x))
    assert static(torch.ones(1)).item() == 2
    monkeypatch.setitem(globals(), "helper", lambda x: x + 10)
    assert static(torch.ones(1)).item() == 11


def helper(x):
    return x + 1


def test_a_replaced_submodule_is_captured_again():
    agree_after(Model(), lambda m: setattr(m, "linear", torch.nn.Identity()))


def test_a_replaced_parameter_of_a_users_module_is_captured_again():
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x * self.weight

    agree_after(Own(), lambda m: setattr(m, "weight", torch.nn.Parameter(torch.zeros(2))))


def test_parameters_written_in_place_are_seen_without_a_capture():
    def zero(model):
        with torch.no_grad():
            model.linear.weight.zero_()

    model = Model()
    agree_after(model, zero)
    assert len(model.forward.concrete_programs) == 1


# ---- what changes outside without being noticed


def test_a_global_list_that_grows_is_captured_again(monkeypatch):
    def scaled(x):
        for scale in SCALES:
            x = x * scale
        return x

    static = stator.to_static(scaled)
    assert static(torch.ones(1)).item() == 6
    monkeypatch.setitem(globals(), "SCALES", SCALES)
    SCALES.append(5.0)
    try:
        assert static(torch.ones(1)).item() == 30
    finally:
        SCALES.pop()


def test_a_key_added_to_a_global_dict_is_captured_again(monkeypatch):
    static = stator.to_static(lambda x: x * 3 if "b" in TABLE else x)
    static(torch.ones(1))
    monkeypatch.setitem(TABLE, "b", 1.0)
    assert static(torch.ones(1)).item() == 3


def test_items_added_to_a_global_dict_are_captured_again(monkeypatch):
    def scaled(x):
        for _, scale in TABLE.items():
            x = x * scale
        return x

    static = stator.to_static(scaled)
    assert static(torch.ones(1)).item() == 2
    monkeypatch.setitem(TABLE, "b", 3.0)
    assert static(torch.ones(1)).item() == 6


def test_a_value_looked_up_by_a_captured_key_is_watched(monkeypatch):
    static = stator.to_static(lambda x: x * LOOKUP[int(x)])
    assert static(torch.tensor(1)).item() == 10
    monkeypatch.setitem(LOOKUP, 1, 5.0)
    assert static(torch.tensor(1)).item() == 5


def test_a_changed_attribute_of_a_python_module_is_captured_again():
    settings.scale = 2.0
    static = stator.to_static(lambda x: x * settings.scale)
    assert static(torch.ones(1)).item() == 2
    settings.scale = 3.0
    assert static(torch.ones(1)).item() == 3


def test_an_attribute_that_appears_is_captured_again():
    agree_after(Model(), lambda m: setattr(m, "extra", True))


def test_a_block_added_to_a_module_list_is_captured_again():
    agree_after(Model(), lambda m: m.blocks.append(torch.nn.ReLU()))


def test_a_block_added_to_a_sequential_is_captured_again():
    agree_after(Model(), lambda m: m.tail.append(torch.nn.ReLU()))


def test_a_replaced_parameter_of_a_library_module_is_captured_again():
    def replace(model):
        model.linear.weight = torch.nn.Parameter(torch.ones(2, 2))

    agree_after(Model(), replace)


def test_a_hook_registered_later_is_captured_again():
    agree_after(
        Model(), lambda m: m.linear.register_forward_hook(lambda module, args, out: out * 2)
    )


def test_a_set_argument_that_grows_is_captured_again():
    static, given = stator.to_static(lambda x, s: x * sum(s)), {1, 2}
    assert static(torch.ones(1), given).item() == 3
    given.add(5)
    assert static(torch.ones(1), given).item() == 8


def test_an_array_argument_that_is_written_is_seen():
    given = torch.ones(2).numpy()
    static = stator.to_static(lambda x, a: x * float(a.sum()))
    assert static(torch.ones(1), given).item() == 2
    given[0] = 9
    assert static(torch.ones(1), given).item() == 10


def test_random_numbers_of_python_are_drawn_by_every_run():
    static = stator.to_static(lambda x: x * random.random())
    random.seed(0)
    want = [random.random() for _ in range(2)]
    random.seed(0)
    got = [static(torch.ones((), dtype=torch.float64)).item() for _ in range(2)]
    assert got == want


# ---- sizes


def test_a_size_that_changes_becomes_dynamic_at_the_second_capture():
    sizes = (3, 4, 7, 1, 0, 3)
    static = check(lambda x: (x * 2).sum(), *((torch.ones(k),) for k in sizes))
    assert reasons(static) == [
        "it was called for the first time",
        "x.shape[0] is 4, not 3",
    ]
    assert [concrete.sizes for concrete in static.concrete_programs] == [((3,),), ((None,),)]


def test_only_the_size_that_changes_becomes_dynamic():
    static = check(lambda x: x * 2, (torch.ones(3, 5),), (torch.ones(4, 5),))
    assert static.concrete_programs[1].sizes == ((None, 5),)


def test_a_size_of_one_at_the_first_call_is_no_broadcast_later():
    check(lambda x, y: x + y, (torch.ones(1), torch.ones(3)), (torch.ones(3), torch.ones(3)))


def test_a_spec_makes_one_program_for_all_sizes():
    sizes = (5, 1, 0, 2)
    static = check(
        lambda x: x.mean(0) if x.shape[0] else x.sum(0),
        *((torch.ones(k, 2),) for k in sizes), spec=[InputSpec([None, 2])],
    )  # fmt: skip
    assert len(static.concrete_programs) == 1


def test_a_call_that_does_not_fit_its_spec_is_refused_by_its_text():
    static = stator.to_static(lambda x: x, [InputSpec([None, 2])])
    with pytest.raises(SpecMismatch) as caught:
        static(torch.ones(3))
    assert said(caught.value) == (
        "[ST301] x is float32[3], its spec says float32[any, 2]\n"
        "  fix: pass a tensor that fits, or change the spec"
    )


def test_a_call_with_fewer_arguments_than_its_spec_is_refused_by_its_text():
    def f(x, y=1):
        return x + y

    static = stator.to_static(f, [InputSpec([1]), InputSpec([1])])
    with pytest.raises(SpecMismatch) as caught:
        static(torch.ones(1))
    assert said(caught.value) == (
        "[ST301] `y` of f is not given, and input_spec has it\n"
        "  fix: pass it, or leave it out of the spec"
    )


def test_a_spec_counts_for_arguments_by_keyword():
    def f(x, y):
        return x + y

    static = stator.to_static(f, [InputSpec([None]), InputSpec([None])])
    for size in (1, 2, 3):
        assert torch.equal(static(torch.ones(size), y=torch.ones(size)), torch.full((size,), 2.0))
    assert len(static.concrete_programs) == 1
    with pytest.raises(SpecMismatch, match=r"y is float32\[1, 1\], its spec says float32\[any\]"):
        static(torch.ones(1), y=torch.ones(1, 1))


def test_a_spec_is_a_dict_by_the_names_of_parameters():
    def f(x, mask=None, *, scale):
        return x * scale if mask is None else x * scale * mask

    static = stator.to_static(f, {"scale": InputSpec([]), "x": InputSpec([None, 2])})
    for rows in (1, 3):
        x, scale = torch.rand(rows, 2), torch.rand(())
        assert torch.equal(static(x, scale=scale), x * scale)
    assert len(static.concrete_programs) == 1


def test_a_dict_spec_with_an_unknown_name_is_refused_by_its_text():
    static = stator.to_static(lambda feats: feats, {"feat": InputSpec([1])})
    with pytest.raises(SpecMismatch) as caught:
        static(torch.ones(1))
    assert said(caught.value) == (
        "[ST301] <lambda> has no parameter `feat`\n  fix: name one of feats"
    )


def test_arguments_beyond_the_spec_are_taken_as_they_are():
    static = stator.to_static(lambda x, k: x * k, [InputSpec([None])])
    assert [static(torch.ones(1), k).item() for k in (2, 3)] == [2, 3]


# ---- looking inside


def test_the_capture_limit_warns_once_with_the_last_reason():
    table = types.SimpleNamespace(**{f"n{k}": k for k in range(40)})
    static = stator.to_static(lambda x, k: x + getattr(table, f"n{k}"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(static_function.CAPTURE_LIMIT + 2):
            static(torch.ones(1), k)
    assert [str(one.message) for one in caught] == [
        "<lambda> has been captured 32 times; the last time because k is 31, not 30. "
        "Pass what changes as a tensor, or give an input_spec. At most 64 programs are kept."
    ]


def test_the_capture_limit_warning_points_at_the_call():
    table = types.SimpleNamespace(**{f"n{k}": k for k in range(40)})
    static = stator.to_static(lambda x, k: x + getattr(table, f"n{k}"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(static_function.CAPTURE_LIMIT):
            static(torch.ones(1), k)
    assert caught[0].filename == __file__


def test_there_is_no_program_before_a_call():
    def f(x):
        return x

    with pytest.raises(SpecMismatch) as caught:
        _ = stator.to_static(f).program
    assert said(caught.value) == (
        "[ST301] f has not been captured yet\n"
        "  fix: call it once, or use `stator.save` with an input_spec"
    )


def test_program_is_the_last_capture():
    static = check(lambda x: x + 1, (torch.ones(2),), (torch.ones(2, dtype=torch.int64),))
    assert static.program is static.concrete_programs[-1].program


def test_code_is_python():
    compile(stator.to_static(helper).code, "code", "exec")


def test_the_repr_counts_the_captures():
    static = stator.to_static(helper)
    assert repr(static) == "<StaticFunction helper, 0 captured>"


def test_specify_gives_a_new_function_and_leaves_the_first():
    static = stator.to_static(helper)
    static(torch.ones(2))
    other = static.specify([InputSpec([None])])
    assert other.concrete_programs == ()
    assert other(torch.ones(2)).tolist() == other(torch.ones(3)).tolist()[:2]
    assert len(other.concrete_programs) == len(static.concrete_programs) == 1


def test_rollback_gives_the_function_as_it_was_written():
    assert stator.to_static(helper).rollback() is helper


def test_rollback_takes_the_static_forward_off_the_module():
    model = stator.to_static(Model())
    model.forward.rollback()
    assert "forward" not in vars(model)
    assert model(torch.ones(1, 2)).shape == (1, 2)


def test_under_torch_compile_the_function_itself_runs(monkeypatch):
    static = stator.to_static(helper)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert static(torch.ones(1)).item() == 2
    assert static.concrete_programs == ()


# ---- copies


def test_a_static_module_can_be_deep_copied():
    model = stator.to_static(torch.nn.Linear(2, 2))
    model(torch.ones(1, 2))
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.weight.zero_()
        other.bias.zero_()
    assert other(torch.ones(1, 2)).tolist() == [[0, 0]]
    assert model(torch.ones(1, 2)).tolist() != [[0, 0]]


class Weighted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    @stator.to_static
    def forward(self, x):
        return x * self.weight


def test_a_module_with_a_static_forward_can_be_deep_copied_after_a_call():
    model = Weighted()
    model(torch.ones(2))
    assert copy.deepcopy(model)(torch.ones(2)).tolist() == [1, 1]


def test_a_shallow_copy_runs_its_own_method():
    model = Weighted()
    model(torch.ones(2))
    other = copy.copy(model)
    other._parameters = {"weight": torch.nn.Parameter(torch.full((2,), 5.0))}
    assert other(torch.ones(2)).tolist() == [5, 5]


def test_a_module_with_a_static_forward_can_be_pickled_after_a_call():
    model = Weighted()
    model(torch.ones(2))
    assert pickle.loads(pickle.dumps(model))(torch.ones(2)).tolist() == [1, 1]


# ---- fake tensors stay inside


def test_a_cached_helper_does_not_keep_a_tensor_of_the_capture():
    @functools.lru_cache
    def twos(count):
        return torch.full((count,), 2.0)

    static = stator.to_static(lambda x: x + twos(2))
    static(torch.ones(2))
    assert type(twos(2)) is torch.Tensor


def test_a_cached_property_does_not_keep_a_tensor_of_the_capture():
    class Masked(torch.nn.Module):
        @functools.cached_property
        def mask(self):
            return torch.ones(2) * 3

        def forward(self, x):
            return x * self.mask

    model = stator.to_static(Masked())
    model(torch.ones(2))
    assert type(model.mask) is torch.Tensor


# ---- threads


def test_two_threads_that_call_first_share_one_capture():
    def settle(x):
        while x.sum() < 10:
            x = x * 2
        return x

    static, results, start = stator.to_static(settle), {}, threading.Barrier(2)

    def work(name):
        start.wait()
        results[name] = static(torch.full((2,), float(name)))

    threads = [threading.Thread(target=work, args=(name,)) for name in (1, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: result.tolist() for name, result in results.items()} == {1: [8, 8], 3: [6, 6]}
    assert len(static.concrete_programs) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_two_threads_may_capture_two_functions_at_once():
    for _ in range(40):
        functions = [stator.to_static(lambda x, k=k: x * k if x.sum() > 0 else x) for k in (2, 3)]
        results, start = {}, threading.Barrier(2)

        def work(name, functions=functions, results=results, start=start):
            start.wait()
            results[name] = functions[name](torch.ones(1)).item()

        threads = [threading.Thread(target=work, args=(name,)) for name in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == {0: 2, 1: 3}


@pytest.mark.parametrize("round_", range(20))
def test_many_threads_that_call_first_get_eagers_answers_from_one_capture(round_):
    def settle(x):
        while x.sum() < 10:
            x = x * 2
        return x

    results = in_threads(
        stator.to_static(settle), settle, [torch.full((2,), 1.0 + k) for k in range(4)]
    )
    assert all(torch.equal(got, expected) for got, expected in results)


def in_threads(static, eager, inputs, calls=5):
    """(static, eager) results of each input, every one called by a thread of its own at once."""
    start, results, errors = threading.Barrier(len(inputs)), [], []

    def work(x):
        start.wait()
        try:
            for _ in range(calls):
                results.append((static(x), eager(x)))
        except Exception as error:  # noqa: BLE001  # shown by the assert below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(results) == calls * len(inputs)
    return results


def test_threads_that_call_with_many_sizes_and_dtypes_get_eagers_answers():
    def scaled(x):
        return x * x.shape[0] if x.sum() > 0 else x

    inputs = [torch.ones(k % 4 + 1, dtype=(torch.float32, torch.float64)[k % 2]) for k in range(8)]
    for _ in range(5):
        results = in_threads(stator.to_static(scaled), scaled, inputs)
        for got, expected in results:
            assert got.dtype == expected.dtype
            assert got.tolist() == expected.tolist()


def test_grad_mode_is_each_threads_own():
    static, start, seen = stator.to_static(lambda x: x * 2), threading.Barrier(2), {}
    x = torch.ones(2, requires_grad=True)

    def work(enabled):
        with torch.set_grad_enabled(enabled):
            start.wait()
            seen[enabled] = {static(x).requires_grad for _ in range(50)}

    threads = [threading.Thread(target=work, args=(enabled,)) for enabled in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {True: {True}, False: {False}}
    assert len(static.concrete_programs) == 2


def test_a_global_that_a_thread_changes_is_followed_by_the_other():
    table = {"k": 1}
    static = stator.to_static(lambda x: x * table["k"])
    static(torch.ones(1))

    def write():
        for k in range(2, 12):
            table["k"] = k

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert static(torch.ones(1)).item() == 11


class Kept(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    @stator.to_static(input_spec=[stator.InputSpec([None, 2])])
    def forward(self, x):
        return self.linear(x)


@stator.to_static
def plus_one(x):
    return x + 1


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, copy.copy, lambda model: pickle.loads(pickle.dumps(model))]
)
@pytest.mark.parametrize("make", [Kept, lambda: stator.to_static(torch.nn.Linear(2, 2))])
def test_a_module_with_a_static_forward_is_copied_with_it(make, copied):
    model, x = make(), torch.randn(3, 2)
    want = model(x)
    other = copied(model)
    assert torch.equal(other(x), want)
    assert isinstance(other.forward, stator.StaticFunction)
    assert other.forward.input_spec == model.forward.input_spec


def test_a_copy_of_a_module_runs_on_weights_of_its_own():
    for model in (Kept(), stator.to_static(torch.nn.Linear(2, 2))):
        x = torch.randn(3, 2)
        want = model(x)
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            with torch.no_grad():
                for parameter in other.parameters():
                    parameter.zero_()
            assert torch.equal(other(x), torch.zeros(3, 2))
            assert torch.equal(model(x), want)


def test_a_static_function_of_a_module_is_pickled_by_its_name():
    sys.modules.setdefault(plus_one.__module__, sys.modules[__name__])
    assert pickle.loads(pickle.dumps(plus_one)) is plus_one
