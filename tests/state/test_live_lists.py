"""Lists of the caller's that grow with every call: eager's answers, and two or three captures."""

import pytest
import torch
from torch import nn

import stator

INPUTS = [torch.full((2,), float(k + 1)) for k in range(7)]


def values(tree):
    """What can be compared with ==."""
    if isinstance(tree, torch.Tensor):
        return tree.tolist(), tree.dtype, tree.requires_grad
    if isinstance(tree, tuple | list):
        return [values(item) for item in tree]
    return repr(tree)


class Model(nn.Module):
    """Does `step`, with a log of its own."""

    def __init__(self, step):
        super().__init__()
        self.log = []
        self.same = self.log
        self.weight = nn.Parameter(torch.tensor([2.0, 3.0]))
        self.step = step

    def forward(self, x):
        return self.step(self, x)


def alike(step, captures, inputs=INPUTS):
    """A static and an eager model give and hold the same at every step."""
    eager, static = Model(step), stator.to_static(Model(step))
    for x in inputs:
        got, expected = static(x.clone()), eager(x.clone())
        assert values(got) == values(expected)
        assert values(static.log) == values(eager.log)
        assert type(static.log) is list
    assert captures in (None, len(static.forward.concrete_programs))


def append(self, x):
    self.log.append(x.sum())
    return x * 2


def append_and_read(self, x):
    self.log.append(x * 2)
    total = torch.zeros(2)
    for item in self.log:
        total = total + item
    return total, len(self.log), self.log[-1], self.log[0], torch.stack(self.log).mean()


def window(self, x):
    self.log.append(x * 2)
    if len(self.log) > 3:
        self.log.pop(0)
    return sum(self.log), len(self.log)


def append_on_one_path(self, x):
    if x.sum() > 5:
        self.log.append(x)
    return x + len(self.log)


def append_twice(self, x):
    if x.sum() > 5:
        self.log.append(x)
    self.log.append(x + 1)
    return x + len(self.log)


def numbers(self, x):
    self.log.append(len(self.log) * 2)
    return x * self.log[-1], self.log


def floats(self, x):
    self.log.append(0.5 + len(self.log))
    return x * sum(self.log)


def in_a_loop(self, x):
    for k in range(3):
        self.log.append(x * k)
    return len(self.log), self.log[-2]


def write(self, x):
    self.log.append(x)
    self.log[0] = x + 1
    self.log.insert(0, x * 3)
    self.log.extend([x, x - 1])
    del self.log[1]
    self.log.reverse()
    return x, list(self.log)


def by_two_names(self, x):
    self.log.append(x)
    self.same.append(x + 1)
    return len(self.log), self.log is self.same


def learn(self, x):
    self.log.append(self.weight * x)
    return sum(self.log)


def other_sizes(self, x):
    self.log.append(torch.ones(len(self.log) + 1))
    return x + self.log[-1].sum()


def columns(self, x):
    self.log.append(x.repeat(len(self.log) + 1)[None])
    return sum(item.sum() for item in self.log), self.log[-1].shape


def in_place(self, x):
    self.log.append(x * 1)
    self.log[0].add_(1)
    return self.log[0] + self.log[-1]


def is_empty(self, x):
    if not self.log:
        self.log.append(x)
        return x
    self.log.append(x * 2)
    return self.log[-2]


def append_in_a_loop_of_the_program(self, x):
    while len(self.log) < 4 and x.sum() > 0:
        self.log.append(x)
        x = x - 1
    if x.sum() < -1:
        self.log.clear()
    return x


def flush(self, x):
    self.log.append(x)
    if len(self.log) == 3:
        x = torch.cat(self.log)
        self.log.clear()
    return x.sum(), x.shape[0]


def pass_on(log, x):
    log.append(x)
    return log


def by_a_helper(self, x):
    log = pass_on(self.log, x)
    log.append(x + 1)
    copied = log[:]
    copied.append(x)
    return len(tuple(log)), len(copied), len(log * 2), [*log, x * 2][-1]


