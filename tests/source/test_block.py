"""The lines of one `def` give the tree that the whole file gives, or are left to it."""

from __future__ import annotations

import ast
import inspect
import io
import linecache
import textwrap
import types

import pytest

from stator.source import block
from stator.source.block import definition_at, definitions_in, first_lines
from stator.source.text import read_source

ODD = '''
import functools

def plain(
    x,
    y=(1,
2),
):
    """A text
at the margin."""
    # a comment
# another one
    z = x + \\
y
    return z

@functools.lru_cache(
    maxsize=1
)
def decorated(x): return x

class Outer:
    class Inner:
        def method(self):
            class Local:
                def deep(self):
                    def deepest():
                        return self
                    return deepest
            return Local
\f
    def __private(self): pass
    def last(self):
        if self:
            pass
        return __class__
if plain:
    def under_if(): pass
def makes_global():
    global made
    free = 1
    def made():
        return free
'''


def codes(code: types.CodeType):
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from codes(const)


def compared(text: str) -> dict[str, bool]:
    """Each function of `text`: is it found without the whole file? It must be the same then."""
    lines, found = io.StringIO(text).readlines(), {}
    whole = tuple(definitions_in(ast.parse(text)))
    for code in codes(compile(text, "file.py", "exec")):
        same = [
            one
            for one in whole
            if getattr(one.node, "name", "") == code.co_name
            and code.co_firstlineno in first_lines(one.node)
        ]
        if not same:
            continue  # a class, a lambda
        own = definition_at(code, lines)
        found[code.co_qualname] = own is not None
        if own is not None:
            assert places(own.node) == places(same[0].node)
            assert own.class_name == same[0].class_name
            around = [[one.name for one in each.enclosing] for each in (own, same[0])]
            assert around[0] == around[1]
    return found


def places(tree: ast.AST) -> str:
    return ast.dump(tree, include_attributes=True)


def test_strings_brackets_and_comments_at_the_margin_end_no_block():
    found = compared(ODD)
    left = {name for name, is_found in found.items() if not is_found}
    assert left == {"under_if", "made"}
    assert len(found) == 10


@pytest.mark.parametrize("module", [ast, inspect, linecache, textwrap, block])
def test_the_functions_of_a_module_are_those_of_its_file(module):
    found = compared("".join(linecache.getlines(module.__file__)))
    assert sum(found.values()) > 0.9 * len(found)  # the others are defined in an `if`


def test_a_function_that_is_found_alone_can_be_changed():
    first, second = read_source(codes), read_source(codes)
    assert first.tree is not second.tree


def test_a_line_that_is_no_definition_is_left_to_the_whole_file():
    code = codes.__code__.replace(co_firstlineno=1)
    assert definition_at(code, ["x = 1\n"]) is None
    assert definition_at(code, []) is None
