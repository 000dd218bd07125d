"""A list of the caller's that a call changes, seen through containers that the call makes."""

import importlib.util

import pytest
import torch

import stator
from stator.errors import DataDependent

HEAD = """
import copy, functools, itertools, json, operator
import torch
ITEMS, TABLE = [0], {"a": [0]}
"""
EXPRESSIONS = (
    "[O] == [[0, 7]]", "[O] != [[0, 7]]", "(O,) == ([0, 7],)", "{'a': O} == {'a': [0, 7]}",
    "(O, 1) < ([0, 8], 1)", "[0, 7] in [O]", "[0, 7] in (O,)", "[O].count([0, 7])",
    "[O].index([0, 7])", "sorted([O, [0]])", "sorted((O, [0]))", "max([O, [0, 5]])",
    "max((O, [0, 5]))", "min([O, [0, 9]])", "sum([O, [1]], [])", "sum((O, [1]), [])",
    "torch.tensor([O]).sum()", "torch.tensor((O, O)).sum()", "torch.arange(9)[O]",
    "torch.zeros(2, 8)[:, O]", "[O] + [[1]]", "(O,) + (1,)", "operator.eq([O], [[0, 7]])",
    "functools.reduce(operator.add, [O, [1]])", "list(itertools.chain(*[O]))", "[O][0] is O",
    "[x for y in [O] for x in y]", "str([O])", "repr((O,))", "f'{[O]}'", "'%s' % (O,)",
    "'{}'.format([O])", "str({'a': O})", "[*[O]][0]", "list({'a': O}.values())", "[[O]][0][0]",
    "([O], O)", "{'a': (O,)}",
)  # fmt: skip
SEARCHES = ("[0, 7] in [O]", "[0, 7] in (O,)", "[O].count([0, 7])", "[O].index([0, 7])")
OF_PYTHON = ("json.dumps([O])", "copy.deepcopy([O])")  # what is captured is refused there
VALUES = {"known": "7", "captured": "int(x.sum().item()) + 5"}
WAYS = {"a list": "ITEMS", "a list in a dict": 'TABLE["a"]'}
CASES = [
    (expression, value, owner)
    for expression in (*EXPRESSIONS, *OF_PYTHON)
    for value in VALUES
    for owner in WAYS
    if value == "known" or expression not in OF_PYTHON
]


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """One file with a function for each case: a conversion reads source text."""
    file = tmp_path_factory.mktemp("held") / "held_lists_as_functions.py"
    pieces = [
        f"def f{k}(x):\n"
        f"    {WAYS[owner]}.append({VALUES[value]})\n"
        f"    return {expression.replace('O', WAYS[owner])}\n"
        for k, (expression, value, owner) in enumerate(CASES)
    ]
    file.write_text(HEAD + "\n".join(pieces))
    spec = importlib.util.spec_from_file_location("held_lists_as_functions", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def restart(module):
    module.ITEMS[:] = [0]
    module.TABLE["a"][:] = [0]


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{e}, {v}, {o}" for e, v, o in CASES])
def test_an_expression_sees_what_the_call_has_appended(functions, number):
    function = getattr(functions, f"f{number}")
    restart(functions)
    expected = function(torch.ones(2))
    after = list(functions.ITEMS), list(functions.TABLE["a"])
    restart(functions)
    try:
        found = stator.to_static(function)(torch.ones(2))
    except DataDependent:  # Python's own search, among captured numbers
        assert CASES[number][0] in SEARCHES
        assert CASES[number][1] == "captured"
        return
    assert type(found) is type(expected)
    if isinstance(expected, torch.Tensor):
        assert torch.equal(found, expected)
    else:
        assert found == expected
    assert (functions.ITEMS, functions.TABLE["a"]) == after
