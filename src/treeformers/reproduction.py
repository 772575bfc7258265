"""Recipes to results files: train every seed, score it, average the trees, write JSON.

An experiment folder holds `README.md`, one TOML recipe a table row and `results/*.json`.
"""

from __future__ import annotations

import json
import logging
import math
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from treeformers import __version__
from treeformers.induction import average_trees, summarise_structure, trivial_tree
from treeformers.metrics import UnlabeledScore, binary_upper_bound, perplexity, unlabeled_f1
from treeformers.recipes import Readout, Recipe, Scale
from treeformers.trees.tree import Tree

logger = logging.getLogger(__name__)

TRIVIAL = ("random", "left", "balanced", "right")
SHORT = 10  # words of a sentence of WSJ-10
FROM = 3  # words of a sentence that can be wrong
LABELS = ("NP", "VP", "PP", "ADJP", "SBAR", "ADVP")  # the columns of Table 3
PERPLEXITY_SENTENCES = 500


def environment() -> dict[str, Any]:
    """Versions and devices, for results and bug reports."""
    import torch

    devices = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": ", ".join(devices) or f"{torch.cpu.get_capabilities().get('cpu_name', 'CPU')} (CPU)",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "treeformers": __version__,
        **{name: version(name) for name in ("torch", "transformers", "tokenizers", "accelerate")},
    }


def score_trees(gold: Sequence[Tree], predicted: Sequence[Tree]) -> dict[str, Any]:
    """All unlabelled figures of one set of trees, with the signature of the score."""
    score = unlabeled_f1(gold, predicted)
    return {
        "sentence_f1": score.sentence_f1,
        "corpus_f1": score.corpus_f1,
        **_f1_by_length(partial(unlabeled_f1, gold, predicted)),
        "recall_by_label": {
            label: score.recall_by_label[label] for label in LABELS if label in score.recall_by_label
        },
        "spans_per_sentence": score.spans_per_sentence,
        "flat_share": score.flat_share,
        "sentences": score.sentences,
        "signature": score.signature,
    }


def score_baselines(gold: Sequence[Tree], seeds: Iterable[int] = range(1, 6)) -> dict[str, Any]:
    """Figures of the trivial trees and of the best binary ones."""
    rows: dict[str, Any] = {}
    for kind in TRIVIAL:
        runs = [
            score_trees(gold, [trivial_tree(tree.words, kind, f"{seed} {n}") for n, tree in enumerate(gold)])  # type: ignore[arg-type]
            for seed in (seeds if kind == "random" else (1,))
        ]
        summary = summarise(runs)
        rows[kind] = runs[0] | {name: figures["mean"] for name, figures in summary.items()}
        rows[kind]["sentence_f1_max"] = summary["sentence_f1"]["max"]
    upper = binary_upper_bound(gold)
    rows["best binary"] = {
        "sentence_f1": upper.sentence_f1,
        "corpus_f1": upper.corpus_f1,
        **_f1_by_length(partial(binary_upper_bound, gold)),
    }
    return rows


def score_inducer(
    model: str | Path, gold: Sequence[Tree], held_out: Sequence[str], readout: Readout
) -> tuple[dict[str, Any], list[Tree], list[list[Tree]]]:
    """Figures of a trained model by one readout and by the others, its trees, and those of its layers.

    Args:
        model: the model folder.
        gold: trees to score against; none for perplexity alone.
        held_out: sentences for the pseudo-perplexity.
        readout: how trees are read.
    """
    from treeformers.inducer import Inducer, read_trees

    inducer = Inducer.from_pretrained(model)
    figures: dict[str, Any] = {
        "pseudo_perplexity": perplexity(list(inducer.masked_log_probabilities(held_out)))
        if held_out
        else None
    }
    if inducer.model.config.prior == "none" or not gold:
        return figures, [], []
    words = [tree.words for tree in gold]
    started = time.perf_counter()
    trees = inducer.parse(words, readout=readout)
    figures |= score_trees(gold, trees)
    figures["sentences_per_second"] = len(gold) / (time.perf_counter() - started)
    links = inducer.links(words)

    def f1(readout: Readout) -> float:
        return unlabeled_f1(gold, read_trees(links, words, readout)).sentence_f1

    layers = range(len(links[0]))
    blocks = Readout(method="blocks", layer=max(0, layers[-1] - 1), right_bias=readout.right_bias)
    printed = Readout(method="layers", min_layer=min(2, layers[-1]))  # the paper's m and threshold
    by_layer = [read_trees(links, words, replace(blocks, layer=layer)) for layer in layers[2:] or layers]
    figures["by_readout"] = {
        "blocks": f1(replace(blocks, right_bias=0.0)),
        "blocks, right bias 1": f1(replace(blocks, right_bias=1.0)),
        "blocks, layers averaged": unlabeled_f1(gold, _average(by_layer)).sentence_f1,
        "layers": f1(printed),
        "layers, released": f1(replace(printed, algorithm="released")),
    }
    figures["algorithm1_flat_share"] = summarise_structure(read_trees(links, words, printed)).flat_share
    figures["by_layer"] = [f1(Readout(method="layer", layer=layer)) for layer in layers]
    figures["by_min_layer"] = [f1(replace(printed, min_layer=layer)) for layer in layers]
    figures["mean_link_by_layer"] = [
        fmean(float(link[layer].mean()) for link in links if link.size) for layer in layers
    ]
    return figures, trees, by_layer


