"""torch_private: the one place that knows torch's private API, and what Stator relies on in it."""

import ast
import re
from pathlib import Path

import pytest
import sympy
import torch
from torch.nn.utils import parametrize

from stator.capture.sizes import Sizes
from stator.torch_private import (
    CHECKED_ON,
    checks,
    control_flow,
    dispatch,
    distributions,
    fake,
    modules,
    numpy_layer,
    ops,
    scripts,
    symbols,
    trees,
)

SRC = Path(__file__).parents[2] / "src"
PRIVATE_ATTRIBUTES = {
    "_schema", "_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks",
    "_backward_hooks", "_backward_pre_hooks", "_get_backward_hooks", "_get_backward_pre_hooks",
    "_maybe_evaluate_static", "_cache_enabled",
}  # fmt: skip


def start_of(node):
    """The name that a chain of attributes starts with, if it does."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return getattr(node, "id", None)


def private_uses(tree):
    """The private names of torch that a module imports or reads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            for alias in node.names:
                parts = [*node.module.split("."), alias.name]
                if (
                    any(p.startswith("_") and p != "__version__" for p in parts)
                    or "experimental" in parts
                ):
                    yield ".".join(parts)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("torch.") and "._" in alias.name:
                    yield alias.name
        elif isinstance(node, ast.Attribute) and (
            node.attr in PRIVATE_ATTRIBUTES or start_of(node) == "torch"
        ):
            text = ast.unparse(node)
            of_torch = re.fullmatch(r"torch(\.\w+)*\._(?!_)\w+(\.\w+)*", text) is not None
            of_object = node.attr in PRIVATE_ATTRIBUTES and text != f"self.{node.attr}"
            if of_torch or of_object:
                yield text


def test_no_other_module_uses_private_names_of_torch():
    found = {
        str(file.relative_to(SRC)): uses
        for file in sorted(SRC.rglob("*.py"))
        if "torch_private" not in file.parts
        and (uses := sorted(set(private_uses(ast.parse(file.read_text())))))
    }
    assert found == {}


def test_the_scan_sees_each_way_to_reach_a_private_name():
    text = (
        "import torch._numpy\nfrom torch._ops import OpOverload\n"
        "from torch.fx.experimental.proxy_tensor import PythonKeyTracer\n"
        "torch._C._len_torch_function_stack()\nmodule._buffers\ntorch.__version__\n"
    )
    assert sorted(set(private_uses(ast.parse(text)))) == [
        "module._buffers", "torch._C", "torch._C._len_torch_function_stack", "torch._numpy",
        "torch._ops.OpOverload", "torch.fx.experimental.proxy_tensor.PythonKeyTracer",
    ]  # fmt: skip


def test_the_torch_that_runs_is_one_that_was_checked_or_newer():
    version = tuple(map(int, torch.__version__.split(".")[:2]))
    assert version >= tuple(map(int, CHECKED_ON[0].split(".")))


# ---- fake


def test_a_fake_tensor_has_sizes_and_no_data():
    with fake.FakeTensorMode() as mode:
        made = torch.ones(2, 3) @ torch.ones(3, 4)
        with fake.unset_fake_temporarily():
            real = torch.ones(2)
    assert isinstance(made, fake.FakeTensor)
    assert made.shape == (2, 4)
    assert not isinstance(real, fake.FakeTensor)
    assert mode.from_tensor(torch.ones(5), static_shapes=True).shape == (5,)


def test_views_of_the_same_numbers_are_the_same_memory():
    with fake.FakeTensorMode():
        one = torch.ones(2, 2)
        assert fake.is_same_memory(one, one.detach())
        assert not fake.is_same_memory(one, one.t()[:, :1])
        assert not fake.is_same_memory(one, one.clone())


def test_views_share_memory_and_copies_do_not():
    with fake.FakeTensorMode():
        one = torch.ones(2, 2)
        assert fake.is_alias(one, one.t()[:, :1])
        assert not fake.is_alias(one, one.clone())


def test_a_tensor_is_connected_to_others_without_an_op():
    with fake.FakeTensorMode():
        sources = [torch.ones(2, requires_grad=True) for _ in range(2)]
        made = torch.empty(3)
    assert fake.connected(lambda: made, sources) is made
    assert made.requires_grad
    assert not made.is_leaf
    assert not made._is_view()
    ends = [node for node, _ in made.grad_fn.next_functions if node is not None]
    assert all(node.variable is one for node, one in zip(ends, sources, strict=True))


