"""The examples of ExportDB, torch's catalogue of what is hard to export, as static functions."""

import copy

import pytest
import torch
from torch._export.db.examples import all_examples
from torch.utils._pytree import tree_leaves

import stator


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(all_examples()))
def test_an_example_gives_what_eager_code_gives(name):
    example = all_examples()[name]
    eager, static = copy.deepcopy(example.model), stator.to_static(copy.deepcopy(example.model))
    for args in (example.example_args, example.extra_args):
        if args is None:
            continue
        given = copy.deepcopy((args, example.example_kwargs))
        want = tree_leaves(eager(*given[0], **given[1]))
        given = copy.deepcopy((args, example.example_kwargs))
        got = tree_leaves(static(*given[0], **given[1]))
        assert len(got) == len(want)
        for one, two in zip(got, want, strict=True):
            assert type(one) is type(two)
            assert torch.equal(one, two) if isinstance(one, torch.Tensor) else one == two
