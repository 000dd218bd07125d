"""Bars of tqdm inside a program: each run shows its own, with the values of the run."""

import io

import pytest
import torch
from tqdm import tqdm, trange
from tqdm.auto import tqdm as auto_tqdm

import stator
from stator import InputSpec

SHOWN = {"bar_format": "{desc}{n_fmt}/{total_fmt}{postfix};", "mininterval": 0, "miniters": 1}
INPUTS = (torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.1]), torch.tensor([9.0, 9.0]))


def left_early(x):
    bar = tqdm(range(4), desc="train", **SHOWN)
    for k in bar:
        x = x * 1.5 + k
        bar.set_postfix_str(f"sum {x.sum().item():.2f}")
        if x.sum() > 8:
            break
    bar.close()
    return x


def moved_by_hand(x):
    with auto_tqdm(total=20, **SHOWN) as bar:
        while x.sum() < 20:
            x = x * 2
            bar.update(2)
            bar.set_description("far" if x.sum() > 10 else "near")
    return x, bar.n, len(bar), bar.total


def over_tensors_and_numbers(x):
    total = torch.zeros(())
    for k, row in enumerate(tqdm(x, **SHOWN)):
        total = total + k * row
    squares = [k * k for k in trange(3, **SHOWN)]
    tqdm.write(f"total {total.item()}")
    for a, b in zip(tqdm(x, disable=True), x, strict=True):
        total = total + a * b
    return total, squares


@pytest.mark.parametrize("function", [left_early, moved_by_hand, over_tensors_and_numbers])
def test_each_run_shows_the_bars_of_eager(function, capsys):
    static = stator.to_static(function)
    for x in INPUTS:
        eager = function(x), capsys.readouterr()
        assert str((static(x), capsys.readouterr())) == str(eager)
    assert len(static.concrete_programs) == 1


def test_a_saved_model_leaves_the_bars_out(tmp_path, capsys, caplog):
    stator.save(left_early, tmp_path / "m", input_spec=[InputSpec([2], "float32")])
    assert "the saved model leaves out these Python calls: tqdm at" in caplog.text
    loaded = stator.load(tmp_path / "m")
    capsys.readouterr()
    for x in INPUTS:
        assert str(loaded(x)) == str(left_early(x))
    capsys.readouterr()
    loaded(INPUTS[0])
    assert capsys.readouterr().err == ""


def own_stream(x):
    for _ in tqdm(range(2), file=io.StringIO()):
        x = x * 2
    return x


def test_a_stream_that_the_function_makes_is_refused():
    with pytest.raises(stator.StatorError, match="`tqdm` receives a value that a program cannot"):
        stator.to_static(own_stream)(INPUTS[0])


def returned_stream(x):
    return x, io.StringIO()


def test_an_object_whose_state_is_hidden_in_c_is_no_result():
    with pytest.raises(stator.StatorError, match="a StringIO is returned or kept outside"):
        stator.to_static(returned_stream)(INPUTS[0])
