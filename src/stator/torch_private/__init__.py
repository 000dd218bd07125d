"""Everything that Stator uses of torch's private API, and nothing else.

A name that torch does not document may change with any release. Each one is imported or wrapped
here, by topic, and `tests/torch_private` probes each one: what it is, and the behaviour that Stator
relies on. To support another torch, run those tests with it and mend what they find.

    fake        tensors without data, and the mode that makes them
    dispatch    modes that see every op; the Python dispatcher; transforms around a call
    ops         overloads, their schemas and kernels
    symbols     sizes as sympy expressions
    trees       tensors in nested containers; tables keyed by tensor
    modules     tables and hooks of nn.Module
    checks      C++ checks of torch's own compiler: tensors, modes, versions of dicts
    distributions  checks of values
    scripts        functions of TorchScript
    control_flow   functions that take functions: `cond`, `while_loop`, `map`, `scan`
    numpy_layer numpy's functions on tensors
    inductor    torch's compiler, without Dynamo
"""

CHECKED_ON = ("2.11", "2.13")  # the oldest and the newest torch that the tests have been run with
