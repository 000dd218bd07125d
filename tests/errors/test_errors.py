"""The text of an error: place, variables, fix and edit, whoever raises it and wherever."""

import copy
import pickle

import pytest
import torch

import stator
from stator import InputSpec, errors
from stator.errors import StatorError, all_errors
from stator.location import Location
from tests.capture.oracle import refusal
from tests.docs.refusals import error_calls


@pytest.mark.parametrize("cls", all_errors().values())
def test_an_error_made_without_a_place_has_that_of_the_call(cls):
    error = cls("no")
    assert error.at.file == __file__
    assert error.at.function == "test_an_error_made_without_a_place_has_that_of_the_call"


def test_every_error_that_the_source_makes_has_a_way_out():
    classes = {cls.__name__: cls for cls in all_errors().values()}
    without = [
        f"{where}:{call.lineno}"
        for where, call in error_calls()
        if "fix" not in {item.arg for item in call.keywords} and not classes[call.func.id].otherwise
    ]
    assert without == []


def test_an_edit_is_shown_as_a_small_diff():
    def f(x):
        try:
            x = x + 1
        except* ValueError:  # as it was
            x = x - 1
        return x

    error = refusal(errors.UnsupportedSyntax, f, torch.ones(2))
    assert str(error) == (
        "[ST102] `except*` cannot be converted\n"
        f"  at {__file__}:{f.__code__.co_firstlineno + 3}, in f\n"
        "            except* ValueError:  # as it was\n"
        "            ^\n"
        "  fix: use `except`\n"
        "  edit:\n"
        "    - except* ValueError:  # as it was\n"
        "    + except ValueError:  # as it was"
    )


def test_a_line_that_the_edit_does_not_fit_is_left_alone():
    place = Location(__file__, 1, 0, "f")
    assert StatorError("no", at=place, edit=("nothing like this", "x")).diff == ()


def test_an_error_is_pickled_and_copied_with_all_it_says():
    error = errors.SpecMismatch("no", at=Location("model.py", 7, 0, "f"), fix="yes")
    error.involved = {"x": "f32[2]"}
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is errors.SpecMismatch
        assert str(again) == str(error)


def test_the_variables_of_the_line_are_named_with_what_they_are():
    def f(x, names, count):
        total, done = 0, []
        while x.sum() > total:
            total = total + count
            done.append(x)
        return id(x) + total + len(done) + len(names)

    error = refusal(errors.UnsupportedCall, f, torch.ones(2, 3), ("a", "b"), 2)
    assert error.involved == {
        "x": "f32[2, 3]", "total": "int", "done": "list of data-dependent length",
        "names": "tuple of 2",
    }  # fmt: skip


def test_a_variable_that_depends_on_the_path_is_named_by_its_forms():
    def f(x):
        y = None
        if x.sum() > 0:
            y = x
        return id(y)

    error = refusal(errors.UnsupportedCall, f, torch.ones(2))
    assert error.involved == {"y": "f32[2] or None"} or error.involved == {"y": "None or f32[2]"}


# ---- while a program runs


def checked(x, n):
    assert n < 5, "too many"
    return x * n


def raising(x, n):
    if n > 5:
        raise KeyError("too many")
    return x * n


def indexed(x, n):
    return [x, x][int(n)]


def call_of(function, tmp_path, loaded):
    if not loaded:
        static = stator.to_static(function)
        return lambda *args: static(*args)
    spec = [InputSpec([4], "float32"), InputSpec([], "int64")]
    stator.save(stator.to_static(function), tmp_path / "model", input_spec=spec)
    return stator.load(tmp_path / "model")


