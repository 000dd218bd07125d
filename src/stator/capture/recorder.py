"""Recorder: every op that runs during a capture becomes an op of the program.

The recorder is in torch's proxy slot at pre-dispatch: below Python, above autograd and above
the decomposition of composite ops, so `linear` stays `linear` and in-place ops stay in place.
What torch calls and what a value is in the program is here; `block_writer` writes the blocks.

NOTE: tensors are tracked weakly, and program types hold no tensors: a strong reference to a result
makes some factory functions hand out another object, which would then be unknown.
NOTE: sizes are sympy expressions. Each bare symbol is bound to the value and dimension that define
it, and arithmetic is built where it is used, so nothing leaks out of the block it was made in.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy
import torch

from stator.capture.block_writer import BlockWriter
from stator.capture.broadcasting import examples_for
from stator.capture.descriptions import described
from stator.capture.errors.boundary import internal
from stator.capture.errors.eager_errors import eager_error
from stator.capture.exceptions import ExceptionTable
from stator.capture.fake_rules import FAKE_RULES
from stator.capture.journal import Journal
from stator.capture.leaves import Leaves
from stator.capture.literals import literal_arg
from stator.capture.loop_memory import LoopMemory
from stator.capture.numbers import NUMBER_FUNCTIONS, NumberBuilder, in_words
from stator.capture.provenance import Provenance
from stator.capture.reshaping import is_made_here, reshape_in_place
from stator.capture.scope import Attempt, Mark
from stator.capture.size_words import question_in_words, size_in_words
from stator.capture.sizes import RANK_DEPENDS_ON_ONE, Sizes
from stator.capture.torch_ops import RESHAPED, is_conversion, op_name, refusal_of
from stator.errors import CaptureError, DataDependent, StatorError, UnsupportedCall, UntrackedTensor
from stator.location import Location
from stator.program.ir import Arg, Block, InputFacts, StoredTensor, Value
from stator.program.types import NumberKind, NumberType, TensorType
from stator.signals import DeferredSignals
from stator.torch_private import ops
from stator.torch_private.dispatch import (
    ProxyTorchDispatchMode,
    PythonKeyTracer,
    disable_proxy_modes_tracing,
)
from stator.torch_private.fake import (
    FakeTensor,
    has_fake_kernel,
    new_fake_mode,
    new_fake_tensor,
    unset_fake_temporarily,
)
from stator.torch_private.ops import OpOverload
from stator.torch_private.symbols import evaluate, mark_as_size
from stator.torch_private.trees import WeakTensorKeyDictionary, tree_leaves, tree_map_only
from stator.values.dims import size_of
from stator.values.symbolic import CapturedComplex, Number, kind_of_number
from stator.values.union import Union

Arguments = tuple[tuple[Any, ...], dict[str, Any]]  # by position, and by name
ApplyVariant = Callable[["Recorder", Union, Callable[[Any], Any]], Any]


class Recorder(BlockWriter, ProxyTorchDispatchMode):
    """Records one capture; `scope` is the block being written, `journal` what Python changed."""

    def __init__(self, apply: ApplyVariant, apply_all: ApplyVariant) -> None:
        BlockWriter.__init__(self, Sizes())
        ProxyTorchDispatchMode.__init__(self, PythonKeyTracer(), "symbolic", pre_dispatch=True)
        self._apply, self._apply_all = apply, apply_all
        self.sizes.recorder = self
        self.fake = new_fake_mode(self.sizes)
        self.journal = Journal(None)
        self.stored: list[StoredTensor] = []
        self.input_facts: dict[Value, InputFacts] = {}
        self.relies_on_layout = self.layouts_vary = False  # does code use strides, or choose them?
        self.functions: dict[str, Block] = {}
        self._lifted: Any = WeakTensorKeyDictionary()
        self.sampled: Any = WeakTensorKeyDictionary()  # sample element -> the list it represents
        self.joined: Any = WeakTensorKeyDictionary()  # tensors that may be one with another
        self.joined_tuples: dict[int, tuple[Any, ...]] = {}  # by id: those that may be another
        self.grad_varies = False  # are there tensors of which only a run knows `requires_grad`?
        self.stored_tensors: dict[str, torch.Tensor] = {}
        self.known_names: dict[int, tuple[str, str]] = {}  # id of tensor -> (kind, name)
        self.dispatching: str | None = None
        self.tries, self.ways = 0, 1  # `try` statements of the program; alternatives nested now
        self.attempts: list[Attempt] = []  # the `try` bodies that run now, innermost last
        self.exceptions = ExceptionTable()  # that the program may raise
        self.carried: dict[Value, Location | None] = {}  # by loops: where these are
        self.provenance, self.leaves = Provenance(), Leaves()
        self._learned: list[tuple[int, sympy.Basic]] = []  # by the number of ops at the time
        self.refused_questions = 0  # questions that were refused: library code may catch the error
        self.signals, self.loops = DeferredSignals(), LoopMemory()  # of the loop recorded now

    def apply(self, variant: Union, function: Callable[[Any], Any]) -> Any:
        """`function` of whichever alternative of `variant` a run has."""
        return self._apply(self, variant, function)

    def apply_all(self, variant: Union, function: Callable[[Any], Any]) -> Any:
        """The same for a function that asks what an alternative is: undefined ones are fine."""
        return self._apply_all(self, variant, function)

    # ---- tensors

    def knows_layout(self, tensor: torch.Tensor) -> bool:
        """Are the strides of `tensor` those of every run? Then the program relies on them."""
        is_open = any(isinstance(size, torch.SymInt) for size in tensor.shape)
        is_free = any(facts.layout is None for facts in self.input_facts.values())
        if is_open or is_free or self.layouts_vary:
            return False
        self.relies_on_layout = True
        return True

    @internal
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

    @internal
    def tensor_type(self, tensor: torch.Tensor) -> TensorType:
        """The program's type of `tensor`."""
        shape = tuple(size_of(size) for size in tensor.shape)
        return TensorType(str(tensor.dtype).removeprefix("torch."), shape, str(tensor.device))

    def facts_of(self, inputs: Sequence[Value]) -> dict[Value, InputFacts]:
        """What the capture assumed of `inputs`; of their layout only if it was used."""
        found = {value: self.input_facts[value] for value in inputs if value in self.input_facts}
        if self.relies_on_layout:
            return found
        return {value: facts.without_layout() for value, facts in found.items()}

    @internal
    def lift(self, tensor: torch.Tensor) -> Value:
        """A real tensor met on the way is stored beside the program, once."""
        kind, name = self.known_names.get(id(tensor), ("constant", f"constant_{len(self.stored)}"))
        value = self.new_value(self.tensor_type(tensor))
        self.stored.append(StoredTensor(value, name, kind))  # type: ignore[arg-type]
        self.stored_tensors[name] = tensor
        self._lifted[tensor] = value
        return value

    def adopt(self, tensor: torch.Tensor, value: Value) -> None:
        """`tensor`, a real one, is an input of the program wherever it is met."""
        self._lifted[tensor] = value

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
        is_known = all(type(size) is int for size in sizes)
        if is_known and not (requires_grad or torch.is_inference_mode_enabled()):
            return new_fake_tensor(self.fake, sizes, strides, dtype, device)
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
        mark_as_size(self.sizes, size.node.expr)
        return size

    def number(self, kind: NumberKind, value: Value) -> Any:
        """A symbolic number that represents `value`."""
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

    @internal
    def bind_number(self, number: Number, value: Value) -> None:
        """`number` is `value` from here on, in this block."""
        (symbol,) = number.node.expr.free_symbols
        if isinstance(number, torch.SymBool):  # its expression is Eq(symbol, 1)
            self.scope.numbers[number.node.expr] = value
        self.scope.symbols[symbol] = (value, None)

    @internal
    def number_arg(self, number: Number) -> Arg:
        """The program's form of a symbolic number, built in the current block."""
        expression = number.node.expr
        for scope in self.scope.chain():
            if expression in scope.numbers:
                return scope.numbers[expression]
        return NumberBuilder(self).build(expression, kind_of_number(number))

    # ---- arguments

    @internal
    def arg(self, value: object) -> Arg:
        """The program's form of anything an op can be given."""
        if isinstance(value, torch.Tensor):
            return self.tensor_arg(value)
        if isinstance(value, Number):
            return self.number_arg(value)
        if isinstance(value, CapturedComplex):
            return value.value
        if isinstance(value, list | tuple):
            return self._sequence_arg(value)
        return literal_arg(value)

    def _sequence_arg(self, items: Sequence[object]) -> Arg:
        whole = self.scope_list(items)
        return whole if whole is not None else tuple(self.arg(item) for item in items)

    def scope_list(self, items: Sequence[object]) -> Value | None:
        """The list value that `items`, the sample elements of a captured list, represent."""
        if items and isinstance(items[0], torch.Tensor):
            found: Value | None = self.sampled.get(items[0])
            return found
        return None

    @internal
    def tensor_arg(self, tensor: torch.Tensor) -> Value:
        """The program's form of a tensor; a real one that is new is stored."""
        value = self.find(tensor)
        if value is not None:
            self.leaves.follow(self, tensor, value)
            return value
        if isinstance(tensor, FakeTensor):
            raise UntrackedTensor(
                "a tensor was made in a block that has ended, or by code the recorder cannot see",
                fix="return it from the branch or loop that makes it; avoid `.data` and raw storage"
            )  # fmt: skip
        return self.lift(tensor)

    # ---- what torch calls

    def __sym_dispatch__(self, func: Any, types: object, args: Any, kwargs: Any) -> Any:
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
                fix="compute it with tensors",
            )
        kind = kind_of_number(result)
        value = self.emit_number(f"stator::{name}", tuple(self.arg(arg) for arg in args), kind)
        return self.number(kind, value)

    def __torch_dispatch__(
        self, func: Any, types: object, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if not isinstance(func, OpOverload):
            raise UnsupportedCall(f"the higher-order op `{func}` cannot be recorded",
                                  fix="call the plain function")  # fmt: skip
        plain = ops.without_generator(func, kwargs)
        if plain is not func:
            func, kwargs = plain, {key: kwargs[key] for key in kwargs if key != "generator"}
        name = op_name(func)
        if func.namespace == "profiler":  # labels such as `record_function`: no part of a program
            return func(*args, **kwargs)
        if (refusal := refusal_of(name)) is not None:
            raise refusal
        if func.namespace != "aten" and not has_fake_kernel(func):
            raise UnsupportedCall(
                f"the custom op `{name}` has no fake kernel, so its result cannot be described",
                fix=f'register one: `@torch.library.register_fake("{name}")`',
            )
        return self._record_call(func, name, (args, kwargs), (args, kwargs))

    def record_op(self, op: OpOverload, given: Arguments, examples: Arguments) -> Any:
        """Record `op` on `given`; on `examples`, which torch can take, it shows what it gives."""
        with self.quiet():
            return self._record_call(op, op_name(op), given, examples)

    def _record_call(self, func: Any, name: str, given: Arguments, examples: Arguments) -> Any:
        self.signals.check()
        program_args = tuple(self.arg(arg) for arg in given[0])
        program_kwargs = {key: self.arg(value) for key, value in given[1].items()}
        args, kwargs = examples
        if name in RANK_DEPENDS_ON_ONE:
            self._demand_no_ones(args)
        if name in RESHAPED and is_made_here(self, args[0]):
            return reshape_in_place(self, func, name, program_args, examples)
        run = functools.partial(self._described, func, name, args, kwargs)
        result = described(self, func, examples, run)
        if name == "aten::lift_fresh":  # a literal in user code: each run gets a copy of its own
            name = "aten::clone"
        if not is_conversion(name, examples):
            result = self._unaliased(func, args, result)
        if not ops.gives_dtype(func):  # what dtypes alone decide is known here
            self._record(func, name, program_args, program_kwargs, result)
        return result

    def _described(self, func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """What the op gives; sizes that may be 1 broadcast."""
        with self.quiet(), self.fake:
            args, kwargs = examples_for(self, func, name, (args, kwargs))
        result = self._run_fake(func, name, args, kwargs)
        tensors = [one for one in tree_leaves(result) if isinstance(one, torch.Tensor)]
        if not self.sizes.settle_quotients([size for one in tensors for size in one.shape]):
            return result
        return self._run_fake(func, name, args, kwargs)

    def _demand_no_ones(self, args: Any) -> None:
        """Library code squeezes: the rank is known only if no open size is 1."""
        tensor = args[0]
        wanted = args[1] if len(args) > 1 else range(tensor.dim())
        if not tensor.dim():  # a number: torch lets 0 and -1 pass as its dimension
            return
        for dim in (wanted,) if isinstance(wanted, int) else wanted:
            size = tensor.shape[dim]
            if isinstance(size, torch.SymInt) and not evaluate(
                self.sizes, sympy.Ne(size.node.expr, 1)
            ):
                self.demand(sympy.Ne(size.node.expr, 1))

    def _run_fake(self, func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        before, self.dispatching = self.dispatching, name
        shapes = [(arg, arg.shape) for arg in args[:1] if isinstance(arg, torch.Tensor)]
        try:
            args, kwargs = tree_map_only(torch.Tensor, self.as_fake, (args, kwargs))
            rule = FAKE_RULES.get(name)
            result = rule(self.fresh_size, *args, **kwargs) if rule else NotImplemented
            if result is NotImplemented:
                result = self._retry_with_flipped_answers(lambda: func(*args, **kwargs))
        except StatorError:
            raise
        except Exception as error:  # noqa: BLE001  # raised again, as eager has it
            raise (eager_error(func, args, kwargs) or error) from None
        finally:
            self.dispatching = before
        self.sizes.learn()
        for tensor, shape in shapes:
            reshaped = ops.schema(func).is_mutable and tensor.shape != shape
            if reshaped and (self.depth or any(isinstance(s, torch.SymInt) for s in shape)):
                raise UnsupportedCall(
                    f"`{name}` changes the shape of a tensor in place, where it is data-dependent",
                    fix="use the out-of-place op, without the underscore",
                )
        return result

    def _retry_with_flipped_answers(self, run: Callable[[], object]) -> Any:
        """`run()`; if it fails at typical sizes, retry with the opposite answers about sizes."""
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
            sizes.flipped = frozenset(sizes.asked)
            try:
                return run()
            except Exception as second:
                if str(second) == str(error):  # whatever the sizes: it is the user's error
                    raise
                raise CaptureError(
                    f"whether `{self.dispatching}` works here depends on {question}: {error}",
                    fix="give the sizes in an InputSpec, or make them equal",
                ) from error
        finally:
            sizes.flipped = frozenset()

    def as_fake(self, tensor: torch.Tensor) -> torch.Tensor:
        """What represents `tensor`, which may be a real one, while ops are described."""
        if isinstance(tensor, FakeTensor):
            return tensor
        with self.quiet():
            return self.fake.from_tensor(tensor, static_shapes=True)

    def _record(self, func: Any, name: str, args: Any, kwargs: dict[str, Arg], result: Any) -> None:
        outputs = result if isinstance(result, tuple | list) else (result,)
        if (isinstance(result, list) and not result) or not ops.schema(func).returns:
            outputs = ()
        values = [self._result_value(output) for output in outputs if output is not None]
        kept = [output for output in outputs if output is not None]
        if len(kept) != len(outputs):
            raise UnsupportedCall(f"`{name}` gives a tensor that may be absent",
                                  fix="report it as a bug in Stator")  # fmt: skip
        self.emit(name, args, values, attributes=kwargs)
        for output, value in zip(kept, values, strict=True):
            self._bind_result(output, value)

    def _result_value(self, output: object) -> Value:
        if isinstance(output, torch.Tensor):
            return self.new_value(self.tensor_type(output))
        return self.new_value(NumberType(kind_of_number(output)))

    def _bind_result(self, output: object, value: Value) -> None:
        if isinstance(output, torch.Tensor) and self.find(output) is None:
            self.bind(output, value)  # else it is one of its own inputs
        elif isinstance(output, Number):
            expression = output.node.expr
            if expression.free_symbols and not self.sees(expression):
                self.bind_number(output, value)

    def _unaliased(self, func: Any, args: object, result: object) -> Any:
        """A functional op that gave back its own input (`contiguous`) may not do so at run time.

        `broadcast_tensors` gives back several, in a list.
        """
        if ops.schema(func).is_mutable:
            return result
        if isinstance(result, list | tuple):
            return type(result)(self._unaliased(func, args, one) for one in result)
        if not any(result is arg for arg in tree_leaves(args)):
            return result
        with self.quiet():
            return torch.ops.aten.alias(result) if isinstance(result, torch.Tensor) else result

    # ---- what the sizes ask

    def demand(self, fact: sympy.Basic) -> None:
        """The program goes on only where `fact` holds."""
        if not self.sees(fact):
            return
        condition = NumberBuilder(self).build(fact, "bool")
        names = {symbol: size_in_words(self, symbol) for symbol in fact.free_symbols}
        self.emit("stator::demand", (condition, f"this needs {in_words(fact, names)}"))

    def note_learned(self, fact: sympy.Basic) -> None:
        """`fact`, demanded just now, has become part of what the sizes are."""
        self._learned.append((len(self.scope.block.ops), fact))

    def rewind(self, mark: Mark) -> None:
        """Drop everything recorded since `mark`, but for checks of what the sizes are by now."""
        super().rewind(mark)
        if mark.scope is not self.scope or self.depth:
            return
        dropped = [fact for count, fact in self._learned if count > mark.ops]
        self._learned = [entry for entry in self._learned if entry[0] <= mark.ops]
        for fact in dropped:
            self.demand(fact)
            self.note_learned(fact)

    def refuse_question(self, question: sympy.Basic) -> Exception:
        """The error for Python code that asks what only a run knows."""
        self.refused_questions += 1
        text = question_in_words(self, question)
        return DataDependent(
            f"Python code needs the value of {text}, which is known only at run time",
            fix="let Stator convert the code that needs it, or compute it with tensors",
        )
