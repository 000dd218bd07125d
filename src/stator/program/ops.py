"""The ops that are Stator's own: the whole list, each with its meaning.

Numbers (results are Python numbers, meaning as in Python):
    stator::add sub mul truediv floordiv mod pow neg abs min max
    stator::bitand bitor bitxor lshift rshift invert
    stator::eq ne lt le gt ge and or not
    stator::int float bool complex round floor ceil trunc
    stator::exp log ... (MATH_OPS)          the function of that name in Python's `math`
    stator::real(number) imag(number)       the parts of a complex number, as floats
    stator::select(index, (a, b, ...))      the item of a tuple of constants or numbers

Control:
    stator::if(condition) {then} {else}     runs one block, gives what it yields
    stator::while(condition, *init) {body}  body(*carried) yields (condition, *carried);
                                            gives the last carried values
    stator::call(*args) function="name"     runs a block of the program's function table
    stator::try(*start) {body} {handler}... number= catches=((name, ...), ...) asks=(...)
                                            runs the body; where it raises an exception of a class
                                            that `catches` names, the handler at that place
                                            instead: handler(class, text, *kept, *answers) gets the
                                            exception's class and text, what was kept last (at
                                            first, `start`), and for each tuple of names in its
                                            `asks` whether the exception is of such a class
    stator::keep(*values) number=           what handlers of the try of that number are to get
    stator::reraise()                       in a handler: raises what it has caught
    stator::custom_gradient(results, inputs) {backward}
                                            gives `results`; autograd runs the block, which is given
                                            their gradients and yields those of `inputs`
    stator::gradients(outputs, inputs, given) retain= create= materialize=
                                            `torch.autograd.grad`
    stator::hook(tensor) {backward}         the gradient of the tensor goes through the block, which
                                            yields another or None
    stator::hook_inputs(*tensors) module= places= count=
    stator::hook_outputs(*tensors) module= places= count=
                                            the tensors as they are; what goes into a module, and
                                            what comes out, so that autograd calls the backward
                                            hooks that the module has. `places` says which of
                                            `count` arguments or results they are. Never in a file:
                                            the hooks are Python
    stator::note(*values) effects=          what Python objects hold by now, should the program
                                            raise from here on. Never in a file

Effects:
    stator::assert(condition, message)      raises AssertionError
    stator::raise(type, *args) names=() fields=()
                                            raises the builtin exception named `type`; `names` are
                                            the classes of it that users wrote, for `catches`; the
                                            last of the arguments are its attributes `fields`
    stator::demand(condition, text)         raises DemandViolated
    stator::print(*parts) sep= end=
    stator::set_grad(enabled)               grad mode from here on, until the next one or the end
    stator::set_inference(enabled)          inference mode, in the same way
    stator::set_autocast(device, enabled, dtype, cache, deeper)
                                            autocast, in the same way; `deeper` is the change in the
                                            number of open contexts

Text:
    stator::format(value, conversion, spec) one value as text
    stator::join(*parts)                    texts put together
    stator::text_length(text)               how many characters it has
    (stator::eq ne lt le gt ge compare texts too)

Lists (of a length that is known only when the program runs; a list is a value, never changed):
    stator::list_make(*items)  list_length(list)  list_get(list, index)
    stator::list_slice(list, start, stop, step)  list_append(list, item)
    stator::list_insert(list, index, item)  list_set(list, index, item)  list_delete(list, index)
    stator::list_pop(list, index)           the list without that item, as `pop` leaves it
    stator::list_extend(list, other)  list_repeat(list, times)  list_reverse(list)
    stator::list_take(list, indexes)        the items at these places
    stator::list_order(reverse, *columns)   the places of the items in order, as `sorted` has them;
                                            items of several columns are compared as tuples
    stator::list_tensor(list) dtype= device=   torch.tensor(list)
    stator::tensor_list(tensor)             tensor.tolist()

An op that only picks between values (`if` with empty blocks, `select`) evaluates nothing else.
"""

from __future__ import annotations

MATH_OPS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "atan2", "hypot",
    "erf", "erfc", "gamma", "lgamma", "fmod", "copysign", "isnan", "isinf", "isfinite",
)  # fmt: skip
NUMBER_OPS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "abs", "min", "max",
    "bitand", "bitor", "bitxor", "lshift", "rshift", "invert",
    "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not",
    "int", "float", "bool", "complex", "real", "imag", "round", "floor", "ceil", "trunc", "select",
    *MATH_OPS,
)  # fmt: skip
CONTROL_OPS = (
    "if", "while", "call", "try", "keep", "reraise", "custom_gradient", "gradients", "hook",
    "hook_inputs", "hook_outputs", "note",
)  # fmt: skip
EFFECT_OPS = ("assert", "raise", "demand", "print", "set_grad", "set_inference", "set_autocast")
TEXT_OPS = ("format", "join", "text_length")
LIST_OPS = (
    "list_make", "list_length", "list_get", "list_slice", "list_append", "list_insert",
    "list_set", "list_delete", "list_pop", "list_extend", "list_repeat", "list_reverse",
    "list_take", "list_order", "list_tensor", "tensor_list",
)  # fmt: skip

STATOR_OPS = frozenset(
    f"stator::{name}" for name in NUMBER_OPS + CONTROL_OPS + EFFECT_OPS + TEXT_OPS + LIST_OPS
)
# never in a file
OF_THIS_PROCESS = frozenset({"stator::hook_inputs", "stator::hook_outputs", "stator::note"})
EFFECTS = frozenset(f"stator::{name}" for name in EFFECT_OPS)
