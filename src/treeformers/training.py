"""Training on `transformers.Trainer`: batches by token budget, validation loss, resume, several seeds.

Several processes or machines are `torchrun -m treeformers.cli train ...` or `accelerate launch`: the
Trainer sees them by itself.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import logging
import math
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from safetensors import SafetensorError
from torch.utils.data import BatchSampler, DataLoader
from transformers import (
    EarlyStoppingCallback,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)
from transformers.utils.logging import disable_progress_bar

from treeformers.data import corpora, grammar, text
from treeformers.models.treebert import TreeBertConfig, TreeBertForMaskedLM
from treeformers.optimizer import MuonWithAdam
from treeformers.recipes import Data, Recipe, Train
from treeformers.trees.formats import atomic_write
from treeformers.trees.punctuation import is_word
from treeformers.trees.tree import Tree

logger = logging.getLogger(__name__)
disable_progress_bar()  # of saving and loading; training has its own

Features = list[dict[str, Any]]
Collator = Callable[[Features], Mapping[str, torch.Tensor]]

GRAMMAR_TEXT_SEED, GRAMMAR_GOLD_SEED = 1, 2


@dataclass(frozen=True, slots=True)
class Fit:
    """What a training run was.

    Attributes:
        seed: its seed.
        steps: optimizer steps.
        loss: the best validation loss, in nats a predicted token.
        wall_seconds: time of training, without what a resumed run did before.
        parameters: number of weights.
        history: the Trainer's log, one entry an evaluation or log line.
    """

    seed: int
    steps: int
    loss: float
    wall_seconds: float
    parameters: int
    history: list[dict[str, float]]


class TokenBatchSampler(BatchSampler):
    """Batches of sentences of like length, within a budget of tokens with their padding.

    Args:
        lengths: tokens of every example.
        tokens: budget of a batch. A longer example makes a batch of its own.
        seed: of the order; None keeps the batches in order of length.
    """

    batch_size = None  # type: ignore[assignment]  # what accelerate asks: batches differ in size
    drop_last = True  # over several processes, an incomplete round

    def __init__(self, lengths: Sequence[int], tokens: int, seed: int | None = None) -> None:
        self.lengths, self.tokens, self.seed = lengths, tokens, seed
        self.epoch = 0
        self._count = len(self._batches())

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[list[int]]:
        batches = self._batches()
        if self.seed is not None:
            random.Random(f"{self.seed} {self.epoch}").shuffle(batches)
        return iter(batches)

    def _batches(self) -> list[list[int]]:
        order = list(range(len(self.lengths)))
        if self.seed is not None:  # other neighbours in every run, the same number of batches in every epoch
            random.Random(self.seed).shuffle(order)
        order.sort(key=self.lengths.__getitem__)
        batches: list[list[int]] = [[]]
        for index in order:  # in order of length, so the newest is the longest
            if batches[-1] and (len(batches[-1]) + 1) * self.lengths[index] > self.tokens:
                batches.append([])
            batches[-1].append(index)
        return batches


class _Progress(TrainerCallback):
    """One bar on standard error, with the losses and the time left."""

    def __init__(self) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total} steps"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self.bar = Progress(*columns, console=Console(stderr=True))
        self.losses: dict[str, float] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self.task = self.bar.add_task("training", total=state.max_steps, completed=state.global_step)
            self.bar.start()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self.bar.update(self.task, completed=state.global_step)

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **kwargs: Any
    ) -> None:
        if state.is_world_process_zero and not self.bar.finished:
            self.losses |= {
                name: value for name, value in (logs or {}).items() if name in ("loss", "eval_loss")
            }
            shown = " ".join(
                f"{name.replace('eval_', 'held-out ')} {self.losses[name]:.3f}" for name in self.losses
            )
            self.bar.update(self.task, description=f"training {shown}")


class _Masking(TrainerCallback):
    """A collator whose masks depend on seed, epoch and batch alone, so that a resumed run has the same.

    It tells the sampler the epoch: of several processes, accelerate does not reach it in a resumed one.
    """

    def __init__(self, collator: Collator, sampler: TokenBatchSampler) -> None:
        self.collator, self.sampler = collator, sampler

    def __call__(self, features: Features) -> Mapping[str, torch.Tensor]:
        tokens = [feature["input_ids"] for feature in features]
        with torch.random.fork_rng(devices=[]):
            seed = crc32(repr((self.sampler.seed, self.sampler.epoch, tokens)).encode())
            torch.default_generator.manual_seed(seed)
            return self.collator(features)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.sampler.set_epoch(int(state.epoch))


class _Trainer(Trainer):
    """The Trainer with batches by token budget."""

    def __init__(self, *args: Any, recipe: Train, held_out_collator: Collator, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.recipe = recipe
        self.held_out_collator = held_out_collator

    def get_train_dataloader(self) -> DataLoader[Any]:
        features: Any = self.train_dataset
        sampler = self._sampler(features, self.args.seed)
        masking = _Masking(self.data_collator, sampler)
        self.add_callback(masking)
        loader: DataLoader[Any] = DataLoader(features, batch_sampler=sampler, collate_fn=masking)
        return self.accelerator.prepare(loader)

    def get_eval_dataloader(self, eval_dataset: Any = None) -> DataLoader[Any]:
        """All of it for every process: shared out, batches would be missing from the loss."""
        features: Any = eval_dataset or self.eval_dataset
        sampler = self._sampler(features, None)
        return DataLoader(features, batch_sampler=sampler, collate_fn=self.held_out_collator)

    def _sampler(self, features: Features, seed: int | None) -> TokenBatchSampler:
        lengths = [len(feature["input_ids"]) for feature in features]
        return TokenBatchSampler(lengths, self.recipe.tokens_per_batch, seed)


def fit(
    model: PreTrainedModel,
    features: Features,
    held_out: Features,
    collator: Collator,
    held_out_collator: Collator,
    recipe: Train,
    seed: int,
    checkpoints: Path,
    resume: bool = False,
    progress: bool = True,
) -> Fit:
    """Train a model in place and leave the weights with the lowest validation loss in it.

    Args:
        model: returns a loss from what the collator gives.
        features: training examples with `input_ids`.
        held_out: examples of the validation loss.
        collator: examples to a batch.
        held_out_collator: the same for the validation loss, with the same masks every time.
        recipe: how to train.
        seed: of order, masks and dropout.
        checkpoints: folder of the states to resume from.
        resume: go on from the last state there; the result is that of a run never stopped.
        progress: show a progress bar.

    Raises:
        ValueError: no examples.
    """
    if not features or not held_out:
        raise ValueError(
            f"{len(features)} training and {len(held_out)} validation examples: expected some of both"
        )
    budget = TokenBatchSampler([len(feature["input_ids"]) for feature in features], recipe.tokens_per_batch)
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    steps = max(1, len(budget) // processes) * recipe.epochs
    steps = min(steps, recipe.max_steps) if recipe.max_steps else steps
    every = max(1, math.ceil(steps / recipe.evaluations))
    cuda = torch.cuda.is_available()
    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        max_steps=steps,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="constant_with_warmup" if recipe.constant else "linear",
        warmup_steps=min(recipe.warmup_steps, steps // 2),
        max_grad_norm=recipe.clip,
        bf16=recipe.bf16 and computes_bf16(),
        use_cpu=not cuda,
        eval_strategy="steps",
        eval_steps=every,
        logging_steps=max(1, every // 5),
        save_steps=every,
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        greater_is_better=False,
        prediction_loss_only=True,
        report_to="none",
        seed=seed,
        disable_tqdm=True,
        log_level="error",
        dataloader_pin_memory=cuda,
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        accelerator_config={"even_batches": False, "use_seedable_sampler": False},
    )
    trainer = _Trainer(
        model=model,
        args=arguments,
        train_dataset=features,
        eval_dataset=held_out,
        data_collator=collator,
        optimizers=(MuonWithAdam(model, recipe), None),
        recipe=recipe,
        held_out_collator=held_out_collator,
    )
    trainer.remove_callback(PrinterCallback)
    shown = _Progress()
    if progress:
        trainer.add_callback(shown)
    if recipe.patience:
        trainer.add_callback(EarlyStoppingCallback(recipe.patience))
    last = _last_checkpoint(checkpoints) if resume else None
    if resume and last is None:
        logger.warning("%s: nothing to resume, training starts at the first step", checkpoints)
    started = time.perf_counter()
    try:
        trainer.train(resume_from_checkpoint=last)
    except (OSError, SafetensorError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "inline_container" not in str(error):  # not of torch.save
            raise
        raise OSError(f"{checkpoints}: {error}") from None
    finally:
        shown.bar.stop()  # an interrupted run too gives the terminal back
    best = trainer.state.best_metric
    return Fit(
        seed=seed,
        steps=trainer.state.global_step,
        loss=float("nan") if best is None else best,
        wall_seconds=time.perf_counter() - started,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        history=trainer.state.log_history,
    )


def train_inducer(
    recipe: Recipe, out: str | Path, seed: int | None = None, resume: bool = False, progress: bool = True
) -> Fit:
    """Train a Tree Transformer as a masked language model (Wang et al. 2019) and save it.

    The folder gets `config.json`, `model.safetensors`, the tokenizer, `recipe.json` and
    `history.json`; while training goes on it holds `checkpoints` to resume from.

    Args:
        recipe: what to train on and how.
        out: folder of the model.
        seed: the first of `recipe.train.seeds` by default.
        resume: go on with an unfinished run there.
        progress: show a progress bar.

    Raises:
        ValueError: a folder that holds the run of another recipe, or a text with too few sentences.
        OSError: text that cannot be read or a folder that cannot be written.
    """
    out = Path(out)
    seed = recipe.train.seeds[0] if seed is None else seed
    run = {"recipe": recipe.to_dict(), "seed": seed}
    checkpoints = out / "checkpoints"
    first = os.environ.get("RANK", "0") == "0"  # of several processes, the one that writes
    if resume:
        _check_same_run(out, run)
    elif first and checkpoints.is_dir():
        shutil.rmtree(checkpoints)
    lines = read_text(recipe.data)
    held_out = random.Random(0).sample(range(len(lines)), min(recipe.data.held_out, len(lines) // 10))
    if not held_out:
        raise ValueError(f"{recipe.data.text}: {len(lines)} sentences, expected at least 10 to train on")
    tokenizer = text.train_tokenizer(
        lines,
        kind=recipe.data.tokenizer,
        vocab_size=recipe.data.vocab_size,
        min_frequency=recipe.data.min_frequency,
        end_token=recipe.data.end_token,
        lowercase=not recipe.data.normalize,  # which leaves N apart from n
    )
    features = list(text.encode(tokenizer, lines, recipe.data.max_length))
    kept_back = set(held_out)
    model = build_model(recipe, tokenizer, seed)
    with_word_ids = model.config.link_level == "word"
    out.mkdir(parents=True, exist_ok=True)
    if first:
        _write_json(out / "run.json", run)
    result = fit(
        model,
        [feature for number, feature in enumerate(features) if number not in kept_back],
        [features[number] for number in sorted(held_out)],
        text.MaskedWordCollator(tokenizer, recipe.data.mask_probability, with_word_ids),
        text.MaskedWordCollator(tokenizer, recipe.data.mask_probability, with_word_ids, seed=0),
        recipe.train,
        seed,
        checkpoints,
        resume,
        progress,
    )
    if torch.distributed.is_initialized():
        torch.distributed.barrier()  # all have read the best checkpoint
    if first:
        save_model(model, tokenizer, out, {"recipe.json": recipe.to_dict(), "history.json": result.history})
        shutil.rmtree(checkpoints, ignore_errors=True)
    return result


def build_model(recipe: Recipe, tokenizer: PreTrainedTokenizerBase, seed: int) -> TreeBertForMaskedLM:
    """A fresh model of the recipe's sizes.

    Raises:
        ValueError: a key that `TreeBertConfig` does not have, or a value it does not take.
    """
    names = [field.name for field in dataclasses.fields(TreeBertConfig)]
    names = [name for name in names if name not in ("vocab_size", "pad_token_id")]  # of the tokenizer
    for key in recipe.model:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1, cutoff=0.0)[0]
            raise ValueError(f"unknown key 'model.{key}', the nearest is 'model.{near}'")
    set_seed(seed)
    sizes = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, **recipe.model}
    try:
        return TreeBertForMaskedLM(TreeBertConfig(**sizes))
    except Exception as error:  # huggingface_hub raises its own kinds
        raise ValueError(f"model: {' '.join(str(error).split())}") from None


def read_text(data: Data) -> list[str]:
    """The sentences to train on, one string each, words apart by spaces.

    Raises:
        ValueError: an unknown part of the corpus, or no sentences.
    """
    if data.text == "grammar":
        lines = [" ".join(sample.words) for sample in _sample(data.sentences or 10000, GRAMMAR_TEXT_SEED)]
    else:
        lines = []
        for example in _parts(data.text, data.splits, data.root):
            if isinstance(example, str):
                words: Sequence[str] = example.split()
            elif data.normalize and isinstance(example, Tree):
                words = () if (spoken := _spoken(example)) is None else spoken.words
            else:
                words = example.words
            if data.normalize:
                words = [text.normalize_word(word) for word in words]
            if words:
                lines.append(" ".join(words))
        lines = lines[: data.sentences or None]
    if not lines:
        raise ValueError(f"{data.text}: no sentences in {', '.join(data.splits)}")
    return lines


def read_gold(data: Data) -> list[Tree]:
    """The trees to score against, without punctuation.

    Currency signs stay, as raw text has them; scores leave them out.

    Raises:
        ValueError: no gold named, an unknown part of it, or no trees.
    """
    if not data.gold:
        raise ValueError("the recipe names no trees to score against: expected data.gold")
    if data.gold == "grammar":
        trees: Iterable[Tree] = (
            sample.tree for sample in _sample(data.gold_sentences or 500, GRAMMAR_GOLD_SEED)
        )
    else:
        trees = list(_parts(data.gold, data.gold_splits, data.root))
        if not isinstance(next(iter(trees), None), Tree):
            raise ValueError(f"{data.gold}: no constituency trees in {', '.join(data.gold_splits)}")
    spoken = (_spoken(tree) for tree in trees)
    gold = [tree for tree in spoken if tree is not None][: data.gold_sentences or None]
    if not gold:
        raise ValueError(f"{data.gold}: no trees in {', '.join(data.gold_splits)}")
    return gold


def save_model(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    out: Path,
    extra: Mapping[str, Any],
) -> None:
    """Write a model folder so that what stood there stays whole until the new one is.

    Raises:
        OSError: the disk is full or the folder cannot be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".saving-") as folder:
        try:
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        except Exception as error:  # safetensors and tokenizers raise kinds of their own
            raise OSError(f"{out}: cannot be written: {error}") from None
        for name, content in extra.items():
            _write_json(Path(folder) / name, content)
        for path in sorted(Path(folder).iterdir()):
            os.replace(path, out / path.name)


