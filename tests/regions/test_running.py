"""Programs that call their regions: what a call gives, and what becomes of a region that fails."""

import gc
import warnings
from dataclasses import dataclass, field

import pytest
import torch

import stator
from stator.execute.backend import DEFAULT_OPTIONS, values_of
from stator.optimize import graph_rules
from stator.optimize.regions import outline
from stator.program.ir import Op
from stator.program.regions import tensors_first
from stator.regions.calls import device_of, region_program, with_calls
from stator.regions.operators import REGIONS, RUN, add_region
from stator.regions.region import Ops
from stator.regions.running import RegionProgram, RegionRun
from tests.cudagraph.tape import CpuRules


@dataclass(eq=False)
class SlowRegion:
    """A region that runs its ops as they are, and counts the calls."""

    op: Op
    ops: Ops
    failure: str = ""
    calls: list = field(default_factory=list)
    state, layouts = "ready", 1

    def __post_init__(self):
        self.inputs, self.place = tensors_first(self.op), self.op.place

    def __call__(self, tensors, numbers):
        self.calls.append((len(tensors), list(numbers)))
        found = self.ops([*tensors, *numbers])
        return [one if isinstance(one, torch.Tensor) else torch.tensor(one) for one in found]


def counted(x):
    n = 0
    while n < 5 and x.sum() < 100:
        x = x * 2
        n += 1
    return x, n


@pytest.fixture
def outlined(monkeypatch):
    monkeypatch.setattr(graph_rules, "LEAST_OPS", 1)
    static = stator.to_static(counted)
    static(torch.ones(2))
    return outline(static.program, CpuRules)


def program_of(outlined, later=lambda job: job()):
    made = []

    def make(op, ops, _later):
        made.append(SlowRegion(op, ops))
        return made[-1]

    return RegionProgram(outlined, DEFAULT_OPTIONS, make, later, how="slowly"), made


def run(program, *inputs):
    return RegionRun(program, {}, program.plain.bind({}))(inputs)


def test_a_region_is_a_program_of_its_own(outlined):
    (region,) = outlined.regions
    alone = region_program(region, "alone")
    assert [value.name for value in alone.inputs] == ["x"]
    assert device_of(region) == "cpu"


def test_numbers_of_a_region_are_read_of_tensors(outlined):
    (region,) = outlined.regions
    one = SlowRegion(region, lambda _given: [])
    called = with_calls(outlined.program, {region: one})
    assert [op.name for op in called.body.ops] == [RUN, "aten::item"]


def test_a_run_goes_through_the_regions(outlined):
    program, (region,) = program_of(outlined)
    x, n = values_of(run(program, torch.ones(2)))
    assert (x.tolist(), n) == ([32.0, 32.0], 5)
    assert region.calls == [(1, [])]


def test_a_region_that_has_failed_is_left_out_after_one_warning(outlined):
    program, (region,) = program_of(outlined)
    region.failure = "too tired"
    with pytest.warns(UserWarning, match="a region of `counted` runs slowly: too tired"):
        run(program, torch.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert values_of(run(program, torch.ones(2)))[1] == 5
    assert region.calls == []


def test_while_something_is_pending_the_program_runs_without_regions(outlined):
    waiting = []
    program, (region,) = program_of(outlined, waiting.append)
    program._later(lambda: None)
    assert values_of(run(program, torch.ones(2)))[1] == 5
    assert region.calls == []
    waiting.pop()()
    run(program, torch.ones(2))
    assert len(region.calls) == 1


def test_a_region_has_a_number_as_long_as_it_lives(outlined):
    (op,) = outlined.regions
    region = SlowRegion(op, lambda _given: [])
    number = add_region(region)
    assert REGIONS[number] is region
    del region
    gc.collect()
    assert number not in REGIONS
