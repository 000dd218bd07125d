"""Functions that call themselves as often as data says, and change what is outside of them."""

from __future__ import annotations

import functools

import torch

from tests.zoo.programs import f, i, program

COUNTS = ((i(5),), (i(1),), (i(8),), (i(0),))
EDGES = (
    (i([[0, 1], [1, 2], [3, 4]]), i(6)),
    (i([[0, 1]]), i(2)),
    (i([[0, 3], [3, 1], [1, 2], [2, 0]]), i(4)),
)


@program(*COUNTS)
def memo_in_a_dict(n):
    """A memo of the enclosing function, which is returned as well."""
    memo = {}

    def fib(k):
        if k in memo:
            return memo[k]
        r = k if k < 2 else fib(k - 1) + fib(k - 2)
        memo[k] = r
        return r

    return fib(int(n)), memo


@program(*COUNTS)
def variable_of_the_enclosing_function(n):
    """`nonlocal`, and a variable that is set again between two calls."""
    calls, base = 0, 1

    def walk(k):
        nonlocal calls
        calls += 1
        return base if k < 1 else walk(k - 1) + base

    first = walk(int(n))
    base = 20
    return first, walk(int(n)), calls


@program(*EDGES, dynamic=({0}, None))
def depth_first_components(edges, n):
    """Lists of neighbours, a list of flags, and a list that is passed on."""
    n = int(n)
    neighbours = [[] for _ in range(n)]
    for a, b in edges.tolist():
        neighbours[a].append(b)
        neighbours[b].append(a)
    seen, found = [False] * n, []

    def visit(node, component):
        seen[node] = True
        component.append(node)
        for other in neighbours[node]:
            if not seen[other]:
                visit(other, component)

    for start in range(n):
        if not seen[start]:
            component = []
            visit(start, component)
            found.append(component)
    return found


@program(*((i(k),) for k in (2, 0, 1, 3)))
def choices_taken_back(n):
    """What the recursion changes and changes back is seen by the calls in between."""
    n, sums, path = int(n), [], []

    def choose(k):
        if k == n:
            sums.append(sum(path))
            return
        choose(k + 1)
        path.append(k)
        choose(k + 1)
        path.pop()

    choose(0)
    return sums


@program(*((i(k),) for k in (2, 0, 3)))
def a_list_for_each_call(n):
    """Each call makes the list that the next one is given."""
    n, found = int(n), []

    def extend(k, path):
        found.append(path)
        for following in range(k, n):
            extend(following + 1, [*path, following])

    extend(0, [])
    return found


@program((i(1, 2, 3), i(1, 3)), (i([1]), i([2])), (i(1, 2, 2), i(2, 1, 2, 2)), dynamic=({0}, {0}))
def cached_edit_distance(a, b):
    """A cached function that reads lists of the enclosing one."""
    a, b = a.tolist(), b.tolist()

    @functools.cache
    def distance(p, q):
        if p == 0 or q == 0:
            return p + q
        if a[p - 1] == b[q - 1]:
            return distance(p - 1, q - 1)
        return 1 + min(distance(p - 1, q), distance(p, q - 1), distance(p - 1, q - 1))

    return distance(len(a), len(b))


@program((f(1.0, 2.0), i(3)), (f(1.0, -2.0), i(0)), (f(0.5, 2.0), i(5)), trains=True)
def tensors_from_outside(x, n):
    """A tensor of the enclosing function is read, another one written to."""
    scale, filled = x.sum(), torch.zeros(8)

    def walk(y, k):
        filled[k] = 1.0
        return walk(y * scale, k - 1) + x if k > 0 else y

    return walk(x, int(n)), filled
