"""The group of commands: errors become messages and exit codes, results text or JSON."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import click

from stator.api.settings import set_from
from stator.cli.failures import (
    INTERRUPTED,
    REFUSED,
    SCHEMA,
    WRONG_CALL,
    CommandFailure,
    of_bug,
    of_files,
    of_stator,
)
from stator.cli.origin import Origin
from stator.errors import StatorError
from stator.logs import HIGHEST, frames_are_shown

ORIGIN = tuple(field.name for field in dataclasses.fields(Origin))


class Application(click.Group):
    """A group whose commands end with a message of one kind and a documented exit code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; whether JSON is wanted must be known before anything can fail."""
        ctx.meta["json"] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named."""
        try:
            set_from()
            return super().invoke(ctx)
        except click.exceptions.Exit:
            raise
        except BrokenPipeError:
            raise  # click ends quietly: the reader of the output has closed it
        except KeyboardInterrupt:
            click.echo("\ninterrupted", err=True)
            ctx.exit(INTERRUPTED)
        except Exception as error:
            if frames_are_shown():
                traceback.print_exc(file=sys.stderr)
            failure = _as_failure(error, ctx)
            if failure is error:
                raise
            raise failure from error


def _as_failure(error: Exception, ctx: click.Context) -> click.ClickException:
    """`error` as what the user sees."""
    as_json = ctx.meta["json"]
    if (
        isinstance(error, click.ClickException)
        and not isinstance(error, CommandFailure)
        and not as_json
    ):
        return error  # a wrong option: click shows the usage line, too
    failure = _failure(error)
    failure.as_json_of = (ctx.invoked_subcommand or "") if as_json else None
    return failure


def _failure(error: Exception) -> CommandFailure:
    if isinstance(error, CommandFailure):
        return error
    if isinstance(error, click.ClickException):
        return CommandFailure(error.format_message(), WRONG_CALL)
    if isinstance(error, StatorError):
        return of_stator(error)
    if isinstance(error, ModuleNotFoundError) and error.name in ("torch", "numpy", "safetensors"):
        return CommandFailure(
            f"{error.name} is not installed", REFUSED, fix="run `stator doctor` to see what is"
        )
    return of_files(error) if isinstance(error, OSError) else of_bug(error)


def work(module: str, name: str) -> Callable[..., None]:
    """What a command does: `module.name`, imported when the command is used.

    It is given the options that make an `Origin` as one.
    """

    def run(**given: Any) -> None:
        screen = importlib.import_module("stator.cli.screen")
        with screen.working("starting"):
            found = importlib.import_module(f"stator.cli.{module}")
        own = {option: given.pop(option) for option in ORIGIN if option in given}
        if own:
            given["origin"] = Origin(**own)
        outcome = getattr(found, name)(**given)
        context = click.get_current_context()
        if context.meta["json"]:
            head = {"schema": SCHEMA, "command": context.info_name}
            click.echo(json.dumps(_plain(head | outcome.data), indent=2, allow_nan=False))
        else:
            outcome.show(screen.console())
        context.exit(outcome.exit_code)

    return run


def _plain(data: Any) -> Any:
    """`data` as JSON can have it: what is not finite becomes text."""
    if isinstance(data, dict):
        return {str(key): _plain(item) for key, item in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(item) for item in data]
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    return data if data is None or isinstance(data, bool | int | float | str) else str(data)


def be_verbose(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Say what is done, and show tracebacks: `STATOR_VERBOSITY=3`, for this command."""
    if wanted:
        before = os.environ.get("STATOR_VERBOSITY", "0")
        os.environ["STATOR_VERBOSITY"] = str(HIGHEST)  # read again when the library is imported
        set_from()
        ctx.find_root().call_on_close(lambda: os.environ.update(STATOR_VERBOSITY=before))
