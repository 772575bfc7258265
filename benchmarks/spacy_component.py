"""Benchmark of the spaCy component: trees and speed, compared with the model on the same words.

python benchmarks/spacy_component.py MODEL --text sentences.txt --out results.json
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from pathlib import Path

import spacy
from provenance import report
from spacy.tokens import Doc

from treeformers.spacy_component import Component
from treeformers.tasks.tree_predictors import load_tree_predictor


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="model folder")
    parser.add_argument("--text", type=Path, required=True, help="text file, one sentence per line")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--per-document", type=int, default=10, help="number of sentences in a document")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write the metrics as JSON")
    arguments = parser.parse_args()

    lines = (line.split() for line in arguments.text.read_text(encoding="utf-8").splitlines())
    sentences = [words for words in lines if words][: arguments.sentences]
    starts = range(0, len(sentences), arguments.per_document)
    documents = [sentences[start : start + arguments.per_document] for start in starts]
    vocab = spacy.blank("en").vocab
    predictor = load_tree_predictor(arguments.model)
    component = Component(arguments.model)
    list(component.pipe([document(vocab, sentences[:2])]))  # loads the model
    gc.freeze()

    seconds: dict[str, list[float]] = {"model": [], "component": []}
    for _ in range(arguments.repeats):  # interleaved, so that other programs slow down both equally
        docs = [document(vocab, rows) for rows in documents]
        started = time.perf_counter()
        trees = predictor.parse(sentences, 64)
        seconds["model"].append(time.perf_counter() - started)

        started = time.perf_counter()
        done = list(component.pipe(docs, batch_size=1000))
        seconds["component"].append(time.perf_counter() - started)
    found = [sentence._.tree for doc in done for sentence in doc.sents]
    pairs = zip(seconds["model"], seconds["component"], strict=True)
    metrics = {
        "model": arguments.model.name,
        "sentences": len(sentences),
        "documents": len(documents),
        "same_trees": sum(one == other for one, other in zip(found, trees, strict=True)),
        "sentences_per_second": {
            name: len(sentences) / statistics.median(times) for name, times in seconds.items()
        },
        "ratio": statistics.median(model / component for model, component in pairs),
    }
    report(metrics, arguments.out)


def document(vocab: spacy.vocab.Vocab, sentences: list[list[str]]) -> Doc:
    words = [word for sentence in sentences for word in sentence]
    starts = [place == 0 for sentence in sentences for place in range(len(sentence))]
    return Doc(vocab, words=words, sent_starts=starts)


if __name__ == "__main__":
    main()
