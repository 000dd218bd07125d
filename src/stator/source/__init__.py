"""What the user wrote: source text and tree, a fence, scopes, liveness. No torch.

text        a function -> its tree, on the user's own lines
private     `__name` inside a class -> `_Class__name`
fence       a decision for every kind of node
scopes      which names a tree binds, reads, captures
definite    which reads may meet a name that is not bound yet
liveness    which names are still wanted after a statement
files       every function of a file, without running it
facts       all of these for one function, and the state of each staged statement
"""
