"""A `break` in a browser: one node of that name, where the source says that it is one."""

import pytest
import torch

import stator
from stator import InputSpec
from tests.debug.view.reading import settle

pytestmark = pytest.mark.slow


def breaks_once(x):
    n = 0
    while x.sum() < 100:
        x = x * 2
        if x.max() > 30:
            break
        n = n + 1
    return x, n


def breaks_twice(x):
    while x.sum() < 100:
        x = x * 2
        if x.max() > 30:
            break
        x = x + 1
        if x.min() > 7:
            x = x - 5
            break
    return x


def endless(x):
    while True:
        x = x * 2
        if x.sum() > 100: break  # noqa: E701 # a statement of one line  # fmt: skip
    return x


def over_a_range(x):
    for _ in range(int(x.max())):
        x = x * 2
        if x.sum() < 100:
            x = x + 1
        else:
            break
    return x


def returns(x):
    while x.sum() < 100:
        x = x * 2
        if x.max() > 30:
            return x + 1
    return x


def with_an_else(x):
    while x.sum() < 100:
        x = x * 2
        if x.max() > 30:
            break
    else:
        x = x - 1
    return x


def without_a_jump(x):
    while (x.sum() < 100
           and x.max() < 50):  # fmt: skip
        x = x * 2  # no break here
        if x.min() > 3:
            x = x + 1
    return x


CASES = [
    (breaks_once, ["while", "if", "break"]),
    (breaks_twice, ["while", "if", "if", "break"]),
    (endless, ["break", "while", "break"]),
    (over_a_range, ["while", "if"]),  # the branch that holds the `break` computes, too
    (returns, ["while", "if", "return", "if"]),
    (with_an_else, ["while", "if", "break", "if"]),
    (without_a_jump, ["if", "while", "if", "if"]),
]


@pytest.mark.parametrize(
    ("function", "expected"), CASES, ids=lambda one: getattr(one, "__name__", "")
)
def test_a_jump_out_of_a_loop_is_one_node(reader, function, expected):
    static = stator.to_static(function)
    static(torch.tensor([1.0, 2.0, 3.0]))
    tab = reader.open(static, height=3000)
    names = tab.locator("#graph .op.control .name").all_text_contents()
    assert [name.split()[0] for name in names] == expected


def test_a_break_tells_what_it_does(reader):
    static = stator.to_static(breaks_once)
    static(torch.tensor([1.0, 2.0, 3.0]))
    tab = reader.open(static, height=3000)
    tab.keyboard.press("/")
    tab.keyboard.type("break")
    tab.keyboard.press("Enter")
    settle(tab)
    assert "a break out of the loop" in tab.inner_text(".details")
    assert "stator::if" in tab.inner_text(".details")  # the program has no jumps
    titles = tab.locator("#graph .frame .title").all_text_contents()
    assert titles[-2:] == ["leave the loop", "test again"]


def test_without_source_a_branch_is_a_branch(reader, tmp_path):
    stator.save(breaks_once, tmp_path / "model", [InputSpec([3])])
    tab = reader.open(tmp_path / "model", height=3000)
    names = tab.locator("#graph .op.control .name").all_text_contents()
    assert [name.split()[0] for name in names] == ["while", "if", "if"]
