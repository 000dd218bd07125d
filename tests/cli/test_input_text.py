"""What `--input`, `--size` and `--init` may say, and how a mistake in them is shown."""

import pytest

from stator.cli.failures import CommandFailure
from stator.cli.input_text import (
    ConstantText,
    FileText,
    TensorText,
    parse_input,
    parse_setting,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("x:float32[None,784]", TensorText("x", "float32", (None, 784))),
        ("float32[]", TensorText(None, "float32", ())),
        ("x:f32[ B , *,?, -1,3]", TensorText("x", "float32", ("B", None, None, None, 3))),
        ("ids:int64[B,T]@0..99", TensorText("ids", "int64", ("B", "T"), (0.0, 99.0))),
        ("x:f64[2]@-1.5..2e3", TensorText("x", "float64", (2,), (-1.5, 2000.0))),
        ("x:i64[2]=[1, 2]", TensorText("x", "int64", (2,), None, [1, 2])),
        ("x=x.npy", FileText("x", "x.npy")),
        ("in/batch.NPZ", FileText(None, "in/batch.NPZ")),
        ("w=w.safetensors", FileText("w", "w.safetensors")),
        ("n=3", ConstantText("n", 3)),
        ("-1", ConstantText(None, -1)),
        ("flag=True", ConstantText("flag", True)),
        ("mode='fast'", ConstantText("mode", "fast")),
        ("k=[1, (2.5, None)]", ConstantText("k", [1, (2.5, None)])),
    ],
)
def test_an_input_means(text, meaning):
    assert parse_input(text) == meaning


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("x:floot[3]", 2, "`floot` is not a dtype"),
        ("x:float32", 9, "the sizes are missing"),
        ("x:float32[2,", 12, "there is no `]` after the sizes"),
        ("x:float32[2,,3]", 12, "a size is missing"),
        ("x:float32[2, -3]", 13, "`-3` is not a size"),
        ("x:float32[2]]", 12, "`]` cannot come after the sizes"),
        ("x:int64[3]@5..2", 10, "the range ends before it begins"),
        ("mode=fast", 5, "`fast` is not a value"),
        ("x=", 2, "there is no value"),
        ("", 0, "there is no value"),
        ("x=w.pt", 2, "a `.pt` file is a pickle, which can run code when it is read"),
    ],
)
def test_a_mistake_is_shown_with_a_caret(text, column, problem):
    with pytest.raises(CommandFailure) as caught:
        parse_input(text)
    shown = caught.value.text().split("\n")
    assert shown[0] == f"Error: --input: {problem}"
    assert shown[1] == f"    {text}"
    assert shown[2] == " " * (4 + column) + "^"
    assert shown[3].startswith("  fix: ")
    assert caught.value.exit_code == 2


def test_the_whole_text_of_a_mistake():
    with pytest.raises(CommandFailure) as caught:
        parse_input("x:float32")
    assert caught.value.text() == (
        "Error: --input: the sizes are missing\n"
        "    x:float32\n"
        "             ^\n"
        "  fix: write float32[] for a tensor without dimensions, float32[None,3] for one with two"
    )


def test_sizes_and_settings():
    assert parse_size("8") == (None, 8)
    assert parse_size("B=8") == ("B", 8)
    assert parse_setting("width = 64") == ("width", 64)
    assert parse_setting("name='a=b'") == ("name", "a=b")


@pytest.mark.parametrize("text", ["B=x", "", "=", "1.5", "B=-1"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(CommandFailure, match="--size: this is not a size"):
        parse_size(text)


@pytest.mark.parametrize("text", ["width", "width=", "width=abc", "=3"])
def test_what_is_no_setting_is_refused(text):
    with pytest.raises(CommandFailure, match="--init: "):
        parse_setting(text)
