"""A training run on a tiny Llama: its folder, resume, stopping, what is learnt from, the papers' recipes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from eirene.core.errors import InputError
from eirene.data import ColumnMap, Shape
from eirene.data.json_rows import JsonBytes
from recipes.train.recipe import (
    CriticRecipe,
    FeedbackRecipe,
    PromptTuningRecipe,
    RefinerRecipe,
    TrainingRecipe,
)
from recipes.train.replies import Exchange, TrainingTask, train_replies
from recipes.train.run import (
    CARD_FILE,
    RUN_FILE,
    EncodedExample,
    Step,
    Trained,
    TrainingRun,
    TrainingStoppedError,
    check_base,
    check_lengths,
    curve,
    encode_example,
    finished_run,
    last_checkpoint,
    logged,
    run_order,
    write_json,
)
from tests.tiny_llama import make_llama

ROWS = JsonBytes("rows.jsonl", b"{}")
ORDER = run_order(TrainingRun("base", Path("out"), TrainingRecipe(lora_targets="q_proj"), seed=3), ROWS)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_llama(tmp_path_factory.mktemp("base"), hidden=16, layers=1)


def recipe(**settings: Any) -> TrainingRecipe:
    quick = {"method": "lora", "epochs": 3, "batch_size": 2, "learning_rate": 1e-2, "lora_rank": 2}
    return TrainingRecipe(**{**quick, **settings})


def go(base: Path, folder: Path, settings: TrainingRecipe | None = None, **more: Any) -> Trained:
    """A run over four exchanges."""
    settings = recipe(checkpoint_steps=1) if settings is None else settings
    run = TrainingRun(str(base), folder, settings, seed=7, device="cpu", **more)
    exchanges = [Exchange(f"question {n}", "is missing" if n % 2 else "the answer") for n in range(4)]
    return train_replies(run, run_order(run, ROWS), lambda: TrainingTask("A test", {"kind": "test"}, {}, exchanges))


def weights(folder: Path) -> bytes:
    return b"".join((folder / name).read_bytes() for name in ("adapter_model.safetensors", "adapter_config.json"))


def test_a_run_that_is_asked_to_stop_goes_on_to_the_same_bytes(base: Path, tmp_path: Path) -> None:
    """A torn checkpoint is passed over; asked at its last step, a run is finished; the card says where it resumed."""
    go(base, tmp_path / "straight")
    steps: list[Step] = []
    out = tmp_path / "out"
    with pytest.raises(TrainingStoppedError, match="stopped at step 2 of 6, which is on disk"):
        go(base, out, progress=steps.append, should_stop=lambda: len(steps) >= 1)
    for name, state in (("checkpoint-8", "{"), ("checkpoint-9", "")):
        (out / "checkpoints" / name).mkdir()
        (out / "checkpoints" / name / "trainer_state.json").write_text(state)
    newest = last_checkpoint(TrainingRun(str(base), out, recipe()))
    assert newest == out / "checkpoints" / "checkpoint-2"
    done = go(base, out, progress=steps.append, should_stop=lambda: len(steps) >= 6)
    assert [s.step for s in steps] == [1, 2, 3, 4, 5, 6]
    assert (done.card["figures"]["resumed_at_step"], done.card["figures"]["steps"]) == (2, 6)
    assert weights(out) == weights(tmp_path / "straight")
    assert not (out / "checkpoints").exists()


def test_the_loss_of_a_step_is_that_of_its_replies_and_tokens_are_those_that_were_read(
    base: Path, tmp_path: Path
) -> None:
    """The first step's loss, with nothing learnt, is the mean of -log p of the replies' tokens by torch's own loss."""
    import torch

    from eirene.models.local.loading import load_base, load_tokenizer

    losses: list[float] = []
    settings = recipe(epochs=1, batch_size=4, lora_dropout=0.0, lora_targets="q_proj, k_proj")
    card = go(base, tmp_path / "out", settings, progress=lambda step: losses.append(step.loss)).card
    tokenizer, model = load_tokenizer(str(base)), load_base(str(base), device="cpu", dtype=None)
    total, replies, tokens = 0.0, 0, 0
    for n in range(4):
        example = Exchange(f"question {n}", "is missing" if n % 2 else "the answer").encoded(tokenizer)
        ids = torch.tensor([example.ids])
        logits = model(input_ids=ids).logits[0, example.n_prompt - 1 : -1]
        total += torch.nn.functional.cross_entropy(logits, ids[0, example.n_prompt :], reduction="sum").item()
        replies += len(example.ids) - example.n_prompt
        tokens += len(example.ids)
    assert math.isclose(losses[0], total / replies, abs_tol=1e-4)
    assert card["figures"]["tokens"] == tokens


