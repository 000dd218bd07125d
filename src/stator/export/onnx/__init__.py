"""ONNX: a program without effects on memory -> one graph with `If`, `Loop` and sequences.

types        types of a program -> types of ONNX
scope        one graph that is being built: its nodes, constants and values
status       errors as data: a status, and a message for each number
lowering     the walk: blocks, `if`, `while`, and a table of the others
scans        loops over rows as `Scan`
numbers      Python numbers: int64, double and bool scalars with Python's meaning
lists        lists of unknown length as sequences
library      ops of torch by torch's own function library, with their promotion and checks
tensors      ops of torch that the library lacks, or that need a check
searches     stable sorting, medians, places in sorted rows, choices by a mask
activations  gelu, which ONNX Runtime computes in one step, and silu
ranges       Sigmoid and Tanh, whose kernels in ONNX Runtime leave their ranges
fusion       formulas of several nodes as one
model        the model as a whole: inputs, outputs, weights, metadata
session      running it in ONNX Runtime
"""
