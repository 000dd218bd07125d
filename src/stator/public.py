"""The public names, each from its place; `stator` gives them out at their first use."""

from stator import debug, errors, static, testing
from stator.api.concrete import ConcreteProgram
from stator.api.conversion import to_static
from stator.api.example import Example
from stator.api.explaining import explain
from stator.api.exported import to_exported_program
from stator.api.input_spec import InputSpec
from stator.api.saving import TranslatedLayer, load, save
from stator.api.settings import set_code_level, set_from, set_verbosity
from stator.api.static_function import StaticFunction
from stator.api.stepping import install_targets
from stator.api.switches import enable_to_static, host_call, ignore_module, not_to_static
from stator.api.verifying import verify
from stator.api.viewing import make_viewable
from stator.errors import StatorError
from stator.inductor.status import compiled
from stator.program.program import Program
from stator.static.traced_layer import TracedLayer

__all__ = [
    "ConcreteProgram",
    "Example",
    "InputSpec",
    "Program",
    "StaticFunction",
    "StatorError",
    "TracedLayer",
    "TranslatedLayer",
    "compiled",
    "debug",
    "enable_to_static",
    "errors",
    "explain",
    "host_call",
    "ignore_module",
    "load",
    "not_to_static",
    "save",
    "set_code_level",
    "set_verbosity",
    "static",
    "testing",
    "to_exported_program",
    "to_static",
    "verify",
]

install_targets()
make_viewable()
set_from()  # what the environment asks for
