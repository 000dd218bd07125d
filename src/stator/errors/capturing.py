"""Errors while user code runs: this run cannot be recorded."""

from __future__ import annotations

from stator.errors.base import StatorError


class CaptureError(StatorError):
    """A run of the converted function cannot be recorded as a program.

    The function was converted and ran on symbolic tensors, but it did something that a program
    cannot do. For example, it returned an object that a program cannot return, or torch could not
    trace one of its ops.

    Fails::

        import stator
        import torch

        @stator.to_static
        def scaled(x):
            return map(x.mul, [1, 2])

        scaled(torch.ones(2))

    Instead::

        import stator
        import torch

        @stator.to_static
        def scaled(x):
            return list(map(x.mul, [1, 2]))

        scaled(torch.ones(2))
    """

    code = "ST200"


class BranchMismatch(CaptureError, TypeError):
    """The two sides of a branch leave a variable in states that cannot be joined.

    Which side runs is known only at run time, so the code after the branch must work with either
    result. Most differences can be joined: different sizes, dtypes or ranks, None or a tensor. An
    object that each side builds in a different order cannot. Neither can library code use the
    truth value, the items or the hash of a value that differs between the sides.

    Fails::

        import stator
        import torch

        @stator.to_static
        def scores(x):
            table = {}
            if x.sum() > 0:
                table["low"], table["high"] = x.min(), x.max()
            else:
                table["high"], table["low"] = x.max(), x.min()
            return table

        scores(torch.ones(2))

    Instead::

        import stator
        import torch

        @stator.to_static
        def scores(x):
            table = {"low": x.min(), "high": x.max()}
            if x.sum() > 0:
                table["low"] = table["low"] * 2
            return table

        scores(torch.ones(2))
    """

    code = "ST201"


class LoopStateChanged(CaptureError, TypeError):
    """A loop variable has a different type in each iteration.

    A loop is recorded once and runs many times, so each variable needs one type for all
    iterations: a dtype, a rank, a structure. Sizes may change from one iteration to the next, but
    the number of dimensions may not keep growing.

    Fails::

        import stator
        import torch

        @stator.to_static
        def deepen(x, n):
            while n > 0:
                x = x[None]
                n = n - 1
            return x

        deepen(torch.ones(2), torch.tensor(3))

    Instead::

        import stator
        import torch

        @stator.to_static
        def deepen(x, n: int):
            for _ in range(n):  # a Python number: the loop is unrolled
                x = x[None]
            return x

        deepen(torch.ones(2), 3)
    """

    code = "ST202"


class DataDependent(CaptureError, ValueError):
    """Python code needs a concrete value that is known only at run time.

    Branches, loops, comparisons, arithmetic, lists and strings of captured values are recorded. But
    code that Stator does not convert, such as a C function or a library that needs a Python number,
    needs the actual value during the capture.

    Fails::

        import math
        import stator
        import torch

        @stator.to_static
        def mantissa(x):
            return math.frexp(float(x))[0]

        mantissa(torch.tensor(3))

    Instead::

        import stator
        import torch

        @stator.to_static
        def mantissa(x):
            return torch.frexp(x.double()).mantissa

        mantissa(torch.tensor(3))
    """

    code = "ST203"


class UnsupportedCall(CaptureError, NotImplementedError):
    """A call whose effect a program cannot express.

    Python runs a call once, during the capture; later runs replay the program. Calls that would
    then behave differently are refused: a key from the system would be the same in every run, an
    address or an `id` would belong to another object, and a hook would be lost.

    Fails::

        import secrets
        import stator
        import torch

        @stator.to_static
        def jitter(x):
            return x + secrets.randbelow(6)

        jitter(torch.ones(2))

    Instead::

        import stator
        import torch

        @stator.to_static
        def jitter(x):
            return x + torch.randint(6, ())

        jitter(torch.ones(2))
    """

    code = "ST204"


class UntrackedTensor(CaptureError, RuntimeError):
    """A tensor was created by code that the recorder cannot see.

    The recorder follows torch's ops. It has no op for a tensor that a C extension computed from
    captured values, or for one that code that is not converted kept from an earlier branch or
    iteration. The program cannot use such a tensor.

    Fails::

        import stator
        import torch

        seen = {}

        @stator.not_to_static
        def keep(x):
            seen["last"] = x

        @stator.to_static
        def scaled(x):
            if x.sum() > 0:
                keep(x * 2)
            return seen["last"] + 1

        scaled(torch.ones(2))

    Instead::

        import stator
        import torch

        @stator.to_static
        def scaled(x):
            last = x
            if x.sum() > 0:
                last = x * 2
            return last + 1

        scaled(torch.ones(2))
    """

    code = "ST205"
