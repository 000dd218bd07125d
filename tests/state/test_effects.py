"""What a call that raises has done to Python objects until then: as in eager, at every call."""

import contextvars

import pytest
import torch
from torch import nn

import stator


def plain(tree):
    """What can be compared with ==."""
    if isinstance(tree, torch.Tensor):
        return tree.tolist()
    if isinstance(tree, list | tuple):
        return [plain(item) for item in tree]
    if isinstance(tree, dict):
        return {key: plain(item) for key, item in tree.items()}
    return tree


NAMES = ("steps", "log", "last", "flag", "table")


class Careful(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps, self.log, self.last, self.flag, self.table = 0, [], None, False, {}

    def forward(self, x):
        self.steps += 1
        self.last = x * 2
        self.log.append(x.sum())
        if x.sum() < 0:
            self.flag = True
            self.table["bad"] = x
            raise ValueError("negative")
        for k in range(3):
            self.steps += 1
            if x[0] == k:
                raise AssertionError("hit")
        y = x[int(x[1])]
        self.flag = not self.flag
        if self.steps > 14:
            self.log.append(x)
            raise KeyError("too many")
        return y


class Caught(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps, self.log, self.last, self.flag, self.table = 0, [], None, False, {}

    def forward(self, x):
        self.steps += 1
        try:
            self.log.append(x)
            if x.sum() > 3:
                raise ValueError("large")
            self.log.append(x * 2)
        except ValueError:
            self.table["caught"] = x
            if x.sum() > 9:
                self.flag = True
                raise
        self.steps += 10
        if x[0] < 0:
            raise KeyError("negative")
        return x


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Careful()

    def __getattr__(self, name):
        return super().__getattr__(name) if name == "inner" else getattr(self.inner, name)

    def forward(self, x):
        y = x
        while y.sum() < 20:
            y = y + 1
            self.inner.steps += 1
            if y[0] == 7:
                raise ZeroDivisionError("seven")
        return y


VALUES = ([5.0, 0.0], [-5.0, 0.0], [1.0, 1.0], [5.0, 1.0], [7.5, 0.0], [2.0, 0.0], [-3.0, 2.0])


@pytest.mark.parametrize("make", [Careful, Caught, Nested])
def test_a_call_that_raises_has_changed_what_it_has_changed(make):
    eager, static = make(), stator.to_static(make())
    raised = 0
    for values in VALUES:
        seen = []
        for model in (eager, static):
            try:
                outcome = plain(model(torch.tensor(values)))
            except (ValueError, AssertionError, KeyError, ZeroDivisionError) as error:
                outcome = repr(error)
                raised += 1
            seen.append((outcome, {name: plain(getattr(model, name)) for name in NAMES}))
        assert seen[1] == seen[0]
    assert raised > 3


class Lock:
    def __init__(self, owner):
        self.owner = owner

    def __enter__(self):
        self.owner.flag = True

    def __exit__(self, *error):
        self.owner.flag = False
        self.owner.log.append(3)


class Guarded(nn.Module):
    """Python objects and prints in a `finally` and an `__exit__`, around an op that may fail."""

    def __init__(self):
        super().__init__()
        self.flag, self.steps, self.log = False, 0, []

    def forward(self, x):
        self.steps += 1
        self.log.append(1)
        try:
            with Lock(self):
                y = x[int(x[0])]
        finally:
            self.log.append(2)
            print("final", self.steps)
        return y


def test_final_code_runs_when_an_op_fails(capsys):
    eager, static = Guarded(), stator.to_static(Guarded())
    failed = 0
    for values in ([1.0, 2.0], [5.0, 0.0], [0.0, 3.0], [-7.0, 0.0], [1.0, 1.0]):
        seen = []
        for model in (eager, static):
            try:
                outcome = plain(model(torch.tensor(values)))
            except IndexError:
                outcome = None
                failed += 1
            seen.append((outcome, model.flag, model.steps, list(model.log), capsys.readouterr()))
        assert seen[1] == seen[0]
    assert failed == 4


def test_what_a_finally_puts_back_needs_no_try_in_the_program():
    class Restoring(nn.Module):
        def __init__(self):
            super().__init__()
            self.flag, self.steps = False, 0

        def forward(self, x):
            self.steps += 1
            self.flag = True
            try:
                y = x[int(x[0])]
            finally:
                self.flag = False
            return y

    static = stator.to_static(Restoring())
    for value, fails in ((1.0, False), (5.0, True), (0.0, False), (7.0, True)):
        try:
            static(torch.tensor([value, 2.0]))
        except IndexError:
            assert fails
        else:
            assert not fails
        assert static.flag is False
    assert static.steps == 4
    assert "stator::try" not in str(static.forward.program)


def test_lists_and_dicts_that_a_raising_call_is_given_are_changed():
    def f(x, items, table):
        items.append(x)
        table["seen"] = x * 2
        if x.sum() > 0:
            raise ValueError("positive")
        items.append(x)
        return x

    static = stator.to_static(f)
    for x in (torch.ones(2), -torch.ones(2), torch.ones(2)):
        seen = []
        for function in (f, static):
            items, table = [], {}
            try:
                function(x, items, table)
            except ValueError as error:
                items.append(str(error))
            seen.append((plain(items), plain(table)))
        assert seen[1] == seen[0]


def test_what_python_has_changed_stays_when_the_capture_itself_raises():
    class Always(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps, self.names = 0, []

        def forward(self, x):
            self.steps += 1
            self.names.append("called")
            raise RuntimeError("always")

    static = stator.to_static(Always())
    for k in range(1, 4):
        with pytest.raises(RuntimeError, match="always"):
            static(torch.ones(2))
        assert (static.steps, static.names) == (k, ["called"] * k)


def test_a_refusal_changes_nothing():
    class Refused(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = 0

        def forward(self, x):
            self.steps += 1
            return eval("x")

    static = stator.to_static(Refused())
    with pytest.raises(stator.StatorError):
        static(torch.ones(2))
    assert static.steps == 0


def test_a_saved_program_has_no_notes(tmp_path):
    class Averaged(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(2))

        def forward(self, x):
            self.mean = self.mean * 0.5 + x
            assert x.sum() != 3, "three"
            return x - self.mean

    static = stator.to_static(Averaged())
    static(torch.ones(2))
    assert "host::note" in str(static.forward.program)
    stator.save(static, tmp_path / "model")
    assert "host::note" not in (tmp_path / "model.stator").read_text()
    loaded = stator.load(tmp_path / "model")
    assert torch.equal(loaded(torch.ones(2)), static(torch.ones(2)))


def test_what_is_put_back_beside_what_is_set_on_some_paths():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.flag = False

        def forward(self, x):
            if x[1] > 0:
                self.extra = x
            self.flag = True
            try:
                return x[int(x[0])]
            finally:
                self.flag = False

    eager, static = Both(), stator.to_static(Both())
    for values in ([1.0, -2.0], [5.0, 2.0], [0.0, 1.0], [7.0, -1.0]):
        seen = []
        for model in (eager, static):
            try:
                outcome = plain(model(torch.tensor(values)))
            except IndexError:
                outcome = None
            seen.append((outcome, model.flag, plain(getattr(model, "extra", None))))
        assert seen[1] == seen[0]


DEPTH = contextvars.ContextVar("depth", default=None)


def test_a_context_variable_that_a_finally_resets():
    def f(x):
        token = DEPTH.set({})
        try:
            return x[int(x[0])]
        finally:
            DEPTH.reset(token)

    static = stator.to_static(f)
    for value, fails in ((0.0, False), (9.0, True), (1.0, False), (7.0, True)):
        try:
            static(torch.tensor([value, 1.0]))
        except IndexError:
            assert fails
        else:
            assert not fails
        assert DEPTH.get() is None
    assert "host::note" not in str(static.program)
    assert "stator::try" not in str(static.program)