@pytest.mark.parametrize("loaded", [False, True], ids=["static", "loaded"])
@pytest.mark.parametrize(
    ("function", "error", "offset", "given"),
    [
        (checked, AssertionError, 1, "  called with x: f32[4], n: i64[]"),
        (raising, KeyError, 2, "  called with x: f32[4], n: i64[]"),
        (indexed, IndexError, 1, None),
    ],
)
def test_an_error_of_a_run_names_the_line_and_what_was_there(
    function, error, offset, given, loaded, tmp_path
):
    call = call_of(function, tmp_path, loaded)
    call(torch.ones(4), torch.tensor(1))
    with pytest.raises(error) as caught:
        call(torch.ones(4), torch.tensor(9))
    line = function.__code__.co_firstlineno + offset
    place, *rest = caught.value.__notes__
    head = place.splitlines()[0]
    assert head.startswith("  in the program at ")
    assert head.endswith(f"test_errors.py:{line}, in {function.__name__}")
    if given is not None:
        assert rest == [given]


@pytest.mark.parametrize("loaded", [False, True], ids=["static", "loaded"])
def test_an_error_of_an_op_names_the_line_and_the_sizes_it_was_given(loaded, tmp_path):
    def product(x, n):
        return x.repeat(int(n)).view(-1, 2) @ x.repeat(int(n)).view(-1, 4)

    call = call_of(product, tmp_path, loaded)
    assert call(torch.ones(4), torch.tensor(2)).shape == (4, 4)
    with pytest.raises((RuntimeError, errors.SizeCheckFailed)) as caught:
        call(torch.ones(4), torch.tensor(3))
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert f"test_errors.py:{product.__code__.co_firstlineno + 1}, in product" in text
    assert "f32[" in text


def edits_of(attempt):
    with pytest.raises(StatorError) as caught:
        attempt()
    return caught.value.diff


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        return x * scale

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Coder(torch.nn.Module):
    def encode(self, x):
        return x + 1


def test_a_name_that_is_nearly_right_is_put_right():
    spec = [InputSpec([2])]
    assert edits_of(lambda: stator.set_code_level("lops"))[2] == (
        '    + assert edits_of(lambda: stator.set_code_level("loops"))[2] == ('
    )
    assert edits_of(lambda: stator.static.BuildStrategy(enable_inplac=True))[2] == (
        "    + assert edits_of(lambda: stator.static.BuildStrategy(enable_inplace=True))[2] == ("
    )
    assert edits_of(lambda: stator.save(Coder(), "x", methods={"encod": spec}))[2] == (
        '    + assert edits_of(lambda: stator.save(Coder(), "x", methods={"encode": spec}))[2] == ('
    )
    assert edits_of(lambda: errors.explain("ST24"))[2] == (
        '    + assert edits_of(lambda: errors.explain("ST204"))[2] == ('
    )
    assert edits_of(lambda: stator.set_code_level("zzz")) == ()


def test_a_keyword_of_apply_is_given_by_position():
    static = stator.to_static(lambda x: Scaled.apply(x, scale=2))
    assert edits_of(lambda: static(torch.ones(2))) == (
        "  edit:",
        "    - static = stator.to_static(lambda x: Scaled.apply(x, scale=2))",
        "    + static = stator.to_static(lambda x: Scaled.apply(x, 2))",
    )


@pytest.mark.parametrize("kind", ["program", "saved"])
def test_what_a_run_raises_in_a_loop_names_the_line_and_the_inputs_as_such(tmp_path, kind):
    def grown(x):
        while x.shape[0] < 9:
            x = torch.cat([x, x])
            if x.sum() > 3:
                raise ValueError("too much")
        return x

    run = stator.to_static(grown, [InputSpec([None], name="x")])
    if kind == "saved":
        stator.save(grown, tmp_path / "m", input_spec=[InputSpec([None], name="x")])
        run = stator.load(tmp_path / "m")
    with pytest.raises(ValueError, match="too much") as caught:
        run(torch.ones(2))
    place, given = caught.value.__notes__[:2]
    assert f"test_errors.py:{grown.__code__.co_firstlineno + 4}, in grown" in place
    assert given == "  called with x: f32[2]"  # where the variable x is f32[4] by then