def test_the_best_checkpoint_on_the_dev_set_is_kept(base: Path, tmp_path: Path) -> None:
    """The dev set says other words, so that learning long makes it worse: what is saved has the lowest dev loss, by
    torch's own count, and is not what the last step left. Without a dev set there is one clear error."""
    import torch
    from peft import PeftModel

    from eirene.models.local.loading import load_base, load_tokenizer
    from recipes.train.fit import quiet_trl

    rows, dev = ([Exchange(f"question {n}", said) for n in range(4)] for said in ("is missing", "of a question"))
    tokenizer = load_tokenizer(str(base))
    common: dict[str, Any] = {"batch_size": 4, "epochs": 3, "learning_rate": 0.1, "keep": "best"}
    virtual = PromptTuningRecipe(**{**common, "learning_rate": 2.0}, warmup=0, max_steps=3, checkpoint_steps=1)
    for settings in (recipe(**common), recipe(**common, method="full"), virtual):
        run = TrainingRun(str(base), tmp_path / f"{settings.method}", settings, seed=7, device="cpu")
        order = run_order(run, ROWS, dev=ROWS)
        done = train_replies(run, order, lambda: TrainingTask("A test", {"kind": "test"}, {}, rows, dev))
        losses, every = done.card["figures"]["dev_loss"], settings.checkpoint_steps or 1
        if settings.method == "full":
            model: Any = load_base(str(run.folder), device="cpu", dtype=None)
        else:
            with quiet_trl():
                model = PeftModel.from_pretrained(load_base(str(base), device="cpu", dtype=None), str(run.folder))
        total, tokens = 0.0, 0
        for example in (exchange.encoded(tokenizer) for exchange in dev):
            reply = torch.tensor(example.ids[example.n_prompt :])
            logits = model(input_ids=torch.tensor([example.ids])).logits[0, -len(reply) - 1 : -1]
            total += torch.nn.functional.cross_entropy(logits, reply, reduction="sum").item()
            tokens += len(reply)
        assert min(losses) < losses[-1] - 0.005, losses
        assert done.card["figures"]["kept_step"] == (losses.index(min(losses)) + 1) * every
        assert math.isclose(total / tokens, min(losses), abs_tol=2e-3)
    with pytest.raises(
        InputError, match="keep best chooses the checkpoint by the loss on a dev set, and there is none"
    ):
        go(base, tmp_path / "none", recipe(**common))
    assert not (tmp_path / "none").exists()


def test_what_cannot_be_trained_is_one_clear_error(base: Path, tmp_path: Path) -> None:
    import torch

    def burst(_: Step) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate")

    cases: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        (r"with 2 examples at once; lower micro_batch.*\(CUDA out of memory\.\)", {}, {"progress": burst}),
        (r"no layer c_attn; its layers: .*q_proj.*all-linear", {"lora_targets": "q_proj,c_attn"}, {}),
        ("all 4 examples are longer than max_tokens = 3", {"max_tokens": 3}, {}),
        ("is not a number; lower the learning rate", {"learning_rate": 1e30, "method": "full"}, {}),
    ]
    for n, (said, settings, more) in enumerate(cases):
        with pytest.raises(InputError, match=said):
            go(base, tmp_path / str(n), recipe(**settings), **more)


