"""What can be typed: every command, with its options and its help.

NOTE: why the work is done elsewhere. Help and shell completion must be instant, and torch takes
seconds to import: nothing here imports it.
"""

from __future__ import annotations

import inspect as inspection
from collections.abc import Callable
from typing import Any, TypeVar

import click

from stator.cli.app import Application, be_verbose, work
from stator.requirements import installed_version

Declared = TypeVar("Declared", bound=Callable[..., Any])
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
FILES = click.Path()  # any text, which a shell completes as a file
EXITS = """Exit codes: 0 success; 1 the command found something (a refusal, a difference, a missing
package); 2 wrong usage; 3 Stator refused; 4 your code raised an exception; 5 a bug in Stator;
130 interrupted."""


@click.group(cls=Application, context_settings=SETTINGS, epilog=EXITS)
@click.version_option(installed_version(), prog_name="stator")
def main() -> None:
    """Turn eager PyTorch code with ordinary Python control flow into static programs.

    OBJ is an object in your code, as package.module:Name or file.py:Name: a function, an nn.Module,
    a module class, or a factory make(). MODEL is the path of a saved model.

    `stator COMMAND --help` shows examples.
    """


def _command(module: str) -> Callable[[Callable[[], None]], click.Command]:
    """A command whose docstring is its help, and whose work is the function of its name there."""

    def declare(documented: Callable[[], None]) -> click.Command:
        options = getattr(documented, "__click_params__", [])[::-1]
        command = click.Command(
            documented.__name__.replace("_", "-"),
            params=[*options, *_everywhere()],
            callback=work(module, documented.__name__),
            help=_help(documented),
            context_settings=SETTINGS,
        )
        main.add_command(command)
        return command

    return declare


def _help(documented: Callable[[], None]) -> str:
    """The docstring; click is not to wrap the lines of its example."""
    return inspection.cleandoc(documented.__doc__ or "").replace("Example:", "\b\nExample:")


def _everywhere() -> list[click.Parameter]:
    return [
        click.Option(
            ["--json"], is_flag=True, expose_value=False, help="Print one JSON object."
        ),
        click.Option(
            ["-v", "--verbose"], is_flag=True, expose_value=False, is_eager=True,
            callback=be_verbose, help="Log progress and show full tracebacks.",
        ),
    ]  # fmt: skip


def _inputs(function: Declared) -> Declared:
    """`--input`, and what random inputs are drawn from."""
    for option in (
        click.option("--seed", default=0, show_default=True, help="Seed of the random inputs."),
        click.option(
            "--size", "sizes", multiple=True, metavar="[NAME=]N",
            help="Size of random inputs where a spec has None (default 4) or NAME.",
        ),
        click.option(
            "-i", "--input", "inputs", multiple=True, metavar="INPUT",
            help="An argument, repeatable: x:float32[None,784], ids:int64[B,T]@0..9, x=x.npy, n=3.",
        ),
    ):  # fmt: skip
        function = option(function)
    return function


def _init(function: Declared) -> Declared:
    return click.option(
        "--init", multiple=True, metavar="NAME=VALUE",
        help="An argument for the class or factory that OBJ names. Repeatable.",
    )(function)  # fmt: skip


def _object(function: Declared) -> Declared:
    """How the object is made, and in which mode it is."""
    mode = click.option(
        "--mode", type=click.Choice(["train", "eval"]),
        help="Put the module into this mode first.",
    )  # fmt: skip
    return _init(mode(function))


def _eval_mode(function: Declared) -> Declared:
    return click.option(
        "--mode", type=click.Choice(["train", "eval"]), default="eval", show_default=True,
        help="The mode to run in.",
    )(function)  # fmt: skip


def _method(function: Declared) -> Declared:
    return click.option(
        "--method", default="forward", show_default=True, help="Method of a saved model."
    )(function)


@_command("checking")
@click.argument("targets", nargs=-1, required=True, metavar="FILE[:NAME]...", type=FILES)
@click.option("--all", "everything", is_flag=True, help="Every function, not only static ones.")
@click.option("--exclude", multiple=True, metavar="GLOB",
              help="Skip files and folders with this name. Repeatable.")  # fmt: skip
