"""step(), and Prompt: a command line like pdb's, for the program that runs."""

from __future__ import annotations

import cmd
import linecache
import pprint
import shutil
import sys
from collections.abc import Collection, Mapping
from typing import Any

import torch

from stator.debug.stepping.breakpoints import evaluated
from stator.debug.stepping.frame import Frame, Quit
from stator.debug.stepping.stepper import OnStop, Stepper
from stator.errors import StatorError
from stator.execute.arguments import describe
from stator.frames import user_facing
from stator.program.ir import operands_of
from stator.program.printer import print_op

AROUND = 5  # lines that `l` shows before and after


@user_facing
def step(
    function: Any,
    on_stop: OnStop | None = None,
    *,
    remember: Collection[str] | None = None,
) -> Stepper:
    """A stepper for `function`: a function, a method, an nn.Module or a loaded model.

    Inside `with step(function) as stepper:`, a call of the stepper, or of a static function, runs
    the program op by op. Each stop calls `on_stop` with a `Frame`; without `on_stop` it opens a
    prompt like pdb's, if there is a terminal. The first stop is the first line, unless there are
    breakpoints. `remember` lists the names whose history is kept; None keeps all.
    """
    stepper = Stepper(function, on_stop, remember)
    if on_stop is None and sys.stdin is not None and sys.stdin.isatty():
        stepper.on_stop = Prompt(stepper)
    return stepper


