"""The static side: programs written by hand, run by an executor, saved and loaded.

import torch
from stator import static

program = static.Program()
with static.program_guard(program):
    x = static.data("x", [None, 4])
    y = torch.relu(x).sum()
executor = static.Executor("cpu")
(total,) = executor.run(program, feed={"x": array}, fetch_list=[y])
"""

from stator.program.ir import Value
from stator.static.control import Assert, Print, case, cond, switch_case, while_loop
from stator.static.executor import CompiledProgram, Executor
from stator.static.inference_model import load_inference_model, save_inference_model
from stator.static.program import StaticProgram as Program
from stator.static.program import data, program_guard
from stator.static.strategy import BuildStrategy, ExecutionStrategy

__all__ = [
    "Assert",
    "BuildStrategy",
    "CompiledProgram",
    "ExecutionStrategy",
    "Executor",
    "Print",
    "Program",
    "Value",
    "case",
    "cond",
    "data",
    "load_inference_model",
    "program_guard",
    "save_inference_model",
    "switch_case",
    "while_loop",
]