def computes_bf16() -> bool:
    """Whether this device multiplies in bfloat16 rather than imitating it."""
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def _spoken(tree: Tree) -> Tree | None:
    """The tree over what is read aloud: words and the signs $ and #."""
    return tree.filter_leaves(lambda leaf: is_word(leaf) or leaf.label in ("$", "#"))


def _sample(count: int, seed: int) -> Iterator[grammar.Sample]:
    return grammar.default_grammar().sample(count, seed=seed, max_length=40)


def _parts(name: str, splits: Sequence[str], root: str) -> Iterator[Any]:
    parts = corpora.load(name, root=root or None)
    if set(parts) == {"train"}:  # a single file
        splits = ("train",)
    for split in splits:
        if split not in parts:
            raise ValueError(f"{name} has no part {split!r}: expected {', '.join(parts)}")
        yield from parts[split]


def _last_checkpoint(folder: Path) -> str | None:
    """The newest state that was written to its end: its trainer_state.json comes last."""
    whole = (path.parent for path in folder.glob("checkpoint-*/trainer_state.json"))
    return max(map(str, whole), key=lambda name: int(name.rpartition("-")[2]), default=None)


def _check_same_run(out: Path, run: Mapping[str, Any]) -> None:
    path = out / "run.json"
    if path.is_file() and json.loads(path.read_text(encoding="utf-8")) != json.loads(json.dumps(run)):
        raise ValueError(
            f"{path}: another recipe or seed was trained here; resume with that one or use a new folder"
        )


def _write_json(path: Path, content: Any) -> None:
    with atomic_write(path) as file:
        json.dump(content, file, indent=1)
        file.write("\n")
