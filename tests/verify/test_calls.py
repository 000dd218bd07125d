"""CallChecks: calls that a test makes are verified, once for each kind, and stay what they are."""

import torch

import stator
from stator_verify.calls import CallChecks
from tests.verify import faults
from tests.verify.faults import with_fault


def halved(x):
    while x.sum() > 1:
        x = x / 2
    return x


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    @stator.to_static
    def forward(self, x):
        self.count += 1
        if x.sum() > 0:
            x = x + torch.rand(2)
        return x


def test_the_first_call_of_each_kind_is_verified():
    static, checks = stator.to_static(halved), CallChecks()
    with checks.active():
        static(torch.ones(2))
        static(torch.ones(2))
        static(torch.ones(2).double())
    static(torch.ones(2).half())
    assert len(checks.reports) == 2
    assert checks.differing() == []
    summary = checks.summary()
    assert (summary["calls"], summary["covered"], summary["paths"]) == (2, 6, 6)


def test_a_call_does_what_it_does_without_being_verified():
    plain, watched = Counter(), Counter()
    torch.manual_seed(1)
    wanted = [plain(torch.ones(2)) for _ in range(3)]
    torch.manual_seed(1)
    with CallChecks({"budget": 8}).active():
        got = [watched(torch.ones(2)) for _ in range(3)]
    assert torch.equal(torch.stack(wanted), torch.stack(got))
    assert watched.count == plain.count == 3
    assert len(watched.forward.concrete_programs) == len(plain.forward.concrete_programs)


def test_a_difference_is_found():
    static, checks = with_fault(halved, faults.one_iteration_only, (torch.zeros(2),)), CallChecks()
    with checks.active():
        static(torch.full((2,), 8.0))
    (report,) = checks.differing()
    assert report.failures[0].first.op == "stator::while"


def test_a_refusal_is_left_to_the_test():
    static, checks = stator.to_static(lambda x: x.data_ptr() + 1), CallChecks()
    with checks.active():
        try:
            static(torch.ones(2))
        except stator.StatorError:
            pass
        else:
            raise AssertionError("it is refused")
    assert len(checks.reports) == 1
    assert checks.differing() == []


def test_inside_a_transform_calls_are_left_out():
    static, checks = stator.to_static(lambda x: x * 2), CallChecks()
    with checks.active():
        result = torch.vmap(static)(torch.ones(3))
    assert torch.equal(result, torch.full((3,), 2.0))
    assert checks.left_out == 1


def test_eager_code_and_what_verifying_calls_are_not_verified():
    checks = CallChecks()
    with checks.active(), stator.debug.eager():
        stator.to_static(halved)(torch.ones(2))
    assert checks.reports == []
