"""Programs as graphs of torch.fx, with the control flow that torch.export has.

graph     the walk over a program: `if` becomes `cond`, `while` becomes `while_loop`
numbers   arithmetic on Python numbers that only a run knows: on tensors without dimensions
"""
