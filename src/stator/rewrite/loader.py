"""AST -> function over the real globals and cells.

The new function shares its globals dict and its closure cells with the original,
so a later rebinding is seen by both. The tree keeps the user's file and line numbers,
so a traceback or a debugger stops in the user's own text: there is no source map.
"""

from __future__ import annotations
import __future__

import ast
import functools
import re
import types

from stator.frames import STAGING
from stator.rewrite.visible import visible_names
from stator.source.nodes import copy_place, locate

OWN_NAME = "function__"  # not the user's: a global function may call itself by name
GENERATED = re.compile(r"(body|orelse|final|handler|test|comp|thunk)_\d+(_\d+)?__")
Sets = dict[frozenset[str], frozenset[object]]
(_parsed,) = ast.parse("def name(): pass").body
assert isinstance(_parsed, ast.FunctionDef)
EMPTY: ast.FunctionDef = _parsed
FUTURE = 0
for _feature in __future__.all_feature_names:
    FUTURE |= getattr(__future__, _feature).compiler_flag


def compile_tree(tree: ast.FunctionDef, like: types.CodeType) -> types.CodeType:
    """The code of `tree`, a rewritten form of the function whose code is `like`."""
    outer = _definition("name", _closed_over(like.co_freevars), EMPTY)
    outer.body = [_without_header(tree)]
    module = ast.Module([outer], [])
    with visible_names(tree):
        try:
            whole = _compiled(module, like)
        except TypeError:  # a node that a pass has made has no place: most have
            whole = _compiled(locate(module), like)
    code = _inner_code(_inner_code(whole))
    return _named(code, like.co_name, like.co_qualname, _frozensets(like))


def _compiled(module: ast.Module, like: types.CodeType) -> types.CodeType:
    code: types.CodeType = compile(
        module, like.co_filename, "exec", like.co_flags & FUTURE, dont_inherit=True
    )
    return code


@functools.lru_cache(maxsize=256)
def _closed_over(names: tuple[str, ...]) -> ast.arguments:
    """The parameters of a function around one that closes over `names`, and over staging."""
    given = [copy_place(ast.arg(name), EMPTY) for name in sorted({*names, STAGING})]
    return ast.arguments([], given, None, [], [], None, [])


def load(code: types.CodeType, like: types.FunctionType, staging: object) -> types.FunctionType:
    """A function with this `code` that replaces `like`."""
    cells = dict(zip(like.__code__.co_freevars, like.__closure__ or (), strict=True))
    cells[STAGING] = types.CellType(staging)
    closure = tuple(cells[name] for name in code.co_freevars)
    new = types.FunctionType(code, like.__globals__, like.__name__, like.__defaults__, closure)
    new.__kwdefaults__ = like.__kwdefaults__
    new.__qualname__, new.__module__, new.__doc__ = like.__qualname__, like.__module__, like.__doc__
    new.__annotations__ = like.__annotations__
    new.__dict__.update(like.__dict__)
    return new


def _without_header(tree: ast.FunctionDef) -> ast.FunctionDef:
    """`tree` with bare parameters: defaults and annotations belong to the function object."""
    given = tree.args
    bare = ast.arguments(
        [_bare(item) for item in given.posonlyargs], [_bare(item) for item in given.args],
        given.vararg and _bare(given.vararg), [_bare(item) for item in given.kwonlyargs],
        [None for _ in given.kwonlyargs], given.kwarg and _bare(given.kwarg), [],
    )  # fmt: skip
    new = _definition(OWN_NAME, bare, tree)
    new.body = tree.body
    return new


def _definition(name: str, args: ast.arguments, at: ast.AST) -> ast.FunctionDef:
    """A function whose other fields, some of which only newer Pythons have, are as in `EMPTY`."""
    new = ast.FunctionDef.__new__(ast.FunctionDef)
    new.__dict__.update(EMPTY.__dict__)
    new.name, new.args = name, args
    return copy_place(new, at)


def _bare(item: ast.arg) -> ast.arg:
    return item if item.annotation is None else copy_place(ast.arg(item.arg), item)


def _inner_code(code: types.CodeType) -> types.CodeType:
    return next(const for const in code.co_consts if isinstance(const, types.CodeType))


def _frozensets(code: types.CodeType) -> Sets:
    """The sets among the constants: made again, they might give their items in another order."""
    found = {_key(one): one for one in code.co_consts if isinstance(one, frozenset)}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found |= _frozensets(const)
    return found


def _key(constant: frozenset[object]) -> frozenset[str]:
    return frozenset(map(repr, constant))  # `1` is not `1.0`


def _named(code: types.CodeType, name: str, qualname: str, sets: Sets) -> types.CodeType:
    """`code` and the functions in it, under the names that tracebacks should show.

    A piece that the rewrite has made goes by the name of the function that it is a piece of.
    """

    def own(const: object) -> object:
        if isinstance(const, frozenset):
            return sets.get(_key(const), const)
        if not isinstance(const, types.CodeType):
            return const
        if GENERATED.fullmatch(const.co_name):
            return _named(const, name, qualname, sets)
        return _named(const, const.co_name, f"{qualname}.<locals>.{const.co_name}", sets)

    consts = tuple(map(own, code.co_consts))
    return code.replace(co_name=name, co_qualname=qualname, co_consts=consts)
