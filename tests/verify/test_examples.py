"""Examples: their leaves, and copies that share memory where the originals do."""

from collections import OrderedDict, namedtuple

import torch

from stator.api.example import Example
from stator_verify.examples import Copier, leaves_of, replaced, words

Pair = namedtuple("Pair", "left right")


def test_leaves_are_found_and_replaced_at_any_depth():
    example = Example((1, [2, {"a": 3}]), Pair(4, 5), last=OrderedDict(b=6))
    paths = [leaf.path for leaf in leaves_of(example)]
    assert [leaf.value for leaf in leaves_of(example)] == [1, 2, 3, 4, 5, 6]
    made = replaced(example, dict(zip(paths, "abcdef")))
    assert made.args == (("a", ["b", {"a": "c"}]), Pair("d", "e"))
    assert made.kwargs == {"last": OrderedDict(b="f")}
    assert type(made.kwargs["last"]) is OrderedDict


def test_a_leaf_is_named_as_its_user_would():
    assert words((0, 1, "a"), ["state"]) == "state[1]['a']"
    assert words(("mask",), ["x"]) == "mask"
    assert words((2,), ["x"]) == "arg2"


def test_a_copy_shares_no_memory_with_the_original():
    x = torch.ones(3)
    (copy,) = Copier().example(Example(x)).args
    copy.add_(1)
    assert torch.equal(x, torch.ones(3))


def test_tensors_that_share_memory_share_it_in_the_copy():
    base = torch.arange(6.0)
    example = Example(base, base[2:4], base, torch.zeros(6))
    whole, part, again, other = Copier().example(example).args
    assert whole is again
    part.fill_(9)
    assert whole.tolist() == [0, 1, 9, 9, 4, 5]
    assert other.tolist() == [0] * 6


def test_strides_and_classes_are_kept():
    turned = torch.arange(6.0).reshape(2, 3).t()
    spread = torch.ones(1).expand(4)
    learned = torch.nn.Parameter(torch.ones(2))
    made = Copier().example(Example(turned, spread, learned)).args
    assert [one.stride() for one in made] == [(1, 3), (0,), (1,)]
    assert type(made[2]) is torch.nn.Parameter
    assert torch.equal(made[0], turned)


def test_a_copy_that_learns_requires_grad_where_it_can():
    x, n = Copier(learns=True).example(Example(torch.ones(2), torch.ones(2).int())).args
    assert x.requires_grad
    assert x.is_leaf
    assert not n.requires_grad