def run_recipe(
    path: Path, scale: Scale, runs: Path, overrides: Iterable[str] = (), progress: bool = True
) -> dict[str, Any]:
    """Train and score a recipe for all its seeds; a finished seed is not trained again.

    Args:
        path: the recipe.
        scale: its sizes.
        runs: folder for the models.
        overrides: changes to the recipe, see `Recipe.load`.
        progress: show progress bars.

    Returns:
        What is written to the results file.
    """
    from treeformers.training import read_gold

    recipe = Recipe.load(path, scale, overrides)
    if recipe.data.gold:
        read_gold(recipe.data)  # what is missing shows before training, not after
    models, fits = [], []
    for seed in recipe.train.seeds:
        folder = runs / f"{path.stem}-{scale}" / f"seed-{seed}"
        fits.append(train_once(recipe, seed, folder, progress=progress))
        models.append(folder)
    return collect(recipe, models, fits)


def collect(recipe: Recipe, models: Sequence[Path], fits: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Score trained models of one recipe: each alone, and averages of the trees of all.

    "averaged" has one vote a model, "averaged_layers" one for each layer from 2 up of each model.

    The pseudo-perplexity is that of the first sentences of the test part, which a recipe that trains on
    all parts has read; of the grammar it is that of the gold sentences.
    """
    from treeformers.training import read_gold, read_text

    gold = read_gold(recipe.data) if recipe.data.gold else []
    if recipe.data.text == "grammar":
        held_out = [" ".join(tree.words) for tree in gold]
    else:
        held_out = read_text(replace(recipe.data, splits=("test",), sentences=0))
    seeds: list[dict[str, Any]] = []
    forests: list[list[Tree]] = []
    layers: list[list[Tree]] = []
    for folder, fit in zip(models, fits, strict=True):
        figures, trees, by_layer = score_inducer(
            folder, gold, held_out[:PERPLEXITY_SENTENCES], recipe.readout
        )
        seeds.append({**fit, **figures})
        forests += [trees] if trees else []
        layers += by_layer
    result: dict[str, Any] = {
        "recipe": recipe.to_dict(),
        "scale": recipe.scale,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": commit(),
        "environment": environment(),
        "data": {"text": recipe.data.text, "gold": recipe.data.gold, "gold_trees": len(gold)},
        "seeds": seeds,
        "summary": summarise(seeds),
    }
    if len(forests) > 1:
        result["averaged"] = score_trees(gold, _average(forests))
        result["averaged_layers"] = score_trees(gold, _average(layers))
    if gold:
        result["baselines"] = score_baselines(gold)
    return result


def _average(forests: Sequence[Sequence[Tree]]) -> list[Tree]:
    return [average_trees(trees) for trees in zip(*forests, strict=True)]


def summarise(seeds: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Mean, maximum and standard deviation over the seeds of every figure that is a number."""
    summary = {}
    for name in seeds[0]:
        values = [value for seed in seeds if isinstance(value := seed.get(name), float)]
        if len(values) == len(seeds):
            summary[name] = {"mean": fmean(values), "max": max(values), "sd": pstdev(values)}
    return summary


def reproduce(
    experiment: Path,
    row: str | None = None,
    scale: Scale = "small",
    runs: Path = Path("runs"),
    overrides: Sequence[str] = (),
    progress: bool = True,
) -> list[Path]:
    """Run the recipes of an experiment folder, and write their results.

    Of all recipes, those whose corpora are not there are left out with a warning.

    Args:
        experiment: folder of a paper, such as `experiments/wang2019`.
        row: name of one recipe; all of them by default.
        scale: their sizes.
        runs: folder for the models.
        overrides: changes to every recipe.
        progress: show progress bars.

    Returns:
        The results files.

    Raises:
        FileNotFoundError: no such experiment or row, or no corpus for any of its recipes.
    """
    recipes = sorted(experiment.glob(f"{row or '*'}.toml"))
    if not recipes:
        known = ", ".join(sorted(path.stem for path in experiment.glob("*.toml"))) or "none"
        raise FileNotFoundError(f"{experiment / (row or '*')}.toml: no such recipe; there are: {known}")
    written: list[Path] = []
    for path in recipes:
        logger.info("%s at scale %s", path, scale)
        try:
            result = run_recipe(path, scale, runs / experiment.name, overrides, progress)
        except FileNotFoundError as error:
            if len(recipes) == 1 or (path == recipes[-1] and not written):
                raise
            logger.warning("%s is left out: %s", path, error)
            continue
        target = experiment / "results" / f"{path.stem}.{scale}.json"
        target.parent.mkdir(exist_ok=True)
        write_json(target, result)
        written.append(target)
    return written


def commit() -> str:
    """The commit of the code that runs, "+" after it if files differ; "" outside a checkout."""
    folder = Path(__file__).parent

    def git(*arguments: str) -> str:
        try:
            done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "--", ".") else "")