class Prompt(cmd.Cmd):
    """Asks what to do at each stop; each `do_...` is a command, its docstring its help."""

    prompt = "(step) "
    doc_header = "commands (h COMMAND describes one)"

    def __init__(self, stepper: Stepper, **streams: Any) -> None:
        super().__init__(**streams)
        self.stepper = stepper
        self.frame: Frame | None = None

    def __call__(self, frame: Frame) -> None:
        """Ask, until a command lets the run go on."""
        self.frame = frame
        self.say(self._head(frame))
        try:
            self.cmdloop()
        except KeyboardInterrupt:
            raise Quit from None
        finally:
            self.frame = None

    def say(self, text: str) -> None:
        """Write lines to the terminal."""
        self.stdout.write(text + "\n")

    def _head(self, frame: Frame) -> str:
        said = {"end": "the program ends", "error": "an op raises", "watch": "changed"}
        lines = []
        if frame.why in said:
            names = f": {', '.join(frame.changed)}" if frame.changed else ""
            lines.append(f"{said[frame.why]}{names}")
        return "\n".join([*lines, str(frame)])

    @property
    def at(self) -> Frame:
        """The stop that is asked about."""
        assert self.frame is not None
        return self.frame

    # ---- how cmd.Cmd reads

    def emptyline(self) -> bool:
        """An empty line repeats the last command, as in pdb."""
        return self.onecmd(self.lastcmd) if self.lastcmd else False

    def default(self, line: str) -> None:
        """Anything else is an expression; `EOF` is the end of the input."""
        if line == "EOF":
            self.say("")
            raise Quit
        self.do_p(line)

    def onecmd(self, line: str) -> bool:
        """One command; an error is printed, and the next one is read."""
        try:
            return bool(super().onecmd(line))
        except StatorError as error:
            self.say(f"*** {error.problem}" + (f"\n    fix: {error.fix}" if error.fix else ""))
        except Exception as error:  # noqa: BLE001  # what the user typed may raise anything
            self.say(f"*** {type(error).__name__}: {error}")
        return False

    def completenames(self, text: str, *_: Any) -> list[str]:
        """Commands, and the names of variables."""
        names = [name for name in self.at.variables if name.startswith(text)]
        return [*super().completenames(text), *names]

    def completedefault(self, text: str, *_: Any) -> list[str]:
        """Names of variables."""
        return [name for name in self.at.variables if name.startswith(text)]

    # ---- going on

    def do_n(self, _: str) -> bool:
        """`n(ext)`: to the next line of this function."""
        self.at.next_line()
        return True

    def do_s(self, _: str) -> bool:
        """`s(tep)`: to the next op, also inside a function that is called."""
        self.at.step()
        return True

    def do_o(self, _: str) -> bool:
        """`o(ver)`: to the next line that is not inside a loop or a branch that begins here."""
        self.at.over()
        return True

    def do_out(self, _: str) -> bool:
        """`out`: until the loop, the branch or the function that this is in is over."""
        self.at.out()
        return True

    def do_c(self, _: str) -> bool:
        """`c(ontinue)`: to the next breakpoint, or the end."""
        self.at.resume()
        return True

    def do_q(self, _: str) -> bool:
        """`q(uit)`: the run ends here, and with it the `with` of the stepper."""
        raise Quit

    # ---- where to stop

    def do_b(self, text: str) -> None:
        """`b(reak) [[FILE:]LINE [if CONDITION]]`: stop before that line; alone, a list of them."""
        where, _, when = text.partition(" if ")
        if not where.strip():
            listed = [f"{k}  {one}" for k, one in enumerate(self.stepper.breakpoints, 1)]
            self.say("\n".join(listed) or "no breakpoints")
            return
        file, _, line = where.strip().rpartition(":")
        condition = when.strip() or None
        if file:
            made = self.stepper.break_at(file, int(line), when=condition)
        else:
            made = self.stepper.break_at(int(line), when=condition)
        self.say(f"breakpoint {len(self.stepper.breakpoints)}: {made}")

    def do_cl(self, text: str) -> None:
        """`cl(ear) [NUMBER]`: forget that breakpoint; alone, all."""
        if not text.strip():
            self.stepper.clear()
            return
        self.stepper.clear(self.stepper.breakpoints[int(text) - 1])

    def do_watch(self, text: str) -> None:
        """`watch NAME`: stop whenever the variable holds something else than before."""
        self.stepper.watch(text.strip())

    # ---- looking

    def do_p(self, text: str) -> None:
        """`p EXPRESSION`: what it gives, with the names of this line; `p %12` is a value's."""
        self.say(repr(self._value(text.strip())))

    def do_pp(self, text: str) -> None:
        """`pp EXPRESSION`: the same, over several lines."""
        self.say(pprint.pformat(self._value(text.strip()), width=_width()))

    def _value(self, text: str) -> Any:
        if text.startswith("%"):
            return self.at.values[text]
        return evaluated(text, self.at)

    def do_vars(self, _: str) -> None:
        """`vars`: the variables of this function, what they are and what they hold."""
        self.say(_table(self.at.variables) or "no variables")

    def do_loops(self, _: str) -> None:
        """`loops`: the loops and branches of the program that this is in."""
        self.say("\n".join(self.at.line.blocks) or "not in a loop or a branch of the program")

    def do_values(self, text: str) -> None:
        """`values NAME`: what the variable has held so far, by line and iteration."""
        seen = self.stepper.values(text.strip())
        self.say("\n".join(_short(str(one)) for one in seen) or f"{text.strip()} was not seen")

    def do_w(self, _: str) -> None:
        """`w(here)`: the functions that run, the innermost last."""
        marks = [
            f"{'>' if k == self.at.depth else ' '} {one}" for k, one in enumerate(self.at.lines)
        ]
        self.say("\n".join(marks))

    def do_l(self, _: str) -> None:
        """`l(ist)`: the source around this line."""
        place = self.at.place
        for number in range(max(1, place.line - AROUND), place.line + AROUND + 1):
            text = linecache.getline(place.file, number).rstrip("\n")
            if text or number <= place.line:
                self.say(f"{number:5} {'->' if number == place.line else '  '} {text}".rstrip())

    def do_op(self, _: str) -> None:
        """`op`: the op that is about to run, and what it is given."""
        op = self.at.op
        if op is None:
            self.say("the program has ended")
            return
        self.say(print_op(op))
        names = [f"%{value.name}" for value in operands_of(op)]
        given = {name: self.at.values[name] for name in names if name in self.at.values}
        if given:
            self.say(_table(given))

    def do_h(self, arg: str) -> bool | None:
        """`h(elp) [COMMAND]`: the commands, or what one does."""
        if not arg:
            self.say("\n".join(self._all_help()))
            return None
        command = getattr(self, f"do_{arg}", None)
        self.say(str(command.__doc__) if command else f"*** there is no command {arg}")
        return None

    def _all_help(self) -> list[str]:
        commands = [name for name in dir(self) if name.startswith("do_") and name not in HIDDEN]
        order = [getattr(self, name) for name in commands]
        texts = [str(command.__doc__).splitlines()[0].replace("`", "", 2) for command in order]
        return [f"  {text}" for text in sorted(texts)]

    do_next, do_step, do_over, do_continue, do_cont = do_n, do_s, do_o, do_c, do_c
    do_quit = do_exit = do_q
    do_break, do_clear, do_where, do_bt, do_list, do_help = do_b, do_cl, do_w, do_w, do_l, do_h


HIDDEN = {"do_next", "do_step", "do_over", "do_continue", "do_cont", "do_quit", "do_exit",
          "do_break", "do_clear", "do_where", "do_bt", "do_list", "do_help"}  # fmt: skip


def _table(held: Mapping[str, Any]) -> str:
    """A line for each name: what it is, and what it holds, as long as there is room."""
    wide = max(map(len, held), default=0)
    return "\n".join(_short(f"{name:<{wide}}  {_in_words(value)}") for name, value in held.items())


def _in_words(value: Any) -> str:
    text = " ".join(repr(value).split())
    return f"{describe(value)}  {text}" if isinstance(value, torch.Tensor) else text


def _short(line: str) -> str:
    """One line of the terminal."""
    line = " ".join(line.splitlines())
    width = _width()
    return line if len(line) <= width else f"{line[: width - 3]}..."


def _width() -> int:
    return max(20, shutil.get_terminal_size().columns)
