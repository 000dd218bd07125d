"""Inputs as tensors and specs, bound to a function's parameters."""

from pathlib import Path

import numpy
import pytest
import safetensors.torch
import torch

from stator import InputSpec
from stator.cli.failures import CommandFailure
from stator.cli.inputs import arguments_for, read_inputs
from stator.cli.objects import load_subject


def values(*texts, **options):
    return [given.value for given in read_inputs(texts, **options)]


def test_a_seed_draws_the_same_and_another_something_else():
    (one,), (again,), (other,) = (values("f32[3,2]", seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert (one.dtype, one.shape) == (torch.float32, (3, 2))


def test_open_sizes_of_one_name_are_one_size():
    x, y, z = values("f32[B,T]", "f32[T,None]", "f32[B]", sizes=["B=6", "3"])
    assert x.shape[0] == z.shape[0] == 6
    assert x.shape[1] == y.shape[0]
    assert y.shape[1] == 3
    assert len({x.shape[0], x.shape[1], y.shape[1]}) == 3  # names are not mixed up by chance


def test_every_dtype_can_be_drawn():
    for dtype in ("float16", "bfloat16", "float64", "int8", "uint8", "int64", "uint16", "bool",
                  "complex64", "float8_e5m2"):  # fmt: skip
        (drawn,) = values(f"{dtype}[50]")
        assert drawn.dtype == getattr(torch, dtype)


def test_a_range_is_kept():
    (whole,) = values("i64[1000]@3..5")
    assert {*whole.tolist()} == {3, 4, 5}
    (real,) = values("f32[1000]@-2..-1")
    assert -2 <= real.min() < real.max() <= -1


def test_given_values_are_taken():
    (x,) = values("x:f64[None]=[1, 2.5]")
    assert torch.equal(x, torch.tensor([1, 2.5], dtype=torch.float64))
    (y,) = values("x:bool[2]=[0, True]")
    assert torch.equal(y, torch.tensor([False, True]))
    assert values("x:i64[0]=[]")[0].dtype == torch.int64


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x:f64[3]=[1, 2]", r"the values have the sizes \[2\], not \[3\]"),
        ("x:f32[2]=[[1],[2, 3]]", "is not a tensor of float32"),
        ("x:f32[1]=['a']", "is not a tensor of float32"),
        ("x:i64[1]=[1.5]", r"\[1.5\] is not a tensor of int64"),
        ("x:bool[1]=[2]", r"\[2\] is not a tensor of bool"),
        ("x:u8[1]=[300]", r"\[300\] is not a tensor of uint8"),
        ("x:u8[3]@0..999", "0..999 is not a range of uint8"),
        ("x:i64[3]@0..1.5", "0..1.5 is not a range of int64"),
        ("x:bool[3]@0..1", "bool takes no range"),
        ("nowhere.npy", "there is no file nowhere.npy"),
    ],
)
def test_values_that_are_no_tensor_are_refused(text, message):
    with pytest.raises(CommandFailure, match=message):
        values(text)


def test_a_spec_has_open_sizes_and_a_file_fixed_ones(folder):
    numpy.save("x.npy", numpy.ones((2, 3), numpy.float32))
    opened, fixed, number = read_inputs(["x:f32[None,n,3]", "x=x.npy", "n=3"])
    assert opened.spec == InputSpec([None, "n", 3], "float32", "x")
    assert fixed.spec == InputSpec([2, 3], "float32", "x")
    assert number.spec == number.value == 3


def test_files_give_one_array_or_several(folder):
    numpy.save("x.npy", numpy.arange(3))
    numpy.savez("xy.npz", x=numpy.ones(2), y=numpy.zeros(3))
    safetensors.torch.save_file({"w": torch.ones(2, dtype=torch.bfloat16)}, "w.safetensors")
    assert torch.equal(values("a=x.npy")[0], torch.arange(3))
    assert [one.name for one in read_inputs(["xy.npz"])] == ["x", "y"]
    assert torch.equal(values("y=xy.npz")[0], torch.zeros(3, dtype=torch.float64))
    assert values("v=w.safetensors")[0].dtype == torch.bfloat16
    with pytest.raises(CommandFailure, match="has no array `z`; it has x, y"):
        values("z=xy.npz")