def test_only_ops_on_known_sizes_are_in_the_cache_of_torch():
    sizes = Sizes()
    mode = fake.new_fake_mode(sizes)

    def misses(size):
        before = fake.FakeTensorMode.cache_info().misses
        with mode:
            tensor = torch.empty(size, 3, 5, 7, 11)
            assert (tensor + tensor).shape[1:] == (3, 5, 7, 11)
        return fake.FakeTensorMode.cache_info().misses - before

    assert misses(13) > 0
    with sizes.ignore_fresh_unbacked_symbols():
        assert misses(sizes.create_unbacked_symint()) == 0


def test_an_op_of_aten_has_a_fake_kernel_or_a_meta_one():
    assert isinstance(fake.has_fake_kernel(torch.ops.aten.add.Tensor), bool)


def test_torch_logs_under_the_name_of_the_fake_module():
    assert fake.FakeTensor.__module__ == fake.LOGGER_NAME


# ---- dispatch


def test_a_dispatch_mode_sees_ops_unless_modes_are_disabled():
    class Names(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(ops.schema(func).name)
            return func(*args, **(kwargs or {}))

    names = []
    with Names():
        torch.ones(2) + 1
        with dispatch.disable_current_modes():
            torch.ones(2) * 2
    assert names == ["aten::ones", "aten::add"]


def test_a_proxy_mode_at_pre_dispatch_sees_composite_ops_whole():
    class Names(dispatch.ProxyTorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(ops.schema(func).name)
            return func(*args, **(kwargs or {}))

    names = []
    x, weight = torch.ones(2, 3), torch.ones(4, 3)
    mode = Names(dispatch.PythonKeyTracer(), "symbolic", pre_dispatch=True)
    with dispatch.enable_python_dispatcher(), mode:
        torch.nn.functional.linear(x, weight)
        with dispatch.disable_proxy_modes_tracing():
            x.sum()
        with dispatch.no_python_dispatcher():
            pass
    assert names == ["aten::linear"]


def test_grad_mode_can_be_set_unseen():
    dispatch.set_grad_mode(False)
    try:
        assert not torch.is_grad_enabled()
    finally:
        dispatch.set_grad_mode(True)


def test_hooks_on_saved_tensors_are_seen():
    assert not dispatch.has_saved_tensor_hooks()
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        assert dispatch.has_saved_tensor_hooks()


def test_transforms_around_a_call_can_be_suspended():
    def f(x):
        with dispatch.temporarily_clear_interpreter_stack():
            seen.append(torch._C._functorch.maybe_current_level())
        return x.sum()

    seen = []
    torch.func.grad(f)(torch.ones(2))
    assert seen == [None]


# ---- ops


def test_an_op_has_a_schema():
    schema = ops.schema(torch.ops.aten.add_.Tensor)
    assert (schema.name, schema.overload_name, schema.is_mutable) == ("aten::add_", "Tensor", True)
    assert ops.parse_schema(str(schema)) == schema
    assert isinstance(schema, ops.FunctionSchema)
    assert isinstance(torch.ops.aten.add_.Tensor, ops.OpOverload)


def test_only_ops_of_the_dispatcher_are_registered():
    assert ops.is_registered("aten::add", "Tensor")
    assert not ops.is_registered("aten::save", "")
    assert ops.has_composite_kernel("aten::linear")
    assert not ops.has_composite_kernel("aten::add.Tensor")


def test_an_overload_is_found_by_its_arguments():
    x = torch.ones(2)
    assert ops.find_overload("dropout", (x, 0.5, True), {}) is torch.ops.aten.dropout.default
    assert ops.find_overload("bernoulli_", (x, 0.5), {}) is torch.ops.aten.bernoulli_.float
    assert ops.find_overload("dropout", (x,), {"q": 1}) is None
    assert ops.find_overload("no_such_op", (x,), {}) is None


def test_the_op_behind_pad_packed_sequence():
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.ones(2, 2, 1), torch.tensor([2, 1]))
    padded, lengths = ops.pad_packed(packed.data, packed.batch_sizes, False, 0.0, -1)
    assert lengths.tolist() == [2, 1]
    assert padded.shape == (2, 2, 1)


# ---- symbols


def test_a_size_is_never_negative():
    env = symbols.ShapeEnv()
    size = env.create_unbacked_symint().node.expr
    symbols.mark_as_size(env, size)
    assert symbols.evaluate(env, sympy.Ge(size, 0)) == sympy.true


def test_a_truth_value_is_made_as_torch_makes_one():
    env = symbols.ShapeEnv()
    torchs = env.create_unbacked_symbool()
    own = symbols.truth_of(env, env.create_unbacked_symint())
    first, second = (next(iter(one.node.expr.free_symbols)) for one in (torchs, own))
    assert own.node.expr == torchs.node.expr.subs(first, second)
    assert env.var_to_range[second] == env.var_to_range[first]
    assert [(one.node.pytype, one.node.hint) for one in (torchs, own)] == [(bool, None)] * 2


def test_the_sizes_of_a_capture_override_methods_that_torch_calls():
    for name in ("evaluate_expr", "guard_or_defer_runtime_assert", "_maybe_guard_rel"):
        assert callable(getattr(symbols.ShapeEnv, name))
    assert "_constrain_range_for_size" in vars(Sizes)
    silent = {"_get_stack_summary", "_log_create_unbacked_symbol"}
    assert silent <= vars(symbols.ShapeEnv).keys()
    assert silent <= vars(Sizes).keys()


def test_a_place_of_torchs_is_text():
    assert str(symbols.SLoc("here", None)) == "(here)"


def test_expressions_are_interpreted_with_torchs_own_functions():
    class Words:
        def __getattr__(self, name):
            return lambda *args: (name, *args)

        def constant(self, value, dtype):
            return int(value)

    s = sympy.Symbol("s", integer=True)
    expression = symbols.functions.FloorDiv(s, 2)
    assert symbols.sympy_interp(Words(), {s: "s"}, expression) == ("floordiv", "s", 2)


def test_torch_says_which_question_it_cannot_answer():
    assert issubclass(symbols.GuardOnDataDependentSymNode, Exception)


# ---- trees


def test_tensors_in_nested_containers_are_found():
    tree = {"a": [1, torch.ones(1)], "b": (2,)}
    assert trees.tree_leaves(tree) == [1, torch.ones(1), 2]
    assert trees.tree_map_only(int, lambda n: n + 1, tree)["b"] == (3,)
    args = ([torch.Size((2,)), None], {"a": (1, [2.0])}, torch.return_types.max((1, 2)))
    assert trees.tree_leaves(args) == trees.pytree.tree_leaves(args)
    mapped = trees.tree_map_only(int, str, args)
    assert mapped == trees.pytree.tree_map_only(int, str, args)
    assert type(mapped[2]) is torch.return_types.max
    assert trees.pytree.__name__ == trees.MODULE_NAME


def test_a_table_by_tensor_goes_by_identity():
    table = trees.WeakTensorKeyDictionary()
    x, y = torch.ones(1), torch.ones(1)
    table[x] = 1
    assert x in table
    assert y not in table


# ---- modules


def test_the_tables_of_a_module_are_its_own():
    linear = torch.nn.Linear(2, 2)
    assert list(modules.tables(linear).parameters) == ["weight", "bias"]
    modules.tables(linear).buffers["extra"] = torch.ones(1)
    assert torch.equal(linear.extra, torch.ones(1))
    assert modules.tables(torch.nn.Sequential(linear)).modules == {"0": linear}


def test_conversions_of_a_module_apply_a_function_to_its_tensors(monkeypatch):
    seen = []
    monkeypatch.setattr(
        torch.nn.Module, modules.apply_of_module.__name__, lambda *a: seen.append(a)
    )
    linear = torch.nn.Linear(2, 2)
    linear.to(torch.float64), linear.cpu()
    assert [given for given, _ in seen] == [linear, linear]


def test_hooks_are_found_in_the_order_in_which_torch_runs_them():
    linear = torch.nn.Linear(2, 2)
    assert not any(modules.hook_tables(linear))
    assert not any(modules.global_hook_tables())
    linear.register_forward_hook(print)
    linear.register_forward_hook(repr, with_kwargs=True)
    linear.register_forward_pre_hook(print)
    linear.register_full_backward_hook(print)
    assert modules.forward_hooks(linear) == [(print, False), (repr, True)]
    assert modules.forward_pre_hooks(linear) == [(print, False)]
    assert modules.backward_hooks(linear) == ([print], [], [])
    assert len([table for table in modules.hook_tables(linear) if table]) == 3


def test_a_backward_hook_sees_the_gradients_of_a_module():
    seen = []
    identity = torch.nn.Identity()
    identity.register_full_backward_hook(lambda module, grads, _: seen.append(grads))
    hook = modules.new_backward_hook(identity)
    x = torch.ones(2, requires_grad=True)
    hook.setup_output_hook(hook.setup_input_hook((x,))[0] * 2).sum().backward()
    assert len(seen) == 1


def test_parametrizations_are_not_cached_inside():
    with parametrize.cached(), modules.no_parametrization_cache():
        assert not parametrize._cache_enabled


# ---- checks


def test_modes_are_counted():
    assert checks.count_function_modes() == 0
    with torch.device("cpu"):
        assert checks.count_function_modes() == 1


# ---- distributions


def test_a_sample_is_checked_by_a_method_that_can_be_replaced():
    assert distributions.validate_sample is torch.distributions.Distribution._validate_sample
    with pytest.raises(ValueError, match="within the support"):
        distributions.validate_sample(torch.distributions.Exponential(1.0), torch.tensor(-1.0))


# ---- numpy_layer


@pytest.mark.parametrize("name", ["array", "concatenate", "where"])
def test_numpys_functions_take_tensors(name):
    assert callable(getattr(numpy_layer.functions, name))


def test_an_array_of_the_numpy_layer_has_a_tensor():
    array = numpy_layer.ndarray(torch.ones(2))
    assert torch.equal((array + 1).tensor, torch.full((2,), 2.0))


def test_control_flow_is_compiled_where_it_is_looked_for():
    assert control_flow.COMPILING
    for owner, name in control_flow.COMPILING:
        assert callable(getattr(owner, name))
    assert control_flow.cond(True, lambda x: x + 1, lambda x: x, (1,)) == 2
    assert "carried_inputs" in control_flow.while_loop.__code__.co_varnames
    assert "combine_fn" in control_flow.scan.__code__.co_varnames
    assert control_flow.map_rows.__name__ == "map"


def test_the_op_of_data_shares_memory_and_no_version():
    x = torch.ones(2, requires_grad=True)
    data = ops.data_of(x)
    data.add_(1)
    assert not data.requires_grad
    assert x.tolist() == [2.0, 2.0]
    assert x._version == 0


def test_a_scripted_function_knows_its_python():
    def doubled(x):
        return x * 2

    with pytest.warns(DeprecationWarning, match="torch.jit.script"):
        scripted = torch.jit.script(doubled)
    assert scripts.source_of(scripted) is doubled
    assert scripts.source_of(doubled) is None
    assert not scripts.is_exported(doubled)
    assert scripts.is_exported(torch.jit.export(doubled))
    module = torch.jit.script(torch.nn.ReLU())
    assert isinstance(module, scripts.ScriptModule)
    assert isinstance(module.forward, scripts.ScriptMethod)


def test_a_fake_tensor_is_made_without_a_dispatch():
    mode = fake.FakeTensorMode()
    made = fake.new_fake_tensor(mode, (2, 3), (1, 2), torch.int8, torch.device("cpu"))
    assert type(made) is fake.FakeTensor
    assert (made.shape, made.stride(), made.dtype) == ((2, 3), (1, 2), torch.int8)
    assert made.device == torch.device("cpu")
    assert made.constant is None
    assert not torch._C._meta_in_tls_dispatch_include()


def test_the_level_of_forward_mode_differentiation():
    assert dispatch.forward_ad_level() == -1
    with torch.autograd.forward_ad.dual_level():
        assert dispatch.forward_ad_level() == 0


def test_a_mode_leaves_the_pre_dispatch_slot():
    mode = dispatch.ProxyTorchDispatchMode(dispatch.PythonKeyTracer(), "symbolic", True)
    torch._ops._set_mode_pre_dispatch(mode)
    assert torch._ops._len_torch_dispatch_stack_pre_dispatch() == 1
    for _ in range(2):
        dispatch.leave_pre_dispatch()
        assert torch._ops._len_torch_dispatch_stack_pre_dispatch() == 0