STEPS = {
    append_in_a_loop_of_the_program: 2, flush: 2, by_a_helper: 2,
    append: 2, append_and_read: 2, append_on_one_path: 2, append_twice: 2, window: 2, numbers: 2,
    floats: 2, in_a_loop: 2, write: 2, by_two_names: 2, learn: 2, is_empty: 2,
    in_place: 2, other_sizes: 2, columns: 2,
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_a_list_that_grows_is_captured_a_few_times(step):
    alike(step, STEPS[step])


def test_the_items_of_a_list_stay_the_very_objects():
    model = stator.to_static(Model(append))
    held = []
    for x in INPUTS:
        model(x)
        assert all(a is b for a, b in zip(held, model.log, strict=False))
        held = list(model.log)


def give_back(self, x):
    self.log.append(x)
    return {"log": self.log, "copy": list(self.log)}


def test_a_list_that_is_given_back_is_the_callers():
    model = stator.to_static(Model(give_back))
    for k, x in enumerate(INPUTS):
        result = model(x)
        assert result["log"] is model.log
        assert result["copy"] is not model.log
        assert values(result["copy"]) == values(INPUTS[: k + 1])


def test_gradients_flow_through_the_items_that_earlier_calls_left():
    gradients = []
    for model in (Model(learn), stator.to_static(Model(learn))):
        for x in INPUTS:
            total = model(x)
        total.sum().backward()
        gradients.append(model.weight.grad.tolist())
    assert gradients[0] == gradients[1]


def replace(model):
    model.log = [torch.ones(2), torch.zeros(2)]


OUTSIDE = {
    "clear": lambda model: model.log.clear(),
    "replace": replace,
    "pop": lambda model: model.log.pop(),
    "put": lambda model: model.log.insert(0, torch.ones(2)),
    "another dtype": lambda model: model.log.insert(0, torch.ones(2).double()),
    "another rank": lambda model: model.log.append(torch.ones(1, 2)),
    "another size": lambda model: model.log.append(torch.ones(1)),
    "other strides": lambda model: model.log.append(torch.arange(4.0)[::2]),
    "a number": lambda model: model.log.append(5),
    "a parameter": lambda model: model.log.append(model.weight),
    "a learned one": lambda model: model.log.append(model.weight * 1),
}


def read(self, x):
    self.log.append(x * 2)
    total = x
    for item in self.log:
        total = total + item
    return total, len(self.log)


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # of a non-leaf
@pytest.mark.parametrize("change", OUTSIDE.values(), ids=OUTSIDE.keys())
@pytest.mark.parametrize("when", [1, 2, 3])
def test_what_others_do_to_the_list_is_seen(change, when):
    eager, static = Model(read), stator.to_static(Model(read))
    for k, x in enumerate(INPUTS):
        if k == when:
            change(eager), change(static)
        assert values(static(x)) == values(eager(x))
        assert values(static.log) == values(eager.log)


def test_a_kind_of_item_that_is_new_is_a_reason_in_words():
    model = stator.to_static(Model(append))
    for x in INPUTS[:2]:
        model(x)
    model.log.append(3)
    model(INPUTS[0])
    reasons = [program.reason for program in model.forward.concrete_programs]
    assert reasons[1:] == ["what a list holds has changed", "what a list holds is of another kind"]


def keep_and_write(self, x):
    self.log.append(x)
    x.add_(1)
    return self.log[0] + self.log[-1]


def test_an_argument_that_is_kept_and_written_in_place_is_one_tensor():
    eager, static = Model(keep_and_write), stator.to_static(Model(keep_and_write))
    mine, others = torch.zeros(2), torch.zeros(2)
    for _ in range(5):
        assert values(static(mine)) == values(eager(others))
        assert values(static.log) == values(eager.log)
        assert all(item is mine for item in static.log)


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.logs, self.named = [[], []], {"a": []}

    def forward(self, x):
        self.logs[0].append(x)
        self.logs[1].append(x.sum())
        self.named["a"].append(x * 2)
        return len(self.logs[0]), self.logs[1][-1], self.named["a"][0]


def test_lists_in_lists_and_dicts_are_live():
    eager, static = Nested(), stator.to_static(Nested())
    for x in INPUTS:
        assert values(static(x)) == values(eager(x))
        assert values(static.logs) == values(eager.logs)
        assert values(static.named["a"]) == values(eager.named["a"])
    assert len(static.forward.concrete_programs) == 2


LOG = []


def outer_log(x):
    LOG.append(x.sum())
    return x * len(LOG)


def test_a_global_list_and_one_of_an_enclosing_function_are_live():
    log = []

    def enclosed(x):
        log.append(x.sum())
        return x * len(log)

    for function, items in ((outer_log, LOG), (enclosed, log)):
        static = stator.to_static(function)
        for k, x in enumerate(INPUTS):
            assert values(static(x)) == values(x * (k + 1))
            assert values(items) == values([x.sum() for x in INPUTS[: k + 1]])
        assert len(static.concrete_programs) == 2


def broadcast(self, x):
    self.log.append(x * 2)
    return torch.stack(self.log) + torch.ones(len(self.log) if len(self.log) > 2 else 1, 2)


def stacked(self, x):
    self.log.append(x * 2)
    return torch.stack(self.log[-2:]) + x.expand(2, 2)


@pytest.mark.parametrize("step", [broadcast, stacked])
def test_lengths_that_broadcast_in_eager_do(step):
    alike(step, None)


def equal_itself(self, x):
    self.log.append(x)
    return x, self.log == self.same, self.log != self.same


def searched(self, x):
    self.log.append(x)
    self.log.insert(0, x)
    self.log.remove(x)
    return self.log.index(self.log[0]), self.log[0] in self.log


@pytest.mark.parametrize("step", [equal_itself, searched])
def test_a_list_of_tensors_that_is_compared_goes_by_identity_as_in_eager(step):
    alike(step, len(INPUTS))


class Counted(Model):
    def __init__(self):
        super().__init__(None)
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        self.log.append(3)
        return x * self.steps, len(f"{self.log}")


def test_a_counter_beside_a_list_that_cannot_be_live_is_followed():
    static, eager = stator.to_static(Counted()), Counted()
    for x in INPUTS:
        assert values(static(x)) == values(eager(x))


def needs_items(self, x):
    self.log.append(2)
    return x * {2: 3, 4: 5}[self.log[-1]] + len(f"{self.log}")


def test_the_text_of_a_list_that_grows_is_that_of_each_call():
    alike(needs_items, 2)
