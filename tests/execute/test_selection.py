"""Which backend runs a program; `backend=` wherever it is accepted."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

import stator
from stator.errors import UnknownOption
from stator.execute.backend import Capability, RunOptions
from stator.execute.interpreter import INTERPRETER
from stator.execute.selection import PROVIDERS, Provider, check_backend, default_for, select
from stator.program.ir import Value
from stator.program.types import TensorType
from tests.execute.foreign_backend import ForeignBackend
from tests.program.builder import Builder
from tests.said import said


def plain(x):
    return x * 2


def empty_program():
    return Builder().program()


@pytest.fixture
def foreign(monkeypatch):
    backend = ForeignBackend()
    monkeypatch.setitem(PROVIDERS, "foreign", backend.provider())
    return backend


def test_the_default_is_native_if_it_is_built(monkeypatch):
    monkeypatch.delenv("STATOR_BACKEND", raising=False)
    backend = ForeignBackend()
    monkeypatch.setitem(PROVIDERS, "native", backend.provider())
    selection = select(None, empty_program())
    assert selection.backend is backend
    assert selection.reason == "the default"


def test_the_default_is_the_interpreter_where_native_is_not_built(monkeypatch):
    monkeypatch.delenv("STATOR_BACKEND", raising=False)
    monkeypatch.setitem(PROVIDERS, "native", Provider(lambda: None, "run `make native`"))
    selection = select(None, empty_program())
    assert selection.backend is INTERPRETER
    assert str(selection) == "interpreter (the default)"


@pytest.mark.parametrize("device", ["cpu", "cuda", "xpu"])
def test_no_device_has_a_default_that_rounds_otherwise(device):
    foreign = ForeignBackend()
    built = {
        "native": Provider(lambda: None),
        "interpreter": Provider(lambda: INTERPRETER),
        "inductor": foreign.provider(),
        "cudagraph": foreign.provider(),
    }
    assert default_for(device, built)[0] is INTERPRETER
    assert default_for(device, {**built, "native": foreign.provider()})[0] is foreign


def test_on_a_gpu_the_reason_names_what_is_faster_there():
    exact, graphs = ForeignBackend(), ForeignBackend()
    built = {"native": exact.provider(), "cudagraph": graphs.provider()}
    backend, reason = default_for("cuda", built)
    assert backend is exact
    assert reason == ('the default; backend="cudagraph" records loops and branches as CUDA graphs')
    assert default_for("cpu", built)[1] == "the default"
    without = {**built, "cudagraph": Provider(lambda: None)}
    assert default_for("cuda", without)[1] == "the default"


def test_the_device_of_a_program_is_that_of_its_tensors(monkeypatch):
    monkeypatch.delenv("STATOR_BACKEND", raising=False)
    monkeypatch.setitem(PROVIDERS, "native", ForeignBackend().provider())
    monkeypatch.setitem(PROVIDERS, "cudagraph", ForeignBackend().provider())
    program = replace(empty_program(), inputs=(Value("x", TensorType("float32", (2,), "cuda:0")),))
    assert "cudagraph" in select(None, program).reason
    assert select(None, empty_program()).reason == "the default"


def test_the_backend_that_is_named_runs_the_program(foreign):
    selection = select("foreign", empty_program())
    assert selection.backend is foreign
    assert str(selection) == "foreign (backend=)"


def test_the_variable_is_the_default_of_the_keyword(foreign, monkeypatch):
    monkeypatch.setenv("STATOR_BACKEND", "foreign")
    assert str(select(None, empty_program())) == "foreign (STATOR_BACKEND)"
    assert str(select("interpreter", empty_program())) == "interpreter (backend=)"


def test_an_unknown_name_is_refused_by_its_text():
    with pytest.raises(UnknownOption) as caught:
        check_backend("xla")
    assert said(caught.value) == (
        "[ST303] there is no backend 'xla'\n"
        "  fix: use one of interpreter, native, inductor, cudagraph"
    )


@pytest.mark.parametrize("name", [3, True, ["interpreter"]])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(UnknownOption, match="there is no backend"):
        check_backend(name)


def test_an_unknown_name_in_the_variable_is_refused_by_its_text(monkeypatch):
    monkeypatch.setenv("STATOR_BACKEND", "xla")
    with pytest.raises(UnknownOption) as caught:
        stator.to_static(plain)
    assert said(caught.value) == (
        "[ST303] there is no backend 'xla' (from STATOR_BACKEND)\n"
        "  fix: use one of interpreter, native, inductor, cudagraph"
    )


def test_a_backend_that_is_not_built_is_refused_by_its_text(monkeypatch):
    monkeypatch.setitem(PROVIDERS, "slow", Provider(lambda: None, "run `make slow`"))
    with pytest.raises(UnknownOption) as caught:
        check_backend("slow")
    assert said(caught.value) == (
        "[ST303] the backend 'slow' is not built here\n  fix: run `make slow`, or use interpreter"
    )
    monkeypatch.setenv("STATOR_BACKEND", "slow")
    with pytest.raises(UnknownOption) as caught:
        check_backend(None)
    assert caught.value.problem == "the backend 'slow' (from STATOR_BACKEND) is not built here"


def test_a_program_that_needs_more_runs_in_the_interpreter(foreign):
    foreign.capabilities = frozenset({Capability.GRADIENTS})
    observed = select("foreign", empty_program(), RunOptions(observer=object()))
    assert observed.backend is INTERPRETER
    assert str(observed) == (
        "interpreter (instead of foreign: it cannot report each op to an observer)"
    )
    assert select("foreign", empty_program()).backend is foreign


def test_every_need_that_is_lacking_is_named(foreign):
    foreign.capabilities = frozenset()
    selection = select("foreign", empty_program(), RunOptions(observer=object()))
    assert selection.reason == (
        "instead of foreign: it cannot record gradients or report each op to an observer"
    )


def test_a_backend_may_refuse_a_program(foreign):
    foreign.refuses = "it has no op aten::frobnicate"
    selection = select("foreign", empty_program())
    assert str(selection) == "interpreter (instead of foreign: it has no op aten::frobnicate)"


# ---- everywhere


def test_to_static_runs_in_the_backend_that_it_names(foreign):
    static = stator.to_static(plain, backend="foreign")
    assert static(torch.ones(2)).tolist() == [2.0, 2.0]
    assert foreign.prepared == [static.program]
    assert static.specify([stator.InputSpec([None])])._backend == "foreign"


def test_to_static_with_a_strategy_too(foreign):
    strategy = stator.static.BuildStrategy()
    static = stator.to_static(plain, build_strategy=strategy, backend="foreign")
    assert static(torch.ones(2)).tolist() == [2.0, 2.0]
    assert len(foreign.prepared) == 1


def test_a_static_function_gets_another_backend(foreign):
    static = stator.to_static(stator.to_static(plain), backend="foreign")
    static(torch.ones(2))
    assert len(foreign.prepared) == 1


def test_methods_keep_the_backend(foreign):
    class Net(torch.nn.Module):
        @stator.to_static(backend="foreign")
        def forward(self, x):
            return x * 2

    Net()(torch.ones(2))
    assert len(foreign.prepared) == 1


def test_a_loaded_model_runs_in_the_backend_that_load_names(foreign, tmp_path):
    stator.save(torch.nn.Linear(2, 2), tmp_path / "m", [stator.InputSpec([None, 2])])
    layer = stator.load(tmp_path / "m", backend="foreign")
    layer(torch.ones(1, 2))
    assert foreign.prepared == [layer.program()]


def test_an_executor_runs_programs_in_its_backend(foreign, tmp_path):
    program = stator.static.Program()
    with stator.static.program_guard(program):
        x = stator.static.data("x", [2], "float32")
        y = x * 2
    compiled = stator.static.CompiledProgram(program)
    for executor in (stator.static.Executor(), stator.static.Executor(backend="foreign")):
        for given in (program, compiled):
            (result,) = executor.run(given, {"x": torch.ones(2)}, [y])
            assert result.tolist() == [2.0, 2.0]
    assert len(foreign.prepared) == 2
    with pytest.raises(UnknownOption, match="there is no backend 'xla'"):
        stator.static.Executor(backend="xla")


def test_a_traced_layer_runs_in_the_backend_that_trace_names(foreign):
    layer, inputs = torch.nn.Linear(2, 2), torch.ones(1, 2)
    outputs, traced = stator.TracedLayer.trace(layer, inputs, backend="foreign")
    assert torch.equal(traced(inputs)[0], outputs)
    assert len(foreign.prepared) == 1
    with pytest.raises(UnknownOption, match="there is no backend 'xla'"):
        stator.TracedLayer.trace(layer, inputs, backend="xla")


def test_explain_shows_the_backend_and_why(foreign):
    static = stator.to_static(plain, backend="foreign")
    report = static.explain(torch.ones(2))
    assert "   runs in: foreign (backend=)\n" in str(report)
    assert "<p>runs in: foreign (backend=)</p>" in report.to_html()
    assert report.to_dict()["captures"][0]["backend"] == "foreign (backend=)"
    foreign.refuses = "it is tired"
    text = str(stator.to_static(plain, backend="foreign").explain(torch.ones(2)))
    assert "   runs in: interpreter (instead of foreign: it is tired)\n" in text


def test_a_part_of_the_package_alone_knows_every_backend():
    code = (
        "from stator.testing import assert_static_equal\n"
        "from stator.execute.selection import PROVIDERS, select\n"
        "from tests.program.builder import Builder\n"
        "native = PROVIDERS['native'].find()\n"
        "assert native is None or select('native', Builder().program()).backend is native\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