def write_json(path: Path, content: Any) -> None:
    """Write JSON in one step: a file that stood there stays whole until the new one is."""
    from treeformers.trees.formats import atomic_write

    with atomic_write(path) as file:
        json.dump(_rounded(content), file, indent=1, ensure_ascii=False)
        file.write("\n")


def train_once(
    recipe: Recipe, seed: int, folder: Path, resume: bool = True, progress: bool = True
) -> dict[str, Any]:
    """Train one seed, unless that was done: `fit.json` in the folder says so.

    Args:
        recipe: what to train.
        seed: its seed.
        folder: of the model.
        resume: keep a finished model and go on with an unfinished one; otherwise train anew.
        progress: show a progress bar.

    Returns:
        The fields of `treeformers.training.Fit`, with the validation curve for the history, and the commit.
    """
    from treeformers.training import train_inducer

    done, key = folder / "fit.json", _training(recipe)
    if resume and done.is_file():
        stored = json.loads(done.read_text(encoding="utf-8"))
        if stored["training"] == key:
            return dict(stored["fit"])
    resume = resume and (folder / "checkpoints").is_dir()
    fit = asdict(train_inducer(recipe, folder, seed, resume=resume, progress=progress))
    curve = [entry for entry in fit.pop("history") if "eval_loss" in entry]
    fit["validation_curve"] = [[entry["step"], entry["eval_loss"]] for entry in curve]
    fit["commit"] = commit()
    write_json(done, {"training": key, "fit": fit})
    return fit


def _training(recipe: Recipe) -> dict[str, Any]:
    """What of a recipe the weights of one seed depend on."""
    parts = {"data": asdict(recipe.data), "model": recipe.model, "train": asdict(recipe.train)}
    for name in ("gold", "gold_splits", "gold_sentences", "root"):
        del parts["data"][name]
    del parts["train"]["seeds"]
    return dict(json.loads(json.dumps(parts)))


def _f1_by_length(score: Callable[..., UnlabeledScore]) -> dict[str, float | None]:
    """The F1 of short sentences, and of those that are not right by definition; None if there are none."""
    limits = {
        f"sentence_f1_{SHORT}": {"max_length": SHORT},
        f"sentence_f1_from_{FROM}": {"min_length": FROM},
    }
    figures: dict[str, float | None] = dict.fromkeys(limits)
    for name, limit in limits.items():
        with suppress(ValueError):  # the trees were scored before: only that nothing is left
            figures[name] = score(**limit).sentence_f1
    return figures


def _rounded(content: Any) -> Any:
    if isinstance(content, float):
        return round(content, 4) if math.isfinite(content) else None
    if isinstance(content, Mapping):
        return {key: _rounded(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_rounded(value) for value in content]
    return content