@pytest.mark.parametrize("name", ["junk.npy", "junk.npz", "junk.safetensors", "objects.npy"])
def test_a_damaged_file_is_refused_and_no_pickle_is_read(folder, name):
    (folder / name).write_bytes(b"PK\x03\x04 no archive")
    if name == "objects.npy":
        numpy.save(name, numpy.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(CommandFailure, match=f"--input: {name} cannot be read"):
        values(name)


def test_zero_dimensional_and_fortran_ordered_arrays_keep_their_shape(folder):
    numpy.save("scalar.npy", numpy.float32(3))
    numpy.save("columns.npy", numpy.asfortranarray(numpy.arange(6).reshape(2, 3)))
    assert values("scalar.npy")[0].shape == ()
    assert torch.equal(values("columns.npy")[0], torch.arange(6).reshape(2, 3))


# ---- bound to parameters


def test_names_and_positions_go_to_their_parameters(folder):
    pair = load_subject("net.py:pair")
    given = arguments_for(pair, ["second:f32[2]", "f32[3]"])
    assert [one.name for one in given.positional] == ["first", "second"]
    assert [one.shape for one in given.specs] == [(3,), (2,)]
    assert [tuple(one.shape) for one in given.args] == [(3,), (2,)]


def test_what_is_left_out_before_a_given_one_has_its_default(folder):
    subject = load_subject("net.py:Net")
    assert arguments_for(subject, ["x:f32[4]"]).args[1:] == ()
    assert arguments_for(subject, ["x:f32[4]", "limit=0.25"]).args[1:] == (0.25,)


def test_with_an_argument_by_name_alone_the_spec_is_by_name(folder):
    given = arguments_for(load_subject("net.py:Net"), ["x:f32[4]", "scale=2"])
    assert given.kwargs == {"scale": 2}
    assert given.specs == {"x": InputSpec([4], name="x"), "scale": 2}
    (folder / "many.py").write_text("def many(*every, by): return every[0] * by\n")
    given = arguments_for(load_subject("many.py:many"), ["f32[4]", "by=2"])
    with pytest.raises(CommandFailure, match=r"`by` is given by name, and arguments of `\*` have"):
        _ = given.specs


def test_without_inputs_the_functions_own_spec_counts(folder):
    given = arguments_for(load_subject("net.py:sign"), [])
    assert given.specs == [InputSpec([None, 2], name="anything")]
    assert given.args[0].shape == (4, 2)


def test_an_own_spec_by_names_counts_too(folder):
    Path("masked.py").write_text(
        "import stator\n"
        "from stator import InputSpec\n"
        "spec = {'mask': InputSpec(['n'], 'bool'), 'x': InputSpec(['n']), 'times': int}\n"
        "@stator.to_static(input_spec=spec)\n"
        "def masked(x, shift=0.5, *, mask, times):\n"
        "    return (x + shift) * mask * times\n"
    )
    given = arguments_for(load_subject("masked.py:masked"), [])
    assert given.args[0].shape == given.kwargs["mask"].shape
    assert given.kwargs["mask"].dtype is torch.bool
    assert type(given.kwargs["times"]) is int
    assert given.specs["times"] == InputSpec.int()


def test_python_values_of_a_spec_are_drawn_by_their_type(folder):
    Path("power.py").write_text(
        "import stator\n"
        "from stator import InputSpec\n"
        "spec = [InputSpec(['n', 'n']), InputSpec.int(), InputSpec.float(), InputSpec.bool(), "
        "InputSpec.str()]\n"
        "@stator.to_static(input_spec=spec)\n"
        "def power(x, n, scale, flag, mode):\n"
        "    return x\n"
    )
    x, *values = arguments_for(load_subject("power.py:power"), []).args
    assert x.shape[0] == x.shape[1]
    assert list(map(type, values)) == [int, float, bool, str]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "missing a required argument: 'first'"),
        (["f32[2]", "f32[2]", "f32[2]"], "too many positional arguments"),
        (["f32[2]", "f32[2]", "z=3"], "got an unexpected keyword argument 'z'"),
        (["first=1", "first=2"], "two inputs have the same name"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_with_the_parameters(folder, texts, message):
    with pytest.raises(CommandFailure, match=message):
        arguments_for(load_subject("net.py:pair"), texts)


def test_the_whole_text_of_a_call_that_does_not_fit(shell):
    done = shell("program", "net.py:pair")
    assert done.exit_code == 2
    assert done.err == (
        "net.py is imported\n"
        "Error: the inputs do not fit pair: missing a required argument: 'first'\n"
        "  pair(first, second)\n"
        '  fix: give --input "first:float32[None,784]" for each argument\n'
    )
