"""Dicts of the caller's whose keys are data: each run sets the keys that its data has."""

import collections
import copy

import pytest
import torch
from torch import nn

import stator
from stator.errors import UnsupportedCall


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.counts = {}
        self.counter = collections.Counter()
        self.sums = collections.defaultdict(float)
        self.nested = {"latest": collections.OrderedDict()}

    def kept(self):
        return self.counts, self.counter, self.sums, list(self.nested["latest"].items())


class Set(Counting):
    def forward(self, x):
        self.counts[int(x[0])] = self.counts.get(int(x[0]), 0) + 1
        self.nested["latest"][int(x[1])] = x.sum().item()
        return x * len(self.counts)


class Added(Counting):
    def forward(self, x):
        for value in x.tolist():
            self.counter[value] += 1
            self.sums[value] += value
        return x, self.counter.most_common(1), sum(self.sums.values())


class InABranch(Counting):
    def forward(self, x):
        key = int(x[0])
        if key in self.counts:
            del self.counts[key]
        elif x.sum() > 0:
            self.counts[key] = (x.sum(), "new")
        return x, list(self.counts)


class Raises(Counting):
    def forward(self, x):
        self.counts[int(x[0])] = 1
        if x.sum() > 2:
            raise ValueError("too much")
        self.counts[100] = 2
        return x


class Caught(Counting):
    def forward(self, x):
        try:
            self.counts[int(x[0])] += 1
        except KeyError:
            self.counts[int(x[0])] = 1
        return x


CALLS = [torch.tensor(pair) for pair in ([1.0, 2.0], [2.0, -1.0], [1.0, 2.0], [0.0, 0.0], [2.0, 1])]


def outcomes(module, called):
    results = []
    for x in copy.deepcopy(CALLS):
        try:
            results.append(repr(called(x)))
        except ValueError as error:
            results.append(repr(error))
    return results, repr(module.kept())


@pytest.mark.parametrize("cls", [Set, Added, InABranch, Raises, Caught])
def test_each_run_sets_the_keys_of_its_data(cls):
    eager, module = cls(), cls()
    assert outcomes(module, stator.to_static(module)) == outcomes(eager, eager)


def test_the_dict_and_what_it_held_stay_the_very_objects():
    class Kept(Counting):
        def forward(self, x):
            self.counts[int(x[0])] = x.sum()
            return self.counts

    module = Kept()
    static = stator.to_static(module)
    assert static(torch.ones(2)) is module.counts
    first = module.counts[1]
    static(torch.full((2,), 3.0))
    assert module.counts[1] is first
    assert module.counts[3].item() == 6.0


def test_a_dict_of_other_objects_is_refused():
    module = Set()
    module.counts["other"] = object()
    with pytest.raises(UnsupportedCall, match="an item is set by a captured key of a dict"):
        stator.to_static(module)(torch.ones(2))
