"""Recorder: every op that runs during a capture becomes an op of the program.

The recorder stands in torch's proxy slot at pre-dispatch: below Python, above autograd and above
the decomposition of composite ops, so `linear` stays `linear` and in-place ops stay in place.
Blocks form a stack of scopes; an op in an inner block names a value of an outer one directly.

NOTE: tensors are tracked weakly, and program types are kept as text: a strong reference to a result
makes some factory functions hand out another object, which would then be unknown.
NOTE: sizes are sympy expressions. Each bare symbol is bound to the value and dimension that define
it, and arithmetic is built where it is used, so nothing leaks out of the block it was made in.

Private torch API, checked on torch 2.13 and 2.11: ProxyTorchDispatchMode, PythonKeyTracer,
disable_proxy_modes_tracing, FakeTensorMode.from_tensor.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import sympy
import torch
from torch._library.utils import has_fake_kernel
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
    unset_fake_temporarily,
)
from torch.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    PythonKeyTracer,
    disable_proxy_modes_tracing,
)
from torch.utils.weak import WeakTensorKeyDictionary

from stator.capture.eager_errors import eager_error
from stator.capture.fake_rules import FAKE_RULES
from stator.capture.journal import Journal, state_of
from stator.capture.modes import Modes
from stator.capture.names import name_of_number, name_of_value
from stator.capture.numbers import NUMBER_FUNCTIONS, Number, NumberBuilder, in_words, kind_of_number
from stator.capture.places import current_place
from stator.capture.scope import Attempt, Mark, Scope, may_raise
from stator.capture.sizes import RANK_DEPENDS_ON_ONE, Sizes
from stator.capture.values import CapturedComplex, StagedDict, StagedList, StagedSet, Variant, now
from stator.errors import (
    CaptureError,
    DataDependent,
    StatorError,
    UnsupportedCall,
    UntrackedTensor,
)
from stator.location import Location
from stator.program.ir import Arg, Block, Literal, Op, Stored, Value
from stator.program.types import NumberKind, NumberType, TensorType, Type

if TYPE_CHECKING:  # a watch looks at what is recorded
    from stator.capture.variables import Watch

CONTIGUOUS_FORMATS = {
    torch.contiguous_format: "contiguous_format",
    torch.channels_last: "channels_last",
    torch.channels_last_3d: "channels_last_3d",
    torch.preserve_format: "preserve_format",
}


ApplyVariant = Callable[["Recorder", Variant, Callable[[Any], Any]], Any]


class Recorder(ProxyTorchDispatchMode):
    """Records one capture; `scope` is the block being written, `journal` what Python changed."""

    def __init__(self, apply: ApplyVariant, apply_all: ApplyVariant) -> None:
        super().__init__(PythonKeyTracer(), "symbolic", pre_dispatch=True)
        self._apply, self._apply_all = apply, apply_all
        self.sizes = Sizes()
        self.sizes.recorder = self
        self.fake = FakeTensorMode(shape_env=self.sizes, allow_non_fake_inputs=True)
        self.scope = Scope(None, Modes.current())
        self.journal = Journal(None)
        self.stored: list[Stored] = []
        self.functions: dict[str, Block] = {}
        self._lifted: Any = WeakTensorKeyDictionary()
        self.stored_tensors: dict[str, torch.Tensor] = {}
        self.known_names: dict[int, tuple[str, str]] = {}  # id of tensor -> (kind, name)
        self.dispatching: str | None = None
        self.watch: Watch | None = None  # who notes what the user's names hold
        self.tries = 0  # how many `try` statements the program has
        self.attempts: list[Attempt] = []  # the `try` bodies that run now, innermost last
        self.stand_ins: dict[float, Any] = {}  # plain floats, and the captured ones they stand for
        self.before_raise: Callable[[], None] | None = None  # called before an op that may raise
        self.errors: dict[str, type] = {}  # the classes of exceptions that users wrote
        self.carried: dict[Value, Location | None] = {}  # by loops: where these stand
        self._count = 0
        self._births: dict[int, tuple[Any, int]] = {}

    def apply(self, variant: Variant, function: Callable[[Any], Any]) -> Any:
        """`function` of whichever alternative of `variant` a run has."""
        return self._apply(self, variant, function)

    def apply_all(self, variant: Variant, function: Callable[[Any], Any]) -> Any:
        """The same for a function that asks what an alternative is: undefined ones are fine."""
        return self._apply_all(self, variant, function)

    @property
    def depth(self) -> int:
        """How many blocks are open around the current one; 0 at the top of the program."""
        return self.scope.depth

    # ---- Python objects

    def born(self, obj: Any) -> None:
        """`obj` has just been made by user code."""
        self._births[id(obj)] = (obj, now())

    def made_in(self, scope: Scope) -> Callable[[Any], bool]:
        """Tells the containers that were made since `scope` was opened."""

        def fresh(value: Any) -> bool:
            if isinstance(value, StagedList | StagedDict | StagedSet):
                return value.stamp >= scope.start
            return id(value) in self._births and self._births[id(value)][1] >= scope.start

        return fresh

    # ---- values and ops

    def new_value(self, value_type: Type) -> Value:
        """A value of this type, with a name of its own."""
        self._count += 1
        return Value(str(self._count), value_type)

    def emit(
        self,
        name: str,
        args: Sequence[Arg],
        results: Sequence[Value] = (),
        *,
        attributes: dict[str, Arg] | None = None,
        blocks: Sequence[Block] = (),
        place: Location | None = None,
    ) -> Op:
        """Append an op to the current block."""
        op = Op(
            name, tuple(args), attributes or {}, tuple(results), tuple(blocks),
            place or current_place(),
        )  # fmt: skip
        self.follow_modes()
        if may_raise(op):
            self._keep_names()
            if self.before_raise is not None:
                self.before_raise()
        if self.watch is not None:
            self.watch.note(op)
        self.scope.block.ops.append(op)
        return op

    def names_held(self, written: Sequence[str]) -> contextlib.AbstractContextManager[None]:
        """Inside, who watches the user's names sees them as they are now; `written` are set after.

        Other names that change inside hold what one path has left in them, which is not to be seen.
        """
        return contextlib.nullcontext() if self.watch is None else self.watch.holding(written)

    def _keep_names(self) -> None:
        """What the names of each `try` around here hold, should the next op raise."""
        root = list(self.scope.chain())[-1]
        for attempt in self.attempts:
            if attempt.root is None or attempt.root is root:
                attempt.seen.append((attempt.read(), self._changed_in(attempt)))
                if attempt.keep is not None:
                    attempt.keep()

    def _changed_in(self, attempt: Attempt) -> dict[int, tuple[Any, Any]]:
        """The objects that the body of a `try` has changed so far, and their states now."""
        fresh = self.made_in(attempt.scope) if attempt.scope is not None else lambda _: True
        found: dict[int, tuple[Any, Any]] = {}
        journal: Journal | None = self.journal
        while journal is not None and journal is not attempt.journal:
            for obj, _ in journal.noted():
                if not fresh(obj):
                    found.setdefault(id(obj), (obj, state_of(obj)))
            journal = journal.parent
        return found

    def follow_modes(self) -> None:
        """Grad mode, inference mode and autocast are part of the program: say where they change."""
        now = Modes.current()
        if now != self.scope.modes:
            for name, args in now.changes_from(self.scope.modes):
                self.scope.block.ops.append(Op(name, args, {}, (), (), current_place()))
            self.scope.modes = now

    @contextlib.contextmanager
    def open(self) -> Iterator[Scope]:
        """A new inner block; ops are recorded there until the `with` ends."""
        with self.inside(Scope(self.scope, Modes.current())) as scope:
            yield scope
            self._leave_modes(scope)

    @contextlib.contextmanager
    def open_function(self) -> Iterator[Scope]:
        """The body of a function of the program: it sees stored tensors, and no other values."""
        with self.inside(Scope(None, Modes.current(), level=1)) as scope:
            yield scope
            self._leave_modes(scope)

    def mark(self) -> Mark:
        """Where the current block stands, to come back to with `rewind`."""
        scope = self.scope
        return Mark(
            scope, len(scope.block.ops), len(scope.numbers), len(scope.symbols), scope.modes
        )

    def rewind(self, mark: Mark) -> None:
        """Drop everything recorded since `mark`."""
        scope = mark.scope
        del scope.block.ops[mark.ops :]
        for table, count in ((scope.numbers, mark.numbers), (scope.symbols, mark.symbols)):
            for key in list(table)[count:]:
                del table[key]
        scope.modes = mark.modes

    @contextlib.contextmanager
    def inside(self, scope: Scope) -> Iterator[Scope]:
        """Record into `scope` (again)."""
        before, self.scope = self.scope, scope
        self.sizes.facts.append(set())
        try:
            yield scope
        finally:
            self.scope = before
            self.sizes.facts.pop()

    def _leave_modes(self, scope: Scope) -> None:
        if Modes.current() != scope.entry_modes:
            raise UnsupportedCall(
                "grad mode, inference mode or autocast is changed in one branch or trip "
                "and not changed back",
                at=current_place(),
                fix="use `with torch.no_grad():` or `with torch.autocast(...):`",
            )
        self.follow_modes()

    # ---- tensors

    def bind(self, tensor: torch.Tensor, value: Value) -> None:
        """`tensor` is `value` from here on, in this block."""
        self.scope.tensors[tensor] = value
        for dimension, size in enumerate(tensor.shape):
            if isinstance(size, torch.SymInt):
                expression = size.node.expr
                if isinstance(expression, sympy.Symbol) and not self.sees_symbol(expression):
                    self.scope.symbols[expression] = (value, dimension)

    def find(self, tensor: torch.Tensor) -> Value | None:
        """The value that `tensor` is in this block; None where none in sight is."""
        for scope in self.scope.chain():
            if tensor in scope.tensors:
                value: Value = scope.tensors[tensor]
                return value
        stored: Value | None = self._lifted.get(tensor)
        return stored

    def tensor_type(self, tensor: torch.Tensor) -> TensorType:
        """The program's type of `tensor`."""
        shape = tuple(
            str(size.node.expr) if isinstance(size, torch.SymInt) else int(size)
            for size in tensor.shape
        )
        return TensorType(str(tensor.dtype).removeprefix("torch."), shape, str(tensor.device))

    def lift(self, tensor: torch.Tensor) -> Value:
        """A real tensor met on the way is stored beside the program, once."""
        kind, name = self.known_names.get(id(tensor), ("constant", f"constant_{len(self.stored)}"))
        value = self.new_value(self.tensor_type(tensor))
        self.stored.append(Stored(value, name, kind))  # type: ignore[arg-type]
        self.stored_tensors[name] = tensor
        self._lifted[tensor] = value
        return value

    def new_tensor(
        self,
        dtype: torch.dtype,
        sizes: Sequence[Any],
        device: torch.device,
        requires_grad: bool,
        *,
        strides: Sequence[int] | None = None,
    ) -> torch.Tensor:
        """A fake tensor that nothing has recorded; no leaf, so in-place writes are allowed."""
        with self.quiet(), self.fake, torch.inference_mode(False), torch.enable_grad():
            if strides is not None:
                tensor = torch.empty_strided(sizes, strides, dtype=dtype, device=device)
            else:
                tensor = torch.empty(sizes, dtype=dtype, device=device)
            return tensor.requires_grad_().clone() if requires_grad else tensor

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Nothing is recorded inside."""
        with disable_proxy_modes_tracing():
            yield

    @contextlib.contextmanager
    def real(self) -> Iterator[None]:
        """Tensors made inside are real ones."""
        with disable_proxy_modes_tracing(), unset_fake_temporarily():
            yield

    # ---- numbers

    def fresh_size(self) -> torch.SymInt:
        """A size that only a run knows; `bind` ties it to a tensor's dimension."""
        size: torch.SymInt = self.sizes.create_unbacked_symint()
        self.sizes.pending_fresh_unbacked_symbols.clear()
        self.sizes._constrain_range_for_size(size.node.expr)
        return size

    def number(self, kind: NumberKind, value: Value) -> Any:
        """A symbolic number that stands for `value`."""
        if kind == "complex":
            return CapturedComplex(value)
        make = {
            "int": self.sizes.create_unbacked_symint,
            "bool": self.sizes.create_unbacked_symbool,
            "float": self.sizes.create_unbacked_symfloat,
        }[kind]
        number: Number = make()
        self.sizes.pending_fresh_unbacked_symbols.clear()
        self.bind_number(number, value)
        return number

    def bind_number(self, number: Number, value: Value) -> None:
        """`number` is `value` from here on, in this block."""
        (symbol,) = number.node.expr.free_symbols
        if isinstance(number, torch.SymBool):  # its expression is Eq(symbol, 1)
            self.scope.numbers[number.node.expr] = value
        self.scope.symbols[symbol] = (value, None)

    def emit_number(self, name: str, args: Sequence[Arg], kind: NumberKind) -> Value:
        """The result of a number op; equal ops in sight are recorded once."""
        key = (name, tuple(_hashable(arg) for arg in args))
        for scope in self.scope.chain():
            if key in scope.numbers:
                return scope.numbers[key]
        value = self.new_value(NumberType(kind))
        self.emit(name, args, [value])
        self.scope.numbers[key] = value
        return value

    def sees_value(self, value: Value) -> bool:
        """Is `value` an input or a result of this block or one around it?"""
        return any(value in scope.defined() for scope in self.scope.chain())

    def sees_symbol(self, symbol: sympy.Symbol) -> bool:
        """Is `symbol` defined in this block or one around it?"""
        return any(symbol in scope.symbols for scope in self.scope.chain())

    def sees(self, expression: sympy.Basic) -> bool:
        """Can `expression` be computed in this block?"""
        return all(self.sees_symbol(symbol) for symbol in expression.free_symbols)

    def symbol_arg(self, symbol: sympy.Symbol) -> Arg:
        """The program's form of a bare symbol: a number, or a size read from its tensor."""
        for scope in self.scope.chain():
            if symbol in scope.symbols:
                value, dimension = scope.symbols[symbol]
                if dimension is None:
                    return value
                return self.emit_number("aten::sym_size.int", (value, dimension), "int")
        raise UntrackedTensor(
            "a size or a number was made in a block that has ended", at=current_place(),
            fix="return it from the branch or the loop that makes it",
        )  # fmt: skip

    def number_arg(self, number: Number) -> Arg:
        """The program's form of a symbolic number, built in the current block."""
        expression = number.node.expr
        for scope in self.scope.chain():
            if expression in scope.numbers:
                return scope.numbers[expression]
        return NumberBuilder(self).build(expression, kind_of_number(number))

    # ---- arguments

    def arg(self, value: Any) -> Arg:
        """The program's form of anything an op can be given."""
        if self.stand_ins and type(value) is float and value in self.stand_ins:
            value = self.stand_ins.pop(value)
        if isinstance(value, torch.Tensor):
            return self.tensor_arg(value)
        if isinstance(value, Number):
            return self.number_arg(value)
        if isinstance(value, CapturedComplex):
            return value.value
        if isinstance(value, list | tuple):
            return self._sequence_arg(value)
        if value is None or isinstance(value, bool | int | float | complex | str):
            return value
        if isinstance(value, torch.dtype):
            return Literal("dtype", str(value).removeprefix("torch."))
        if isinstance(value, torch.device):
            return Literal("device", str(value))
        if isinstance(value, torch.layout):
            return Literal("layout", str(value).removeprefix("torch."))
        if isinstance(value, torch.memory_format):
            return Literal("memory_format", CONTIGUOUS_FORMATS[value])
        raise UnsupportedCall(
            f"an op is given a {type(value).__name__}, which a program cannot hold",
            at=current_place(), fix="pass tensors, numbers or strings",
        )  # fmt: skip

    def _sequence_arg(self, items: Sequence[Any]) -> Arg:
        whole = self.scope_list(items)
        return whole if whole is not None else tuple(self.arg(item) for item in items)

    def scope_list(self, items: Sequence[Any]) -> Value | None:
        """The list value that `items`, the sample elements of a captured list, stand for."""
        if items and isinstance(items[0], torch.Tensor):
            return getattr(items[0], "stator_list", None)
        return None

    def tensor_arg(self, tensor: torch.Tensor) -> Value:
        """The program's form of a tensor; a real one that is new is stored."""
        value = self.find(tensor)
        if value is not None:
            return value
        if isinstance(tensor, FakeTensor):
            raise UntrackedTensor(
                "a tensor was made in a block that has ended, or by code the recorder cannot see",
                at=current_place(),
                fix="return it from the branch or loop that makes it; "
                "avoid `.data` and raw storage",
            )
        return self.lift(tensor)

    # ---- what torch calls

    def __sym_dispatch__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Integer arithmetic stays symbolic; float arithmetic is recorded step by step, exactly."""
        result = func(*args, **(kwargs or {}))
        if not any(isinstance(x, torch.SymFloat) for x in (*args, result)):
            return result
        if not isinstance(result, Number):
            return result
        name = NUMBER_FUNCTIONS.get(getattr(func, "__name__", ""))
        if name is None:
            raise UnsupportedCall(
                f"`{getattr(func, '__name__', 'this')}` of a captured number is not supported",
                at=current_place(),
                fix="compute it with tensors",
            )  # fmt: skip
        kind = kind_of_number(result)
        value = self.emit_number(f"stator::{name}", tuple(self.arg(arg) for arg in args), kind)
        return self.number(kind, value)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if not isinstance(func, torch._ops.OpOverload):
            raise UnsupportedCall(
                f"the higher-order op `{func}` cannot be recorded", at=current_place(),
                fix="call the plain function",
            )  # fmt: skip
        name = op_name(func)
        if name in REFUSED_OPS:
            problem, fix = REFUSED_OPS[name]
            edit = IN_PLACE if "`.data`" in problem else None
            raise UnsupportedCall(problem, at=current_place(), fix=fix, edit=edit)
        if func.namespace != "aten" and not has_fake_kernel(func):
            raise UnsupportedCall(
                f"the custom op `{name}` has no fake kernel, so its result cannot be described",
                at=current_place(), fix=f'register one: `@torch.library.register_fake("{name}")`',
            )  # fmt: skip
        program_args = tuple(self.arg(arg) for arg in args)
        program_kwargs = {key: self.arg(value) for key, value in kwargs.items()}
        if name in RANK_DEPENDS_ON_ONE:
            self._demand_no_ones(args)
        result = self._run_fake(func, name, args, kwargs)
        if name == "aten::lift_fresh":  # a literal in user code: each run gets a copy of its own
            name = "aten::clone"
        result = self._unaliased(func, args, result)
        self._record(func, name, program_args, program_kwargs, result)
        return result

    def _demand_no_ones(self, args: Any) -> None:
        """Library code squeezes: the rank is known only if no open size is 1."""
        tensor = args[0]
        wanted = args[1] if len(args) > 1 else range(tensor.dim())
        for dim in (wanted,) if isinstance(wanted, int) else wanted:
            size = tensor.shape[dim]
            if isinstance(size, torch.SymInt) and not self.sizes._maybe_evaluate_static(
                sympy.Ne(size.node.expr, 1)
            ):
                self.demand(sympy.Ne(size.node.expr, 1))

    def _run_fake(self, func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        before, self.dispatching = self.dispatching, name
        shapes = [(arg, arg.shape) for arg in args[:1] if isinstance(arg, torch.Tensor)]
        try:
            args, kwargs = torch.utils._pytree.tree_map_only(
                torch.Tensor, self._as_fake, (args, kwargs)
            )
            rule = FAKE_RULES.get(name)
            if rule is not None:
                result = rule(self.fresh_size, *args, **kwargs)
            else:
                result = self._ask_twice(lambda: func(*args, **kwargs))
        except StatorError:
            raise
        except Exception as error:  # noqa: BLE001  # raised again, as eager has it
            raise (eager_error(func, args, kwargs) or error) from None
        finally:
            self.dispatching = before
        self.sizes.learn()
        for tensor, shape in shapes:
            reshaped = func._schema.is_mutable and tensor.shape != shape
            if reshaped and (self.depth or any(isinstance(s, torch.SymInt) for s in shape)):
                raise UnsupportedCall(
                    f"`{name}` changes the shape of a tensor in place, where only a run knows it",
                    at=current_place(), fix="use the form without the underscore",
                )  # fmt: skip
        return result

    def _ask_twice(self, run: Callable[[], Any]) -> Any:
        """`run()`; where typical sizes make it fail, once more with the other answers."""
        sizes, mark, facts = self.sizes, self.mark(), set(self.sizes.facts[-1])
        sizes.asked = []
        try:
            return run()
        except StatorError:
            raise
        except Exception as error:
            if not sizes.asked:
                raise
            question = sizes.asked[0]
            self.rewind(mark)
            sizes.forget(facts)
            sizes.turned = frozenset(sizes.asked)
            try:
                return run()
            except Exception as second:
                if str(second) == str(error):  # whatever the sizes: it is the user's error
                    raise
                raise CaptureError(
                    f"whether `{self.dispatching}` works here depends on {question}: {error}",
                    at=current_place(), fix="give the sizes in an InputSpec, or make them equal",
                ) from error  # fmt: skip
        finally:
            sizes.turned = frozenset()

    def _as_fake(self, tensor: torch.Tensor) -> torch.Tensor:
        if isinstance(tensor, FakeTensor):
            return tensor
        with self.quiet():
            fake: torch.Tensor = self.fake.from_tensor(tensor, static_shapes=True)
            return fake

    def _record(self, func: Any, name: str, args: Any, kwargs: dict[str, Arg], result: Any) -> None:
        outputs = result if isinstance(result, tuple | list) else (result,)
        if (isinstance(result, list) and not result) or not func._schema.returns:
            outputs = ()
        values = [self._result_value(output) for output in outputs if output is not None]
        kept = [output for output in outputs if output is not None]
        if len(kept) != len(outputs):
            raise UnsupportedCall(f"`{name}` gives a tensor that may be absent",
                                  at=current_place(), fix="report this op")  # fmt: skip
        self.emit(name, args, values, attributes=kwargs)
        for output, value in zip(kept, values, strict=True):
            self._bind_result(output, value)

    def _result_value(self, output: Any) -> Value:
        if isinstance(output, torch.Tensor):
            return self.new_value(self.tensor_type(output))
        return self.new_value(NumberType(kind_of_number(output)))

    def _bind_result(self, output: Any, value: Value) -> None:
        if isinstance(output, torch.Tensor):
            if self.find(output) is None:  # else it is one of its own inputs
                self.bind(output, value)
        elif isinstance(output, Number):
            expression = output.node.expr
            if expression.free_symbols and not self.sees(expression):
                self.bind_number(output, value)

    def _unaliased(self, func: Any, args: Any, result: Any) -> Any:
        """A functional op that gave back its own input (`contiguous`) may not do so at run time.

        `broadcast_tensors` gives back several, in a list.
        """
        if func._schema.is_mutable:
            return result
        if isinstance(result, list | tuple):
            return type(result)(self._unaliased(func, args, one) for one in result)
        if not any(result is arg for arg in torch.utils._pytree.tree_leaves(args)):
            return result
        with self.quiet():
            return torch.ops.aten.alias(result) if isinstance(result, torch.Tensor) else result

    # ---- what the sizes ask

    def demand(self, fact: sympy.Basic) -> None:
        """The program goes on only where `fact` holds."""
        if not self.sees(fact):
            return
        condition = NumberBuilder(self).build(fact, "bool")
        names = {symbol: self.size_in_words(symbol) for symbol in fact.free_symbols}
        self.emit("stator::demand", (condition, f"this needs {in_words(fact, names)}"))

    def size_in_words(self, symbol: sympy.Symbol) -> str:
        """`x.shape[0]` for a size of an argument or of a variable."""
        for scope in self.scope.chain():
            if symbol in scope.symbols:
                value, dimension = scope.symbols[symbol]
                if dimension is None:
                    return name_of_number(symbol) or "a number"
                name = value.name if not value.name.isdigit() else name_of_value(self, value)
                return f"{name or self._made_where(value)}.shape[{dimension}]"
        return "a size"

    def _made_where(self, value: Value) -> str:
        """A tensor without a name, by the line that makes it."""
        for scope in self.scope.chain():
            for op in scope.block.ops:
                if value in op.results and op.place is not None:
                    return f"(a tensor made at {op.place.short})"
        return "(a tensor)"

    def refuse_question(self, question: sympy.Basic) -> Exception:
        """The error for Python code that asks what only a run knows."""
        found = {symbol: self.size_in_words(symbol) for symbol in question.free_symbols}
        named = {
            symbol: "a captured number" if words in ("a number", "a size") else words
            for symbol, words in found.items()
        }
        text = in_words(question, named)
        return DataDependent(
            f"Python code needs the value of {text}, which only a run of the program has",
            at=current_place(),
            fix="let Stator convert the code that asks, or compute it with tensors",
        )


def op_name(func: Any) -> str:
    """`aten::add.Tensor`; the default overload has no suffix."""
    name: str = func._schema.name
    overload = func._schema.overload_name
    return f"{name}.{overload}" if overload else name


def _hashable(arg: Arg) -> object:
    if isinstance(arg, Value):
        return id(arg)
    if isinstance(arg, tuple):
        return tuple(_hashable(item) for item in arg)
    return (type(arg), repr(arg) if isinstance(arg, float | complex) else arg)


IN_PLACE = (r"([\w.\[\]]+)\.data\s*=\s*(.+)", r"\1.copy_(\2)")
_SET_DATA = ("assigning `.data` cannot be recorded", "write in place: `x.copy_(...)`")
REFUSED_OPS = {
    "aten::set_data": _SET_DATA,
    # what torch asks first where Python assigns `.data`; the assignment itself is no op
    "aten::_has_compatible_shallow_copy_type": _SET_DATA,
    "aten::resize_": ("`resize_` cannot be recorded", "make a new tensor"),
    "aten::set_.source_Tensor": ("`set_` cannot be recorded", "make a new tensor"),
    "aten::set_": ("`set_` cannot be recorded", "make a new tensor"),
}
