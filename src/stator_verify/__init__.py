"""Does a program do what eager code does? Runs both side by side, on given and generated inputs.

    examples     the arguments of a call, copies of them, their leaves
    state        what a call can reach and change: saved, restored, compared
    outcome      one run, and all that it did
    comparison   do two runs differ?
    sites        the branches and loops of a program, by source line, and their coverage
    watching     an observer: which path each condition took, and how near it was to the other
    drawing      other inputs like an example, drawn by hypothesis
    search       inputs for paths that were not taken yet
    program_paths  inputs for the paths of a program alone, without its function
    recording    the ops of two runs next to each other: the first that differs
    makers       the op that computes a part of the result
    paths        the lines and sides of two runs next to each other, where no op differs
    shrinking    a smaller input that still differs
    snippet      Python code that builds an input
    reproducing  a difference, on the smallest input that shows it
    subject      what is verified
    verifier     the order of it all
    verifying    a function, a method or a module as a subject; the backends
    calls        verifies the calls that tests make

`stator.verify` is the entry; the input (`Example`) and the report (`Verification`) are Stator's.
"""
