"""`if`, `match`, the ternary and the walrus, on tensors, numbers and sizes."""

from __future__ import annotations

import torch

from tests.zoo.programs import b, f, i, program, r


@program((f(1.0, 2.0),), (f(-1.0, -2.0),), (f([0.0]),), (f([]),), dynamic=({0},), trains=True)
def three_ways(x):
    """`elif` chain on a 0-d tensor; a size of 0 gives a sum of 0."""
    if x.sum() > 0:
        y = x * 2
    elif x.sum() < 0:
        y = x * 3 + 1
    else:
        y = x - 1
    return y


@program((f(3.0),), (f(-3.0),), (f([[2.0]]),), may_raise=True)
def one_element_condition(x):
    """A one-element tensor of any rank is a condition."""
    if x > 0:
        return x + 1
    return x - 1


@program((f(1.0, 2.0),), (f([5.0]),), may_raise=True, same_message=False, dynamic=({0},))
def condition_of_many_elements(x):
    """More than one element: eager's RuntimeError."""
    if x > 0:
        return x + 1
    return x - 1


@program((b(True, False),), (b(False, False),), (b([]),), dynamic=({0},))
def bool_tensor_any(mask):
    """A bool tensor's `any` is a condition without a comparison."""
    if mask.any():
        return mask.sum()
    return mask.sum() - 1


@program((i(3),), (i(0),), (i(7),))
def walrus_in_condition(n):
    """A name bound in the test is seen after it, on both paths."""
    if (half := n // 2) > 1:
        out = half * 10
    else:
        out = half - 10
    return out, half


@program((r(3, 2),), (r(5, 2, seed=1),), (r(0, 2),), (r(1, 2),), dynamic=({0},), trains=True)
def condition_on_a_size(x):
    """A branch on a dynamic size; both sides change the shape."""
    if x.shape[0] > 3:
        x = x[:3]
    elif x.shape[0] == 0:
        x = torch.ones(1, 2)
    return x * x.shape[0]


@program((f(1.0), f(2.0)), (f(1.0), f(-2.0)), (f(-1.0), f(2.0)), (f(-1.0), f(-2.0)), trains=True)
def ternary_in_ternary(x, y):
    """Nested conditional expressions, one inside a call's arguments."""
    z = torch.maximum(x if y > 0 else -x, y) if x > 0 else (y if y > 0 else x * y)
    return z * 2


@program((f(2.0),), (f(-2.0),))
def branch_only_for_effect(x):
    """A branch that binds nothing but writes a list seen through another name."""
    kept = []
    other = kept
    if x > 0:
        other.append(x)
    else:
        other.append(x * 2)
        other.append(x * 3)
    return kept[0], len(other)


@program((f(2.0), 1), (f(-2.0), 1), (f(2.0), 2), (f(2.0), "many"))
def match_on_a_python_value(x, how):
    """`match` on Python values around a tensor's branch."""
    match how:
        case 1:
            y = x + 1 if x > 0 else x - 1
        case int():
            y = x * how
        case _:
            y = x * 0
    return y


@program((i(0),), (i(1),), (i(5),), (i(-1),))
def match_on_a_number_from_data(t):
    """`match` on a number taken from a tensor, with a guard and a capture."""
    match t.item():
        case 0:
            out = t + 100
        case n if n < 0:
            out = t * n
        case 1 | 2:
            out = t + 200
        case n:
            out = t + n
    return out


@program((f(1.0), f(2.0)), (f(2.0), f(1.0)))
def swap_in_a_branch(x, y):
    """Two names exchanged on one path."""
    if x > y:
        x, y = y, x
    return x, y


@program((f(1.0, 1.0),), (f(-1.0, 1.0, 2.0),), (f([-1.0]),), dynamic=({0},))
def nested_with_partial_binding(x):
    """The same name bound at different depths; the shapes differ."""
    y = x.sum()
    if x[0] > 0:
        if y > 1:
            y = x.mean()
    else:
        y = x.max()
        if y > 1:
            y = y * 10
    return y


@program((f(1.0),), (f(-1.0),))
def pass_on_both_sides(x):
    """Empty sides are nothing."""
    if x > 0:
        pass
    else:
        pass
    return x


@program((i(1, 2, 3),), (i(3, 2, 1),), (i([5]),), dynamic=({0},))
def dtype_changes_in_a_branch(x):
    """int64 or float32, by data: joined or refused, never silently cast."""
    if x[0] > 2:
        x = x / 2
    return x


@program(
    (f(1.0, 2.0), f([3.0])), (f(1.0, -2.0), f([3.0])), (f(-5.0, 2.0), f([1.0])),
    (f(-5.0, 2.0), f([-1.0])), trains=True,
)  # fmt: skip
def logic_in_a_test(x, y):
    """`and`, `or` and `not` of tensors of several shapes, of which only the truth counts."""
    if x.sum() > 0 and y > 0 or not (x.max() < 2 or y > 0):
        return x * 2
    return x - y


@program((f(1.0),), (f(5.0),), (f(20.0),), (f(-1.0),))
def chain_in_a_test(x):
    """A chained comparison as a condition; a ternary as another."""
    out = x * 0
    if 0 < x < 10:
        out = out + 1
    if x > 3 if x > 0 else x < -0.5:
        out = out + 10
    return out


@program((f(1.0),), (f(-1.0),), (f(2.0, 3.0),), may_raise=True, same_message=False)
def right_side_raises_in_a_test(x):
    """The truth of the right side is an error, if the left side holds."""
    if x.sum() > 0 and torch.stack([x, x]):
        return x
    return -x


@program((f(3.0),), (f(-3.0),), (f(0.5),))
def effects_in_a_test(x):
    """What the right side does is done only where Python evaluates it."""
    seen = []

    def test(name, value):
        seen.append(name)
        return value

    if test("a", x > 0) and test("b", x > 1) or test("c", x < -1):
        seen.append("body")
    return seen


class Switch:
    """An object with a truth of its own, which counts how often it is taken."""

    def __init__(self, value):
        self.value, self.count = value, 0

    def __bool__(self):
        self.count += 1
        return bool(self.value > 0)


@program((f(1.0), f(1.0)), (f(1.0), f(-1.0)), (f(-1.0), f(1.0)), (f(-1.0), f(-1.0)))
def users_truth_in_a_test(x, y):
    """`__bool__` of a user's object is called once for each operand that Python evaluates."""
    a, c = Switch(x), Switch(y)
    out = 0
    if a and c:
        out += 1
    if a or c:
        out += 10
    if not (a and c):
        out += 100
    return out, a.count, c.count


@program((f(1.0), True), (f(-1.0), True), (f(1.0), False), (f(1.0), 0), (f(1.0), "text"))
def tensor_and_python_value_in_a_test(x, flag):
    """A tensor with a Python value in one test, in both orders."""
    out = x * 0
    if x > 0 and flag:
        out = out + 1
    if flag or x > 0:
        out = out + 10
    while x > 0 and not flag:
        x = x - 1
    return out, x