def check() -> None:
    """List converted and refused code by line, without running it.

    It checks the static functions of a file and the functions that they call or contain; if there
    are none, all functions. NAME selects one: Model.forward, or Model for all its methods.
    In a folder, it checks the Python files except those in virtual environments, node_modules,
    build and .gitignore. Exits with 1 if anything is refused.

    Example:
      stator check model.py
      stator check src/ --exclude "*_test.py" --json
      stator check model.py:Decoder.forward
    """


@_command("looking")
@click.argument("obj", type=FILES)
@_inputs
@_object
@click.option("--html", type=click.Path(dir_okay=False), help="Write the report as a page.")
def explain() -> None:
    """Report how each source line of OBJ was converted.

    The report has branches, loops, guards, side effects, and code that ran as Python with the
    reason. OBJ is captured for the inputs but not run. Exits with 1 if it is refused.

    Example:
      stator explain model.py:Decoder --input "tokens:int64[None,None]"
    """


@_command("looking")
@click.argument("obj", type=FILES)
@_object
def code() -> None:
    """Print the rewritten Python code of OBJ.

    Example:
      stator code model.py:Decoder
      stator code model.py:step > rewritten.py
    """


@_command("printing")
@click.argument("target", metavar="OBJ|MODEL", type=FILES)
@_inputs
@_object
@_method
@click.option("--raw", is_flag=True, help="As captured, before optimization.")
@click.option("--places/--no-places", default=True, help="Show the source line of each op.")
def program() -> None:
    """Print the program of OBJ for these inputs, or that of MODEL.

    Example:
      stator program model.py:Decoder --input "tokens:int64[None,None]"
      stator program out/decoder --mode train
    """


@_command("saving")
@click.argument("obj", type=FILES)
@_inputs
@_object
@click.option("-o", "--output", required=True, metavar="PATH",
              help="Write PATH.stator and PATH.safetensors; for a folder, under the object's name.",
              )  # fmt: skip
@click.option("--embed-source", is_flag=True,
              help="Store the source of the functions in PATH.stator.")  # fmt: skip
def save() -> None:
    """Save OBJ as a model, for these inputs.

    A module is saved in eval mode unless --mode is train.

    Example:
      stator save model.py:Decoder -i "tokens:int64[None,None]" -o out/decoder
      stator save model.py:Net --init width=64 -i "x:float32[None,784]" -o out/
    """


@_command("exporting")
@click.argument("model", type=FILES)
@click.option("-o", "--output", metavar="FILE",
              help="Write this file, with the weights inside; in a folder, under MODEL's name. "
                   "Without it, beside MODEL.")  # fmt: skip
@click.option("--opset", type=click.IntRange(1),
              help="ONNX opset; by default the newest that ONNX Runtime runs.")  # fmt: skip
@click.option(
    "--embed",
    is_flag=True,
    help="Store the weights inside the ONNX file.",
)
@click.option("--search/--no-search", default=True, show_default=True,
              help="Also compare on generated inputs that take other paths.")  # fmt: skip
def onnx() -> None:
    """Write the ONNX file of a saved MODEL, one for each method.

    Each file is checked, and compared with the program in ONNX Runtime. The report has a line for
    each check and the largest difference of each output. No file is kept if the results differ or
    if ONNX cannot express the program. Exits with 1 if no run could be compared. It needs the
    extra `onnx`.

    Example:
      stator onnx out/decoder
      stator onnx out/decoder -o decoder.onnx --opset 20
    """


@_command("compiling")
@click.argument("model", type=FILES)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True,
              help="What the libraries are for.")  # fmt: skip
def compile() -> None:  # noqa: A001  # the name of the command
    """Compile the regions of a saved MODEL, ahead of time.

    Writes the folder MODEL.compiled beside it, with a library for each region: machine code, for
    this version of torch and processors like this one. Each library is run beside the ops that it
    replaces, and is left out, with a warning, where the results differ. It is used by
    `stator.load(..., trust_compiled=True)`, `stator run --trust-compiled` and
    `stator-run --trust-compiled`, and by nothing else.

    Example:
      stator compile out/decoder
    """


@_command("running")
@click.argument("model", type=FILES)
@_inputs
@_method
@_eval_mode
@click.option("--device", default="cpu", show_default=True, help="Where it runs: cpu, cuda:0.")
@click.option("--trust-compiled", is_flag=True,
              help="Run the libraries in MODEL.compiled, which is machine code: only for a folder "
                   "whose origin you know.")  # fmt: skip
