"""BERT, GPT-2, Llama, T5 and ViT of `transformers`: captured once, equal to eager at every size.

The models are small, with random weights. Their own Python code, the masks and the caches among it,
is converted function by function. Equal means to the last bit, gradients included; in ONNX Runtime,
close.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
import transformers
from torch import Tensor, nn
from transformers.utils import ModelOutput

import stator
from stator import InputSpec

pytestmark = pytest.mark.slow

VOCABULARY, IMAGE = 99, 32
SIZES = ((3, 11), (2, 7), (1, 5), (4, 1), (1, 1), (5, 32))  # batch, length; the first is captured
WIDTHS = {"hidden_size": 32, "intermediate_size": 64}
DEPTH = {"num_hidden_layers": 2, "num_attention_heads": 4}
MARKS = {"bos_token_id": 1, "eos_token_id": 2}


class Hidden(nn.Module):
    """The last hidden state of a model called by keyword, its arguments given by position."""

    def __init__(self, model, *names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *tensors):
        return self.model(**dict(zip(self.names, tensors, strict=True))).last_hidden_state


class Logits(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids).logits


def bert(kind=transformers.BertModel):
    return kind(transformers.BertConfig(vocab_size=VOCABULARY, **WIDTHS, **DEPTH))


def gpt2(kind=transformers.GPT2Model, **options):
    shape = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4}
    return kind(transformers.GPT2Config(**shape, **MARKS, **options))


def llama(kind=transformers.LlamaModel, **options):
    shape = {"vocab_size": VOCABULARY, "num_key_value_heads": 2, **WIDTHS, **DEPTH}
    return kind(transformers.LlamaConfig(**shape, **MARKS, **options))


def t5(kind=transformers.T5Model, **options):
    shape = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    return kind(transformers.T5Config(vocab_size=VOCABULARY, **shape, **options))


def vit(kind=transformers.ViTModel):
    return kind(transformers.ViTConfig(**WIDTHS, **DEPTH, image_size=IMAGE, patch_size=8))


def tokens(batch, length):
    return torch.randint(3, VOCABULARY, (batch, length))


def padding(batch, length):
    """A mask that hides the end of the first row."""
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, length // 2 + 1 :] = 0
    return mask


def whole(batch, length):
    return torch.ones(batch, length, dtype=torch.int64)


def shorter(batch, length):
    return tokens(batch, length // 2 + 1)


def pictures(batch, _length):
    return torch.randn(batch, 3, IMAGE, IMAGE)


@dataclass(frozen=True)
class Subject:
    """A model, and a maker of each argument for a batch size and a length."""

    make: Callable[[], nn.Module]
    makers: dict[str, Callable[[int, int], Tensor]]
    # Seeing a traced tensor, transformers builds an explicit causal mask where it else asks the
    # kernel for one; that kernel's backward sums in another order, so the last bits differ.
    masks_otherwise: bool = False

    def arguments(self, size):
        return tuple(maker(*size) for maker in self.makers.values())

    def spec(self):
        picture = InputSpec([None, 3, IMAGE, IMAGE], "float32", "pixel_values")
        return [
            picture if name == "pixel_values" else InputSpec([None, None], "int64", name)
            for name in self.makers
        ]


IDS, MASK = "input_ids", "attention_mask"
SUBJECTS = {
    "bert": Subject(lambda: Hidden(bert(), IDS), {IDS: tokens}),
    "bert, padded": Subject(lambda: Hidden(bert(), IDS, MASK), {IDS: tokens, MASK: padding}),
    "gpt2": Subject(lambda: Hidden(gpt2(), IDS), {IDS: tokens}),
    "gpt2, padded": Subject(lambda: Hidden(gpt2(), IDS, MASK), {IDS: tokens, MASK: padding}),
    "gpt2, no cache": Subject(lambda: Hidden(gpt2(use_cache=False), IDS), {IDS: tokens}),
    "gpt2, language": Subject(lambda: Logits(gpt2(transformers.GPT2LMHeadModel)), {IDS: tokens}),
    "llama": Subject(lambda: Hidden(llama(), IDS), {IDS: tokens}),
    "llama, padded": Subject(lambda: Hidden(llama(), IDS, MASK), {IDS: tokens, MASK: padding}),
    "llama, whole mask": Subject(
        lambda: Hidden(llama(), IDS, MASK), {IDS: tokens, MASK: whole}, masks_otherwise=True
    ),
    "llama, no cache": Subject(
        lambda: Hidden(llama(use_cache=False), IDS), {IDS: tokens}, masks_otherwise=True
    ),
    "llama, language": Subject(lambda: Logits(llama(transformers.LlamaForCausalLM)), {IDS: tokens}),
    "t5": Subject(
        lambda: Hidden(t5(), IDS, "decoder_input_ids"),
        {IDS: tokens, "decoder_input_ids": shorter},
    ),
    "t5, no cache": Subject(
        lambda: Hidden(t5(use_cache=False), IDS, MASK, "decoder_input_ids"),
        {IDS: tokens, MASK: padding, "decoder_input_ids": shorter},
    ),
    "vit": Subject(lambda: Hidden(vit(), "pixel_values"), {"pixel_values": pictures}),
}


@pytest.fixture(scope="module", params=SUBJECTS.values(), ids=SUBJECTS.keys())
def subject(request):
    return request.param


@pytest.fixture(scope="module")
def saved(subject, tmp_path_factory):
    """The model, the path where it is saved, and the report on its ONNX file."""
    torch.manual_seed(0)
    model, path = subject.make().eval(), tmp_path_factory.mktemp("saved") / "model"
    (report,) = stator.save(model, path, input_spec=subject.spec(), onnx=True)
    return model, path, report


def gradients(model, out):
    """The gradient of each parameter, by name; None where nothing reaches it."""
    model.zero_grad()
    out.square().sum().backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def assert_equal_gradients(subject, eager, other):
    assert eager.keys() == other.keys()
    for name, gradient in eager.items():
        assert (gradient is None) == (other[name] is None), name
        if gradient is None:
            continue
        if subject.masks_otherwise:
            torch.testing.assert_close(gradient, other[name], rtol=1e-5, atol=1e-6, msg=name)
        else:
            assert torch.equal(gradient, other[name]), name


@pytest.mark.feature("models", "BERT", "GPT-2", "Llama with its cache", "T5", "ViT")
def test_one_capture_equals_eager_at_every_size_without_gradients(subject):
    model = subject.make().eval()
    static = stator.to_static(copy.deepcopy(model), input_spec=subject.spec())
    with torch.no_grad():
        for size in SIZES:
            arguments = subject.arguments(size)
            assert torch.equal(static(*arguments), model(*arguments)), size
    assert len(static.forward.concrete_programs) == 1


def test_one_capture_has_the_gradients_of_eager_at_every_size(subject):
    model = subject.make().eval()
    static = stator.to_static(copy.deepcopy(model), input_spec=subject.spec())
    for size in SIZES:
        arguments = subject.arguments(size)
        eager, out = model(*arguments), static(*arguments)
        assert torch.equal(out, eager), size
        assert_equal_gradients(subject, gradients(model, eager), gradients(static, out))
    assert len(static.forward.concrete_programs) == 1


def test_a_saved_model_equals_eager_to_the_bit_and_so_do_its_gradients(subject, saved):
    model, path, _ = saved
    loaded = stator.load(path)
    assert list(loaded.state_dict()) == list(model.state_dict())
    for size in SIZES:
        arguments = subject.arguments(size)
        eager, out = model(*arguments), loaded(*arguments)
        assert torch.equal(out, eager), size
        assert_equal_gradients(subject, gradients(model, eager), gradients(loaded, out))


def test_its_onnx_file_in_onnx_runtime_is_close_to_eager(subject, saved):
    model, path, report = saved
    assert report.runs
    loaded = stator.load(path, backend="onnxruntime")
    with torch.no_grad():
        for size in SIZES:
            arguments = subject.arguments(size)
            found, wanted = loaded(*arguments), model(*arguments)
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4, msg=str(size))


def labelled(size):
    """Arguments of a language model in training: the tokens are their own labels."""
    ids = tokens(*size)
    return {IDS: ids, "labels": ids}


CALLS = {
    "bert": (bert, lambda size: {IDS: tokens(*size), MASK: padding(*size)}),
    "gpt2": (lambda: gpt2(transformers.GPT2LMHeadModel, use_cache=False), labelled),
    "llama": (
        lambda: llama(transformers.LlamaForCausalLM, use_cache=False),
        lambda size: {**labelled(size), MASK: padding(*size)},
    ),
    "t5": (
        lambda: t5(
            transformers.T5ForConditionalGeneration, use_cache=False, decoder_start_token_id=0
        ),
        labelled,
    ),
    "vit": (
        lambda: vit(transformers.ViTForImageClassification),
        lambda size: {"pixel_values": pictures(*size), "labels": torch.randint(2, (size[0],))},
    ),
}


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize(("make", "arguments_of"), CALLS.values(), ids=CALLS.keys())
def test_a_model_called_by_keyword_gives_the_output_of_eager(make, arguments_of, training):
    model = make().train(training)
    static = stator.to_static(copy.deepcopy(model))
    for size in ((3, 11), (2, 7), (1, 5), (4, 2)):
        arguments = arguments_of(size)
        torch.manual_seed(1)  # dropout draws the same numbers
        eager = model(**arguments)
        torch.manual_seed(1)
        out = static(**arguments)
        assert isinstance(out, ModelOutput)
        assert type(out) is type(eager)
        assert list(out) == list(eager)
        assert all(map(torch.equal, out.to_tuple(), eager.to_tuple()))
    assert len(static.forward.concrete_programs) == 2  # the second has dynamic sizes


def test_a_language_model_learns_as_eager_does():
    model = llama(transformers.LlamaForCausalLM, use_cache=False)
    static = stator.to_static(copy.deepcopy(model))
    losses = []
    for one in (model, static):
        torch.manual_seed(2)
        optimizer = torch.optim.AdamW(one.parameters(), lr=1e-3)
        losses.append([])
        for size in ((4, 9), (4, 9), (3, 12), (1, 6)):
            ids = tokens(*size)
            loss = one(input_ids=ids, attention_mask=whole(*size), labels=ids).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    assert losses[0] == losses[1]
