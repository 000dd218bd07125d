"""Builtins that are replaced around a call: read, if Stator does not use them; else refused."""

import builtins

import pytest
import torch

import stator
from stator.errors import UnsupportedCall

X = torch.ones(2)
PLAIN = {"len": len, "sum": sum, "isinstance": isinstance, "range": range}


def counted(x):
    return x + len([1, 2]) + sum(range(3)) if isinstance(x, torch.Tensor) else x


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("is_captured", [True, False])
def test_a_call_with_another_builtin_is_refused(name, is_captured, monkeypatch):
    static = stator.to_static(counted)
    if is_captured:
        static(X)
    with pytest.raises(UnsupportedCall) as caught, monkeypatch.context() as patch:
        patch.setattr(builtins, name, lambda *_: False)
        static(X)
    assert caught.value.problem == (
        f"the builtin `{name}` is replaced while a static function is called"
    )
    assert vars(builtins)[name] is PLAIN[name]
    assert torch.equal(static(X), X + 5)


def test_so_is_one_with_a_program_that_uses_none(monkeypatch):
    seen = []
    static = stator.to_static(lambda x: seen.append(x) or x)
    for _ in range(3):
        static(X)
    with pytest.raises(UnsupportedCall, match="`len` is replaced"), monkeypatch.context() as patch:
        patch.delattr(builtins, "len")
        static(X)
    static(X)
    assert len(seen) == 4


def test_a_function_that_may_run_eagerly_does(monkeypatch):
    static = stator.to_static(counted, full_graph=False)
    monkeypatch.setattr(builtins, "sum", lambda _: 100)
    assert torch.equal(static(X), X + 102)


def test_print_is_read_as_any_other_name(monkeypatch, capsys):
    said = []

    def speaks(x):
        print("spoken")
        return x

    static = stator.to_static(speaks)
    static(X)
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "print", said.append)
        static(X)
        static(X)
    static(X)
    assert (said, capsys.readouterr().out) == (["spoken", "spoken"], "spoken\nspoken\n")


def test_a_function_that_replaces_one_is_refused():
    def replaces(x):
        builtins.len = max
        return x

    with pytest.raises(UnsupportedCall, match="the builtin `len` is replaced"):
        stator.to_static(replaces)(X)
    assert builtins.len is PLAIN["len"]