@click.option("-o", "--output", metavar="FILE",
              help="Write the results: .npz, .npy (for one) or .safetensors.")  # fmt: skip
def run() -> None:
    """Run a saved MODEL on arrays or values.

    Inputs are passed by name, or in the order that `stator inspect` lists. Output that the program
    prints goes to stderr.

    Example:
      stator run out/decoder --input tokens=tokens.npy --output out/result.npz
      stator run out/scale --input "x=[1.0, 2.0]"
    """


@_command("inspecting")
@click.argument("model", type=FILES)
@click.option("--tensors", is_flag=True, help="List every tensor, not only the largest.")
def inspect() -> None:
    """Show the contents of a saved MODEL.

    Lists methods, inputs, outputs, sizes, op counts, versions and digests.

    Example:
      stator inspect out/decoder
    """


@_command("comparing")
@click.argument("first", metavar="A", type=FILES)
@click.argument("second", metavar="B", type=FILES)
@_inputs
@_object
def diff() -> None:
    """Compare two saved models, or the programs of two objects.

    Names of values and line numbers are ignored. Ops, their order, constants, types, weights,
    inputs and outputs are compared. Exits with 1 if they differ.

    Example:
      stator diff out/before out/after
      stator diff old.py:step new.py:step --input "x:float32[None]"
    """


@_command("timing")
@click.argument("target", metavar="OBJ|MODEL", type=FILES)
@_inputs
@_init
@_eval_mode
@_method
@click.option("--compile", "compiled", is_flag=True, help="Also time torch.compile.")
@click.option("--backward", is_flag=True, help="Include the gradients of a sum of the results.")
@click.option("--rounds", default=15, show_default=True, type=click.IntRange(1),
              help="Contenders alternate, round by round.")  # fmt: skip
@click.option("--seconds", default=0.02, show_default=True, type=click.FloatRange(0),
              help="Minimum time per contender and round.")  # fmt: skip
def bench() -> None:
    """Time OBJ eagerly and as a program.

    Both get the same inputs; it prints medians and ratios. For a saved MODEL, only its own time is
    printed. Results are compared first: exits with 1 if they differ.

    Example:
      stator bench model.py:Decoder --input "tokens:int64[1,16]" --compile
    """


@_command("doctor")
@click.option("--try/--no-try", "tries", default=True,
              help="Capture and run a small function, or skip that.")  # fmt: skip
def doctor() -> None:
    """Report what is installed, what is missing and how to get it.

    Exits with 1 if something that Stator needs is missing.

    Example:
      stator doctor
    """


@_command("building")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1),
              help="Number of files compiled at once.")  # fmt: skip
def build_native() -> None:
    """Compile the native runtime for this torch and this Python.

    It needs a C++ compiler, cmake, ninja and nlohmann-json (the extra `native`). An existing
    build is reused.

    Example:
      stator build-native
    """


@_command("proving")
@click.argument("obj", type=FILES)
@_inputs
@_object
@click.option("--backend", "backends", multiple=True, help="A backend to compare. Repeatable.")
@click.option("--gradients/--no-gradients", default=True, help="Compare gradients too.")
@click.option("--rtol", type=float, help="Relative tolerance.")
@click.option("--atol", type=float, help="Absolute tolerance.")
@click.option("--budget", default=200, show_default=True, type=click.IntRange(1),
              help="Maximum number of generated inputs.")  # fmt: skip
def verify() -> None:
    """Compare OBJ with its program and its saved model.

    All three run on these inputs and on generated ones that take other paths. Exits with 1 if
    anything differs.

    Example:
      stator verify model.py:Decoder --input "tokens:int64[2,8]@0..99"
    """


@_command("viewing")
@click.argument("target", metavar="[OBJ|MODEL]", type=FILES, required=False)
@_inputs
@_object
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="The HTML file to write.")
@click.option("--open", "opened", is_flag=True, help="Show the page in the browser.")
def view() -> None:
    """Write a page with the program's graph beside its source.

    Without OBJ or MODEL the page is empty, and opens saved models that are dropped on it.

    Example:
      stator view out/decoder -o decoder.html
      stator view out/decoder --open
    """