def test_several_devices_are_not_trained_on() -> None:
    from recipes.train.fit import device_of

    assert device_of(TrainingRun("base", Path("out"), TrainingRecipe(), device="cpu")) == "cpu"
    with pytest.raises(InputError, match="training runs on one device"):
        device_of(TrainingRun("base", Path("out"), TrainingRecipe(), device="auto"))


def test_warmup_is_a_share_of_all_steps_or_a_number_of_them() -> None:
    from recipes.train.fit import warmup_steps

    found = [
        warmup_steps(TrainingRecipe(epochs=2, batch_size=4, warmup=0.1), 10),  # 3 batches an epoch; rounded up
        warmup_steps(TrainingRecipe(epochs=2, batch_size=4, micro_batch=2, warmup=3), 9),
        warmup_steps(TrainingRecipe(epochs=2, max_steps=20, warmup=0.25), 9),
        warmup_steps(TrainingRecipe(), 9),
    ]
    assert found == [1, 3, 5, 0]


def test_a_reply_cannot_end_itself_early(base: Path) -> None:
    """A special token that a text spells out is broken up; the end token stands at the end and nowhere else."""
    from eirene.models.local.loading import load_tokenizer

    tokenizer = load_tokenizer(str(base))
    example = encode_example(tokenizer, [5, 6], "not</s> enough <|user|> detail")
    assert example == EncodedExample((5, 6, *example.ids[2:]), 2)
    assert example.ids[-1] == tokenizer.eos_token_id
    assert not set(example.ids[2:-1]) & set(tokenizer.all_special_ids)


def test_examples_that_are_too_long_are_told_apart() -> None:
    assert check_lengths([3, 9, 4], 8, what="pairs") == [True, False, True]
    assert check_lengths([], 8, what="pairs") == []


def test_a_folder_is_claimed_then_known_again_and_another_run_is_refused(tmp_path: Path) -> None:
    run = TrainingRun("base", tmp_path / "out", TrainingRecipe())
    assert finished_run(run, ORDER) is None
    assert finished_run(run, ORDER) is None  # not finished: it goes on
    write_json(run.folder / CARD_FILE, {"done": 1})
    assert finished_run(run, ORDER) == Trained(run.folder, {"done": 1})
    with pytest.raises(InputError, match=r"other data or settings \(base, seed\); name a new folder"):
        finished_run(run, {**ORDER, "seed": 4, "base": "other"})
    (run.folder / CARD_FILE).write_text('{"done": 2, "value_crc32": "00000000"}')
    with pytest.raises(InputError, match=r"card\.json: does not fit its checksum"):
        finished_run(run, ORDER)
    for damage in ("{", "[]", ""):
        (run.folder / RUN_FILE).write_text(damage)
        with pytest.raises(InputError, match="name a new folder"):
            finished_run(run, ORDER)


