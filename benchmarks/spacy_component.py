"""Trees and speed of the spaCy component beside those of the model on the same lists of words.

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
from treeformers.tasks.load import load_engine


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="model folder")
    parser.add_argument("--text", type=Path, required=True, help="text file, one sentence a line")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--per-document", type=int, default=10, help="sentences of a document")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    arguments = parser.parse_args()

    lines = (line.split() for line in arguments.text.read_text(encoding="utf-8").splitlines())
    sentences = [words for words in lines if words][: arguments.sentences]
    starts = range(0, len(sentences), arguments.per_document)
    documents = [sentences[start : start + arguments.per_document] for start in starts]
    vocab = spacy.blank("en").vocab
    engine = load_engine(arguments.model)
    component = Component(arguments.model)
    list(component.pipe([document(vocab, sentences[:2])]))  # loads the model
    gc.freeze()

    seconds: dict[str, list[float]] = {"model": [], "component": []}
    for _ in range(arguments.repeats):  # interleaved, so that other work on the machine hits all alike
        docs = [document(vocab, rows) for rows in documents]
        started = time.perf_counter()
        trees = engine.parse(sentences, 64)
        seconds["model"].append(time.perf_counter() - started)

        started = time.perf_counter()
        done = list(component.pipe(docs, batch_size=1000))
        seconds["component"].append(time.perf_counter() - started)
    found = [sentence._.tree for doc in done for sentence in doc.sents]
    pairs = zip(seconds["model"], seconds["component"], strict=True)
    figures = {
        "model": arguments.model.name,
        "sentences": len(sentences),
        "documents": len(documents),
        "same_trees": sum(one == other for one, other in zip(found, trees, strict=True)),
        "sentences_per_second": {
            name: len(sentences) / statistics.median(times) for name, times in seconds.items()
        },
        "ratio": statistics.median(model / component for model, component in pairs),
    }
    report(figures, arguments.out)


def document(vocab: spacy.vocab.Vocab, sentences: list[list[str]]) -> Doc:
    words = [word for sentence in sentences for word in sentence]
    starts = [place == 0 for sentence in sentences for place in range(len(sentence))]
    return Doc(vocab, words=words, sent_starts=starts)


if __name__ == "__main__":
    main()
