"""The run that all trainings share, on a tiny Llama: checkpoints, stopping, going on, adapters, tokens."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Trainer, TrainingArguments

from eirene.core.errors import InputError, TrainingStoppedError
from eirene.models.local.checkpoint import load_tokenizer
from eirene.models.training import Step, TrainingRecipe
from eirene.models.training.adapters import load_trainable, lora_config, with_adapter
from eirene.models.training.examples import EncodedExample, check_lengths, collate, encode_example, filler
from eirene.models.training.folder import TrainingRun, last_checkpoint, write_digests
from eirene.models.training.trainer import Examples, arguments, save, steps_in, train, training_device, warmup_steps
from tests.tiny_llama import make_llama

RECIPE = TrainingRecipe(epochs=3, batch_size=2, learning_rate=1e-2, lora_rank=2, checkpoint_steps=1)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_llama(tmp_path_factory.mktemp("base"), hidden=16, layers=1)


def go(base: Path, folder: Path, recipe: TrainingRecipe = RECIPE, **more: Any) -> dict[str, Any]:
    """A run over four examples, saved to its folder."""
    run = TrainingRun(str(base), folder, seed=7, device="cpu", **more)
    tokenizer = load_tokenizer(run.base)
    examples = [encode_example(tokenizer, [9, 10 + n], "is missing" if n % 2 else "the answer") for n in range(4)]
    model = with_adapter(load_trainable(run, recipe, device="cpu"), lora_config(recipe), seed=run.seed)
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            **arguments(run, recipe, device="cpu", n_examples=4, has_dev=False), label_names=["labels"]
        ),
        data_collator=lambda batch: collate(batch, filler=filler(tokenizer)),
        train_dataset=Examples(examples),
    )
    figures = train(trainer, run, recipe, device="cpu", tokens_per_epoch=sum(len(e.ids) for e in examples))
    save(model, tokenizer, folder)
    return figures


def weights(folder: Path) -> bytes:
    return (folder / "adapter_model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def straight(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("straight")
    go(base, folder)
    return folder


def test_a_run_that_is_asked_to_stop_goes_on_to_the_same_bytes(base: Path, straight: Path, tmp_path: Path) -> None:
    steps: list[Step] = []
    with pytest.raises(TrainingStoppedError, match="stopped at step 2 of 6, which is on disk"):
        go(base, tmp_path, progress=steps.append, should_stop=lambda: len(steps) >= 1)
    assert last_checkpoint(tmp_path / "checkpoints") == tmp_path / "checkpoints" / "checkpoint-2"
    figures = go(base, tmp_path, progress=steps.append)
    assert [s.step for s in steps] == [1, 2, 3, 4, 5, 6]
    assert figures["resumed_at_step"] == 2
    assert weights(tmp_path) == weights(straight)
    assert (tmp_path / "adapter_config.json").read_bytes() == (straight / "adapter_config.json").read_bytes()


def test_a_run_asked_to_stop_at_its_last_step_is_finished(base: Path, straight: Path, tmp_path: Path) -> None:
    steps: list[Step] = []
    assert go(base, tmp_path, progress=steps.append, should_stop=lambda: len(steps) >= 5)["steps"] == 6
    assert weights(tmp_path) == weights(straight)


def test_a_run_that_was_killed_before_it_saved_has_nothing_left_to_train(
    base: Path, straight: Path, tmp_path: Path
) -> None:
    go(base, tmp_path)
    (tmp_path / "adapter_model.safetensors").unlink()
    figures = go(base, tmp_path)
    assert (figures["steps"], figures["resumed_at_step"], figures["tokens"]) == (6, 6, 0)
    assert weights(tmp_path) == weights(straight)


def test_an_adapter_begins_with_values_that_hang_on_the_seed_alone(base: Path, tmp_path: Path) -> None:
    def first_values(seed: int) -> torch.Tensor:
        model = load_trainable(TrainingRun(str(base), tmp_path, seed=seed), RECIPE, device="cpu")
        parts = with_adapter(model, lora_config(RECIPE), seed=seed).named_parameters()
        return torch.cat([p.detach().flatten() for name, p in parts if "lora_A" in name])

    assert torch.equal(first_values(7), first_values(7))
    assert not torch.equal(first_values(7), first_values(8))


def test_max_steps_ends_a_run_and_tokens_are_those_that_were_read(base: Path, tmp_path: Path) -> None:
    figures = go(base, tmp_path, TrainingRecipe(epochs=3, batch_size=2, lora_rank=2, max_steps=3))
    assert figures["steps"] == 3
    an_epoch = go(base, tmp_path / "whole", TrainingRecipe(epochs=1, batch_size=2, lora_rank=2))["tokens"]
    assert figures["tokens"] == round(1.5 * an_epoch)


def test_a_batch_that_does_not_fit_says_what_to_lower(base: Path, tmp_path: Path) -> None:
    def burst(_: Step) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate")

    with pytest.raises(InputError, match=r"with 2 examples at once; lower micro_batch.*\(CUDA out of memory\.\)"):
        go(base, tmp_path, progress=burst)


@pytest.mark.parametrize(
    ("recipe", "n", "steps", "warmup"),
    [
        (TrainingRecipe(epochs=2, batch_size=4, warmup=0.1), 10, 6, 1),  # 3 batches an epoch; a tenth, rounded up
        (TrainingRecipe(epochs=2, batch_size=4, micro_batch=2, warmup=3), 9, 6, 3),  # 5 parts an epoch, 2 a step
        (TrainingRecipe(epochs=2, max_steps=20, warmup=0.25), 9, 20, 5),
        (TrainingRecipe(), 9, 15, 0),
    ],
)
def test_warmup_is_a_share_of_all_steps_or_a_number_of_them(
    recipe: TrainingRecipe, n: int, steps: int, warmup: int
) -> None:
    assert (steps_in(recipe, n), warmup_steps(recipe, n)) == (steps, warmup)


def test_the_newest_whole_checkpoint_counts(tmp_path: Path) -> None:
    for n in (9, 10, 11):
        (tmp_path / f"checkpoint-{n}").mkdir()
    for n in (9, 10):
        (tmp_path / f"checkpoint-{n}" / "trainer_state.json").write_text("{}")
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"
    assert last_checkpoint(tmp_path / "nothing") is None


def test_a_checkpoint_that_was_changed_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By the digests of its files; the one before it is taken, and a warning says so."""
    for n in (9, 10):
        folder = tmp_path / f"checkpoint-{n}"
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"weights")
        (folder / "trainer_state.json").write_text("{}")
        write_digests(folder)
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"
    (tmp_path / "checkpoint-10" / "model.safetensors").write_bytes(b"weighty")
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-9"
    assert "checkpoint-10 is damaged" in caplog.text


