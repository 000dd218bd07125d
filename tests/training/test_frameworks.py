"""Lightning and the Trainer of transformers drive a static model as they drive an eager one."""

import copy

import accelerate
import pytest
import pytorch_lightning as lightning
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset, TensorDataset
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

import stator

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # theirs, about workers


class Gated(nn.Module):
    """Depth decided by the data: a loop and a branch in each step."""

    def __init__(self):
        super().__init__()
        self.first, self.again, self.last = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 3)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        rounds = 0
        while x.norm() > 4 and rounds < 3:
            x = self.dropout(torch.tanh(self.again(x)) * 0.7)
            rounds += 1
        if x.mean() > 0:
            x = x * 1.1
        return self.last(x)


class Classifier(lightning.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.losses = []

    def training_step(self, batch, _):
        x, y = batch
        loss = functional.cross_entropy(self.net(x), y)
        self.log("loss", loss)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("accuracy", (self.net(x).argmax(-1) == y).float().mean())

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        return {"optimizer": optimizer, "lr_scheduler": schedule}


def rows():
    torch.manual_seed(1)
    return TensorDataset(torch.randn(48, 8), torch.randint(0, 3, (48,)))


def trained_by_lightning(net, folder):
    lightning.seed_everything(3)
    module = Classifier(net)
    trainer = lightning.Trainer(
        max_epochs=3, accelerator="cpu", gradient_clip_val=0.5, accumulate_grad_batches=2,
        default_root_dir=folder, logger=False, enable_progress_bar=False,
        enable_model_summary=False,
    )  # fmt: skip
    data = rows()
    trainer.fit(module, DataLoader(data, 8, shuffle=True), DataLoader(data, 16))
    return module, trainer


def same_weights(one, other):
    assert one.state_dict().keys() == other.state_dict().keys()
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name]), name


@pytest.mark.feature("frameworks", "Lightning: `Trainer.fit`, checkpoints")
def test_lightning_trains_a_static_module_to_the_same_bits(tmp_path):
    eager = Gated()
    static = stator.to_static(copy.deepcopy(eager))
    want, _ = trained_by_lightning(eager, tmp_path / "eager")
    got, trainer = trained_by_lightning(static, tmp_path / "static")
    assert len(want.losses) == 18
    assert got.losses == want.losses
    same_weights(got, want)
    assert trainer.callback_metrics["accuracy"] >= 0

    saved = tmp_path / "last.ckpt"
    trainer.save_checkpoint(saved)
    restored = Classifier.load_from_checkpoint(saved, net=stator.to_static(Gated()))
    same_weights(restored, want)
    x = rows()[0][0][None]
    assert torch.equal(restored.eval().net(x), want.eval().net(x))


class Texts(Dataset):
    def __init__(self):
        torch.manual_seed(2)
        self.tokens = torch.randint(0, 64, (24, 12))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


class Losses(TrainerCallback):
    def __init__(self):
        self.seen = []

    def on_log(self, args, state, control, logs=None, **_):
        self.seen.append({key: logs[key] for key in ("loss", "grad_norm") if key in logs})


def trained_by_trainer(model, folder):
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    losses = Losses()
    arguments = TrainingArguments(
        output_dir=str(folder), per_device_train_batch_size=5, num_train_epochs=2, seed=4,
        logging_steps=1, save_strategy="epoch", report_to=[], use_cpu=True, disable_tqdm=True,
        max_grad_norm=0.5, warmup_steps=2, gradient_accumulation_steps=2,
    )  # fmt: skip
    Trainer(model, arguments, train_dataset=Texts(), callbacks=[losses]).train()
    return losses.seen


@pytest.mark.feature("frameworks", "transformers: `Trainer.train`, checkpoints")
def test_the_trainer_of_transformers_trains_a_static_model_to_the_same_bits(tmp_path):
    config = GPT2Config(
        vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2,
        bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    torch.manual_seed(0)
    eager = GPT2LMHeadModel(config)
    static = stator.to_static(copy.deepcopy(eager))
    want = trained_by_trainer(eager, tmp_path / "eager")
    got = trained_by_trainer(static, tmp_path / "static")
    assert len(want) > 4
    assert got == want
    same_weights(static, eager)
    checkpoints = (tmp_path / "static").glob("checkpoint-*")
    last = max(checkpoints, key=lambda path: int(path.name.partition("-")[2]))
    same_weights(GPT2LMHeadModel.from_pretrained(last), eager)
