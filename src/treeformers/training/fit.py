"""The training loop on `transformers.Trainer`: batches by token budget, validation, resume.

Several processes or machines are `torchrun -m treeformers.cli train ...` or `accelerate launch`: the
Trainer sees them by itself.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from safetensors import SafetensorError
from torch.utils.data import DataLoader
from transformers import (
    PreTrainedModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_utils import EvalLoopOutput
from transformers.utils.logging import disable_progress_bar

from treeformers.kernels.precision import computes_bf16
from treeformers.recipes import Train
from treeformers.training.averaging import Average, averaging
from treeformers.training.batches import Collator, Features, Length, Masking, TokenBatchSampler
from treeformers.training.checkpoints import SAVING, STATE, checkpoint, last_checkpoint, settle
from treeformers.training.optimizer import MuonWithAdam

logger = logging.getLogger(__name__)
disable_progress_bar()  # of saving and loading; training has its own

Evaluate = Callable[[Any], Mapping[str, float]]

STEPS_BETWEEN_STATES = 500
"""So many steps are lost at most when a run is killed; fewer where it is validated more often."""

FEWEST_BF16 = 1_000_000
"""Weights from which on a processor trains faster in bfloat16; below, it converts longer than it saves."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What a training run was.

    Attributes:
        seed: its seed.
        steps: optimizer steps.
        loss: the validation loss of the weights that were kept, in nats a predicted token; nan without
            validation examples.
        wall_seconds: time of training; of a resumed run, the time up to the state that it went on from too.
        processor_seconds: the same of all threads of this process, which other work on the machine changes
            little.
        parameters: number of weights.
        bf16: whether it computed in bfloat16.
        history: the Trainer's log without its times, one entry an evaluation or log line.
        metric: the validation figure that chose the weights.
        best: its value for them.
    """

    seed: int
    steps: int
    loss: float
    wall_seconds: float
    processor_seconds: float
    parameters: int
    bf16: bool
    history: list[dict[str, float]]
    metric: str
    best: float


class _Progress(TrainerCallback):
    """One bar on standard error, with the losses, the figure that chooses the weights, and the time left."""

    def __init__(self, metric: str) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total} steps"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self.bar = Progress(*columns, console=Console(stderr=True))
        self.names = ("loss", "eval_loss", f"eval_{metric}")
        self.figures: dict[str, float] = {}

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
            self.figures |= {name: value for name, value in (logs or {}).items() if name in self.names}
            shown = " ".join(
                f"{name.replace('eval_', 'held-out ')} {value:.3f}" for name, value in self.figures.items()
            )
            self.bar.update(self.task, description=f"training {shown}")


class _SavedAtEvaluation(TrainerCallback):
    """At each evaluation, too, a state is saved, for it may be the best.

    Means that are logged begin anew at each state: a resumed run has the same ones.
    """

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        control.should_save |= control.should_evaluate
        control.should_log |= control.should_save


class _Patience(TrainerCallback):
    """Ends training after some evaluations in a row that found nothing better, those before a resumption too.

    Those are in the log; the Trainer's own callback begins to count anew.
    """

    def __init__(self, evaluations: float) -> None:
        self.evaluations = evaluations

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        control.should_training_stop |= self.is_over(args, state)

    def is_over(self, args: Any, state: Any) -> bool:
        name = args.metric_for_best_model
        sign = 1 if args.greater_is_better else -1
        values = [sign * entry[name] for entry in state.log_history if name in entry]
        # What is no number is worse than any, as for the Trainer.
        values = [-math.inf if math.isnan(value) else value for value in values]
        best = max(range(len(values)), key=values.__getitem__, default=0)
        return len(values) - 1 - best >= self.evaluations


class _Clock:
    """Seconds since training began, those before a resumption too: every line of the log has them."""

    def __init__(self, log: Sequence[Mapping[str, float]]) -> None:
        before = log[-1] if log else {}
        self.wall = time.perf_counter() - before.get("wall_seconds", 0.0)
        self.processor = time.process_time() - before.get("processor_seconds", 0.0)

    def read(self) -> dict[str, float]:
        return {
            "wall_seconds": time.perf_counter() - self.wall,
            "processor_seconds": time.process_time() - self.processor,
        }


class _Trainer(Trainer):
    """The Trainer with batches by token budget, figures of our own, and the average of the weights."""

    def __init__(
        self,
        *args: Any,
        tokens_per_batch: int,
        lengths: Sequence[Length],
        held_out_lengths: Sequence[Length],
        held_out_collator: Collator,
        figures: Evaluate | None,
        average: Average | None,
        patience: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.tokens_per_batch = tokens_per_batch
        self.lengths, self.held_out_lengths = lengths, held_out_lengths
        self.held_out_collator = held_out_collator
        self.figures = figures
        self.average = average
        self.patience = _Patience(patience or math.inf)
        self.add_callback(self.patience)
        if average:
            self.add_callback(average)

    def fit(self, last: Path | None) -> dict[str, float]:
        """Train, from the state in a folder if there is one, and leave the best weights in the model.

        Returns:
            The seconds that it took.
        """
        state: Any = TrainerState.load_from_json(str(last / STATE)) if last else None
        self.clock = _Clock(state.log_history if state else ())
        if state and (
            state.global_step >= self.args.max_steps or self.patience.is_over(self.args, state)
        ):  # the Trainer would take a step before it looks
            self.state = state
            self._load_from_checkpoint(str(last))
        else:
            self.train(resume_from_checkpoint=str(last) if last else None)
        self.load_best()
        return self.clock.read()

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        logs.update(self.clock.read())
        super().log(logs, *args, **kwargs)

    def get_train_dataloader(self) -> DataLoader[Any]:
        features: Any = self.train_dataset
        together = self.args.world_size * self.args.gradient_accumulation_steps
        sampler = TokenBatchSampler(self.lengths, self.tokens_per_batch, self.args.seed, together)
        masking = Masking(self.data_collator, sampler)
        self.add_callback(masking)
        numbered: Any = list(enumerate(features))
        loader: DataLoader[Any] = DataLoader(numbered, batch_sampler=sampler, collate_fn=masking)
        return self.accelerator.prepare(loader)

    def get_eval_dataloader(self, eval_dataset: Any = None) -> DataLoader[Any]:
        """All of it for every process: shared out, batches would be missing from the loss."""
        features: Any = self.eval_dataset
        sampler = TokenBatchSampler(self.held_out_lengths, self.tokens_per_batch)
        return DataLoader(features, batch_sampler=sampler, collate_fn=self.held_out_collator)

    def evaluation_loop(self, dataloader: DataLoader[Any], *args: Any, **kwargs: Any) -> EvalLoopOutput:
        with self.average.swapped_in() if self.average else nullcontext():
            figures = {**self._held_out_loss(dataloader), **self._compute_figures()}
        metrics = {f"eval_{name}": value for name, value in figures.items()}
        return EvalLoopOutput(np.empty(0), None, metrics, num_samples=len(self.held_out_lengths))

    @torch.no_grad()
    def _held_out_loss(self, batches: DataLoader[Any]) -> Mapping[str, float]:
        """In nats a label; the Trainer's is the mean over batches, however many labels each has."""
        if not self.eval_dataset:
            return {}
        model: Any = self.model
        model.eval()
        total, count = 0.0, 0
        for batch in batches:
            inputs = self._prepare_inputs(batch)
            labels = int((inputs["labels"] != -100).sum())
            with self.compute_loss_context_manager():
                total += labels * model(**inputs)["loss"].item()
            count += labels
        return {"loss": total / max(1, count)}

    @torch.no_grad()
    def _compute_figures(self) -> Mapping[str, float]:
        if self.figures is None:
            return {}
        model: Any = self.model
        return self.figures(model.eval())

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        super()._save(output_dir, state_dict)
        if self.average and output_dir and self.args.should_save:
            self.average.save(Path(output_dir))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        if self.average:
            self.average.load(Path(resume_from_checkpoint))

    def _get_output_dir(self, trial: Any) -> str:
        return os.path.join(super()._get_output_dir(trial), SAVING)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        self.accelerator.wait_for_everyone()  # each process has written its part
        if self.args.should_save:
            settle(Path(str(self.args.output_dir)), self.state.global_step, self.state.best_global_step)
        self.accelerator.wait_for_everyone()  # none reads a state before it is in its place

    def load_best(self) -> None:
        """Leave the weights with the best validation figure in the model; the last ones if none is best."""
        if self.state.best_global_step:
            best = checkpoint(Path(str(self.args.output_dir)), self.state.best_global_step)
            self.state.best_model_checkpoint = str(best)
            self._load_best_model()
            if self.average:
                self.average.settle(best)


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
    *,
    lengths: Sequence[Length] | None = None,
    held_out_lengths: Sequence[Length] | None = None,
    evaluate: Evaluate | None = None,
    metric: str = "loss",
    higher_is_better: bool = False,
    idle_weights: bool = False,
) -> Fit:
    """Train a model in place and leave the weights with the best validation figure in it.

    Args:
        model: returns a loss from what the collator gives.
        features: training examples.
        held_out: examples of the validation loss; there may be none if another figure chooses.
        collator: examples to a batch, with `labels`: without them there is no validation loss.
        held_out_collator: the same for the validation loss, with the same masks every time.
        recipe: how to train.
        seed: of order, masks and dropout.
        checkpoints: folder of the states to resume from.
        resume: go on from the last state there; the result is that of a run never stopped.
        progress: show a progress bar.
        lengths: tokens of every training example, see `TokenBatchSampler`; of its `input_ids` by default.
        held_out_lengths: the same of the validation examples.
        evaluate: further validation figures of the model, which it sees in evaluation mode.
        metric: the figure that chooses the weights, "loss" or a key of what `evaluate` gives.
        higher_is_better: of that figure.
        idle_weights: whether a batch may leave weights without a gradient, as trees of a single word leave
            those of the nodes; several processes then look for them at every step.

    Raises:
        ValueError: no training examples, no validation examples for the loss that chooses, a number of
            processes that does not divide the batches of a step, or weights that are no numbers in the end.
        OSError: the checkpoints cannot be written or read.
    """
    if not features or (metric == "loss" and not held_out):
        raise ValueError(
            f"{len(features)} training and {len(held_out)} validation examples: expected some of both"
        )
    lengths = _token_counts(features) if lengths is None else lengths
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    together = max(recipe.gradient_accumulation_steps, processes)
    if together % processes:
        raise ValueError(
            f"train.gradient_accumulation_steps is {together}, expected a multiple of {processes} processes"
        )
    batches = len(TokenBatchSampler(lengths, recipe.tokens_per_batch, together=together))
    steps = max(1, batches // together) * recipe.epochs
    steps = min(steps, recipe.max_steps) if recipe.max_steps else steps
    every = max(1, math.ceil(steps / recipe.num_evaluations))
    cuda = torch.cuda.is_available()
    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        max_steps=steps,
        gradient_accumulation_steps=together // processes,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="constant_with_warmup" if recipe.lr_scheduler == "constant" else "linear",
        warmup_steps=min(recipe.warmup_steps, steps // 2),
        max_grad_norm=recipe.max_grad_norm,
        bf16=recipe.bf16 and computes_bf16() and (cuda or model.num_parameters() >= FEWEST_BF16),
        use_cpu=not cuda,
        eval_strategy="steps",
        eval_steps=every,
        logging_steps=max(1, every // 5),
        save_steps=min(every, STEPS_BETWEEN_STATES),
        metric_for_best_model=f"eval_{metric}",
        greater_is_better=higher_is_better,
        prediction_loss_only=True,
        report_to="none",
        seed=seed,
        disable_tqdm=True,
        log_level="error",
        dataloader_pin_memory=cuda,
        remove_unused_columns=False,
        ddp_find_unused_parameters=idle_weights,
        accelerator_config={"even_batches": False, "use_seedable_sampler": False},
    )
    trainer = _Trainer(
        model=model,
        args=arguments,
        train_dataset=features,
        eval_dataset=held_out,
        data_collator=collator,
        optimizers=(MuonWithAdam(model, recipe), None),
        tokens_per_batch=recipe.tokens_per_batch,
        lengths=lengths,
        held_out_lengths=_token_counts(held_out) if held_out_lengths is None else held_out_lengths,
        held_out_collator=held_out_collator,
        figures=evaluate,
        average=averaging(model, recipe),
        patience=recipe.patience,
    )
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(_SavedAtEvaluation())
    shown = _Progress(metric)
    if progress:
        trainer.add_callback(shown)
    last = last_checkpoint(checkpoints) if resume else None
    if resume and last is None:
        logger.warning("%s: nothing to resume, training starts at the first step", checkpoints)
    try:
        seconds = trainer.fit(last)
    except (OSError, SafetensorError, RuntimeError) as error:
        reason = str(error)
        if isinstance(error, RuntimeError):
            if "inline_container" not in reason:  # of torch.save, which says where in its code
                raise
            reason = "a state cannot be written or read, the disk is full perhaps"
        raise OSError(f"{checkpoints}: {reason}") from None
    finally:
        shown.bar.stop()  # an interrupted run too gives the terminal back
    for name, weight in model.named_parameters():
        if not weight.isfinite().all():
            raise ValueError(
                f"{checkpoints.parent}: training diverged: {name} is no longer a number; expected a lower "
                f"train.learning_rate than {recipe.learning_rate:g}, or a lower train.max_grad_norm"
            )
    kept = [entry for entry in trainer.state.log_history if entry["step"] == trainer.state.best_global_step]
    figures: dict[str, float] = {name: value for entry in kept for name, value in entry.items()}
    if metric != "loss" and math.isnan(figures.get(f"eval_{metric}", math.nan)):
        logger.warning("warning: the validation %s is not defined, so that it chose no weights", metric)
    return Fit(
        seed=seed,
        steps=trainer.state.global_step,
        loss=figures.get("eval_loss", math.nan),
        wall_seconds=seconds["wall_seconds"],
        processor_seconds=seconds["processor_seconds"],
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        bf16=arguments.bf16,
        history=_without_times(trainer.state.log_history),
        metric=metric,
        best=figures.get(f"eval_{metric}", math.nan),
    )


def _without_times(log: list[dict[str, float]]) -> list[dict[str, float]]:
    """The log, in order, but for what differs from run to run; of training as a whole it has nothing else."""
    times = ("_runtime", "_per_second", "_seconds")
    return [
        {name: value for name, value in sorted(entry.items()) if not name.endswith(times)}
        for entry in log
        if "train_runtime" not in entry
    ]


def _token_counts(features: Features) -> list[int]:
    return [len(feature["input_ids"]) for feature in features]