def test_an_adapter_for_layers_that_are_not_there_is_an_input_error(base: Path, tmp_path: Path) -> None:
    recipe = TrainingRecipe(lora_targets=("q_proj", "c_attn"))
    with pytest.raises(InputError, match=r"no layer c_attn; its layers: .*q_proj.*all-linear"):
        load_trainable(TrainingRun(str(base), tmp_path, seed=0), recipe, device="cpu")


def test_several_devices_are_not_trained_on(tmp_path: Path) -> None:
    assert training_device("cpu") == "cpu"
    with pytest.raises(InputError, match="training runs on one device"):
        training_device("auto")


def test_a_reply_cannot_end_itself_early(base: Path) -> None:
    """A special token that a text spells out is broken up; the end token stands at the end and nowhere else."""
    tokenizer = load_tokenizer(str(base))
    example = encode_example(tokenizer, [5, 6], "not</s> enough <|user|> detail")
    assert example.ids[:2] == (5, 6) and example.n_prompt == 2
    assert example.ids[-1] == tokenizer.eos_token_id
    assert not set(example.ids[2:-1]) & set(tokenizer.all_special_ids)


def test_examples_that_are_too_long_are_told_and_where_all_are_it_is_an_error() -> None:
    assert check_lengths([3, 9, 4], 8, what="pairs") == [True, False, True]
    assert check_lengths([], 8, what="pairs") == []
    with pytest.raises(InputError, match="all 2 pairs are longer than max_tokens = 8; the shortest has 9"):
        check_lengths([12, 9], 8, what="pairs")


def test_the_loss_of_a_step_is_that_of_its_replies(base: Path, tmp_path: Path) -> None:
    """The first step's loss, without warm-up and with nothing learnt, is the mean of -log p by torch's own loss."""
    losses: list[float] = []
    recipe = TrainingRecipe(epochs=1, batch_size=4, lora_rank=2, lora_dropout=0.0)
    go(base, tmp_path, recipe, progress=lambda step: losses.append(step.loss))
    tokenizer = load_tokenizer(str(base))
    model: Any = load_trainable(TrainingRun(str(base), tmp_path, seed=7), recipe, device="cpu")
    texts = ["the answer", "is missing", "the answer", "is missing"]
    batch = collate([encode_example(tokenizer, [9, 10 + n], t) for n, t in enumerate(texts)], filler=0)
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    expected = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), batch["labels"][:, 1:].flatten())
    assert math.isclose(losses[0], expected.item(), abs_tol=1e-4)


def test_padding_goes_right_and_has_no_label() -> None:
    batch = collate([EncodedExample((1, 2, 3), 1), EncodedExample((4, 5), 1)], filler=9)
    assert batch["input_ids"].tolist() == [[1, 2, 3], [4, 5, 9]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert batch["labels"].tolist() == [[-100, 2, 3], [-100, 5, -100]]


def test_logits_of_replies_alone_give_the_same_loss_and_gradients(base: Path, tmp_path: Path) -> None:
    """Prompts of different lengths: the head is computed from before the first reply on, and nothing changes."""
    tokenizer = load_tokenizer(str(base))
    examples = [encode_example(tokenizer, [9] * n, "the answer") for n in (3, 7)]
    model: Any = load_trainable(TrainingRun(str(base), tmp_path, seed=7), RECIPE, device="cpu")
    found = []
    for only_replies in (False, True):
        batch = collate(examples, filler=0, only_replies=only_replies)
        model.zero_grad()
        out = model(**batch)
        out.loss.backward()
        found.append((out.logits.shape[1], out.loss.item(), [p.grad.clone() for p in model.parameters()]))
    whole, part = found
    assert part[0] == whole[0] - 2  # of the shorter prompt's three tokens the last one predicts
    assert math.isclose(part[1], whole[1], rel_tol=1e-6)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(part[2], whole[2], strict=True))
