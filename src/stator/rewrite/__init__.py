"""Python -> Python: what a function does becomes calls of the staging object. No torch.

`convert.convert` is the entry; `convert.PASSES` is the list of passes, in order, each in a
module of its own. The rewrite decides nothing: `if TEST` becomes `stator__.if_stmt(TEST, ...)`
whatever TEST is, and staging decides at run time whether to run or to record.
"""
