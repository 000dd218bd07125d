"""`return`, `break` and `continue` in a `finally`: they end an exception, and replace a jump."""

from __future__ import annotations

from tests.zoo.programs import f, program

PATHS = (
    (f(1.0, 2.0, -3.0),),
    (f(-1.0, -2.0, 0.5),),
    (f(4.0, 5.0, 6.0),),
    (f(4.0, -9.0, 1.0),),
    (f(-5.0, 9.0, 0.0),),
)


@program(*PATHS, may_raise=True)
def jumps_in_finally_of_a_loop(x):
    """A value that the body returns, and an error that it raises, are replaced or go on."""
    for v in x:
        try:
            if v > 3:
                return "body", v.item()
            if v < 0:
                raise ValueError(v.item())
        finally:
            if v > 5:
                return "final", v.item()
            if v > 4 or v < -4:
                continue
    return "end"


@program(*PATHS, may_raise=True)
def jumps_in_finally_with_handlers(x):
    """What a handler raises, and a `continue` of its own, meet the `break` of the `finally`."""
    log = []
    for k, v in enumerate(x):
        try:
            if v < 0:
                raise KeyError(k)
            if v > 5:
                raise ValueError(k)
            log.append("body")
        except KeyError as error:
            log.append(error.args)
            if v < -2:
                continue
            if v < -1:
                raise
        else:
            log.append("else")
        finally:
            log.append("finally")
            if v > 5:
                break
    else:
        log.append("all")
    return log


@program(*PATHS, may_raise=True)
def break_in_finally_around_a_division(x):
    """No line of it raises by name; what the op raises goes on where the `finally` does not."""
    k = 0
    while True:
        try:
            v = x[k]
            k += 1
            if v > 3:
                continue
            1 // int(v > 0)
        finally:
            if k >= 3:
                break
            if v < 0:
                return "negative", k
    return k


@program(*PATHS)
def loop_in_a_finally_that_returns(x):
    """Jumps of a loop inside stay inside."""
    try:
        if x.sum() < 0:
            raise ValueError("lost")
    finally:
        for v in x:
            if v > 4:
                break
        else:
            return "none"
    return "after"
