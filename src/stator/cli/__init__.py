"""The command `stator`: the library, from a shell.

commands     what can be typed: every command with its options and its help. No torch
app          the group of them: errors become messages and exit codes, results text or JSON
failures     what can go wrong, and the exit code of each
screen       the terminal: colours where they are wanted, tables, progress bars
input_text   `x:float32[None,784]`, `x=x.npy`, `n=3`: what `--input` may say
inputs       the same as tensors and specs, bound to a function's parameters
objects      `package.module:Name`, `file.py:make()`: the object that is meant
targets      the saved model that is meant. No torch

The work of each command is in a module of its own, which is imported when the command runs:
checking, looking, printing, saving, running, inspecting, comparing, timing, doctor, proving,
viewing. Those that only read files (checking, inspecting, printing, comparing) import no torch.
"""