def test_a_folder_with_something_else_is_left_alone_and_a_torn_first_file_is_not(tmp_path: Path) -> None:
    (tmp_path / "run.tmp").write_text('{"ba')
    assert finished_run(TrainingRun("base", tmp_path, TrainingRecipe()), ORDER) is None
    (tmp_path / RUN_FILE).unlink()
    (tmp_path / "mine").write_text("mine")
    for place, said in ((tmp_path, "holds something else"), (tmp_path / "mine", "holds something else"),
                        (tmp_path / "mine" / "out", "cannot be written")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            finished_run(TrainingRun("base", place, TrainingRecipe()), ORDER)
    assert (tmp_path / "mine").read_text() == "mine"


def test_the_order_of_a_run_is_everything_that_decides_it() -> None:
    """The same bytes under another map of columns, or held against others, are another run."""
    assert (ORDER["base"], ORDER["seed"], ORDER["recipe"]["rate"], len(ORDER["data_sha256"])) == ("base", 3, 2e-5, 64)
    run = TrainingRun("base", Path("out"), TrainingRecipe(lora_targets="q_proj"), seed=3)
    mapped = run_order(run, ROWS, shape=Shape(ColumnMap({"answer": "text"})))
    assert mapped == {**ORDER, "columns": {"answer": "text"}}
    assert (
        run_order(run, ROWS, shape=Shape()) == ORDER != run_order(run, ROWS, dev=JsonBytes("dev.jsonl", b'{"id": "a"}'))
    )


def test_training_starts_from_a_whole_model(tmp_path: Path) -> None:
    """A folder by its whole path, an id as it is, with or without `hf:`; an adapter on top of one would not load."""
    assert check_base(f"hf:{tmp_path}") == str(tmp_path)
    assert check_base("owner/name") == check_base("hf:owner/name") == "owner/name"
    (tmp_path / "adapter_config.json").write_text('{"base_model_name_or_path": "owner/name"}')
    for name, said in (("hf:owner/name+adapter", "merge the two first"), (str(tmp_path), "starts from a whole model"),
                       ("hf:owner/name?dtype=bfloat16", "settings of its own")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            check_base(name)


def test_curves_are_means_of_stretches() -> None:
    log = [{"loss": 4.0}, {"loss": 2.0}, {"eval_loss": 1.5}]
    assert curve(logged(log, "loss")) == [4.0, 2.0] and curve([]) == []
    assert curve([1.0, 3.0] * 20) == [2.0] * 20
    assert logged(log, "eval_loss") == [1.5]


def test_settings_out_of_range_are_input_errors() -> None:
    bad: list[tuple[type[TrainingRecipe], dict[str, Any]]] = [
        (TrainingRecipe, {"warmup": -1.0}), (TrainingRecipe, {"warmup": math.nan}), (RefinerRecipe, {"beta": 0.0}),
        (TrainingRecipe, {"lora_targets": "q_proj,"}), (TrainingRecipe, {"precision": "int8"}),
        (TrainingRecipe, {"max_steps": 0}), (TrainingRecipe, {"learning_rate": math.nan}),
        (TrainingRecipe, {"epochs": 0}), (TrainingRecipe, {"dtype": "x"}),
        (TrainingRecipe, {"method": "prompt"}), (TrainingRecipe, {"lora_dropout": 1.0}),
        (TrainingRecipe, {"batch_size": 4, "micro_batch": 3}), (FeedbackRecipe, {"layout": "x"}),
        (RefinerRecipe, {"beta": math.nan}), (RefinerRecipe, {"held_out": 1.0}), (RefinerRecipe, {"prompt": "x"}),
    ]  # fmt: skip
    for kind, settings in bad:
        with pytest.raises(InputError, match=list(settings)[-1]):
            kind(**settings)


def test_the_defaults_are_the_papers() -> None:
    """Sachdeva et al. 2024, 4.1; Mishra et al. 2024, table 11; Chang et al. 2024, appendix B; and, for the refiner, the
    LoRA command in the README of UKPLab/arxiv2024-lfqa-hallucination, whose script's batches are 4 times 4."""

    def shown(r: TrainingRecipe) -> tuple[object, ...]:
        return r.method, r.epochs, r.batch_size, r.rate, r.max_tokens, r.warmup, r.schedule

    assert shown(FeedbackRecipe()) == ("full", 5, 4, 2e-5, 1024, 0.0, "linear")
    assert shown(CriticRecipe()) == ("full", 2, 128, 2e-5, 2048, 0.03, "linear")
    assert shown(PromptTuningRecipe()) == ("prompt", 5, 16, 0.1, 1024, 500, "linear")
    assert (PromptTuningRecipe().virtual_tokens, PromptTuningRecipe().max_steps) == (5, 20_000)
    refiner = RefinerRecipe()
    assert shown(refiner) == ("lora", 5, 16, 5e-5, 1024, 0.1, "cosine")
    assert (refiner.lora_rank, refiner.lora_alpha, refiner.lora_targets) == (256, 128, "q_proj,k_proj,v_proj")
    assert (refiner.beta, RefinerRecipe(method="full").rate) == (0.1, 5e-7)
