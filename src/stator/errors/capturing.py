"""Errors while user code runs: this run cannot be recorded."""

from __future__ import annotations

from stator.errors.base import StatorError


class CaptureError(StatorError):
    """A run of the converted function cannot be recorded as a program.

    The function was converted and ran on symbolic tensors, and did something that a program cannot
    do: it gave back what no program can give, or torch itself could not follow it.

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
    """The two sides of a branch leave a variable in forms that have no common one.

    Which side runs is known only when the program runs, so what comes after must be able to use
    either result. Most differences are joined (another size, None or a tensor, two dtypes); an
    object that is built up differently on each side is not, nor can library code ask for the
    truth, the items or the hash of something that is one thing or another.

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
    """A loop variable has another type in every iteration.

    A loop of the program is recorded once and runs many times, so each variable needs one type that
    holds for every iteration: a dtype, a rank, a structure. Sizes may change from one iteration to
    the next; the number of dimensions may not keep growing.

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
    """Python code needs a concrete value where only a run of the program has one.

    `if`, loops, comparisons, arithmetic, lists and strings of captured values are all recorded. But
    code that Stator does not convert (a function in C, a library that asks for a number) needs the
    very value while the program is still being made.

    Fails::

        import math
        import stator
        import torch

        @stator.to_static
        def next_number(x):
            return math.nextafter(int(x), 6)

        next_number(torch.tensor(3))

    Instead::

        import stator
        import torch

        @stator.to_static
        def next_number(x):
            return torch.nextafter(x.double(), torch.tensor(6.0).double())

        next_number(torch.tensor(3))
    """

    code = "ST203"


class UnsupportedCall(CaptureError, NotImplementedError):
    """A call whose effect a program cannot express.

    A captured call is replayed, not run again by Python. What would then mean something else is
    refused: random numbers drawn by Python would be the same in every run, an address or an `id`
    would be that of another object, a hook would be lost.

    Fails::

        import random
        import stator
        import torch

        @stator.to_static
        def jitter(x):
            return x + random.random()

        jitter(torch.ones(2))

    Instead::

        import stator
        import torch

        @stator.to_static
        def jitter(x):
            return x + torch.rand(())

        jitter(torch.ones(2))
    """

    code = "ST204"


class UntrackedTensor(CaptureError, RuntimeError):
    """A tensor was made by code that the recorder could not see.

    The recorder follows torch's ops. A tensor that was computed from captured values in another
    way (by a C extension), or kept from a branch or an iteration that is over by code that is not
    converted, has no op in sight that made it, so the program could not use it.

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
