"""Does a program do what eager code does? Runs of both, side by side, on given and made inputs.

    examples     the arguments of a call, copies of them, their leaves
    state        what a call can reach and change: kept, put back, looked at
    outcome      one run, and all that it did
    comparison   do two runs differ?
    sites        the branches and loops of a program, by source line, and what was seen of them
    watching     an observer: which way each condition went, and how near it was to the other
    mutations    other inputs, made from an example
    search       inputs for what was not seen yet
    recording    the ops of two runs next to each other: the first that differs
    makers       the op that makes a part of the result
    paths        the lines and sides of two runs next to each other, where no op differs
    shrinking    a smaller input that still differs
    snippet      Python text that makes an input again
    reproducing  a difference, on the smallest input that shows it
    report       what all of it gives
    subject      what is verified
    verifier     the order of it all

What is run is given: a `Target` for eager code, and one for each backend (`stator.api.verifying`).
"""

from stator.debug.verification.report import Verification

__all__ = ["Verification"]
