"""The sections of a recipe: what is read, how it is trained, how trees are read out or searched for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from treeformers.recipes.rules import Count, Distinct, Filled, Finite, Positive, Range, Rate, Share, Unit

__all__ = [
    "Beam",
    "Data",
    "Examples",
    "Judgements",
    "Lengths",
    "Looks",
    "ParallelText",
    "Probes",
    "Readout",
    "Train",
    "Treebanks",
]

Seed: TypeAlias = Annotated[int, Range(0, below=2**32)]


@dataclass(frozen=True, kw_only=True)
class Data:
    """What is read to induce trees.

    Attributes:
        text: raw text to train on: "grammar" (sampled from the embedded grammar), the name of a
            corpus, or a file. Of a treebank only the words are used.
        splits: the parts of it that train; of the default those that there are.
        gold: treebank to score against: a name, a file, or "grammar". Empty: nothing is scored.
        gold_splits: the parts of it that are scored; of the default those that there are.
        root: folder of the corpora; the environment variable TREEFORMERS_DATA by default.
        sentences: how many sentences "grammar" samples, and the most that are read of other
            texts; 0 for all.
        gold_sentences: the most gold trees that are scored; 0 for all.
        normalize: lower case, numbers to N and no punctuation, as in the corpus wsj-text.
        tokenizer: whole words, or the WordPiece units of the paper.
        vocab_size: most entries of the vocabulary.
        min_frequency: rarer words are unknown.
        end_token: a last token [SEP], so that the last word has two neighbours.
        max_length: longest sentence trained on, in tokens; longer ones are cut.
        packed: lines side by side in rows of `max_length` tokens, each still encoded by itself; what is
            longer than a row goes on in another.
        held_out: sentences of the training text kept back for the validation loss.
        mask_probability: share of tokens to predict.
    """

    text: str = "wsj-text"
    splits: tuple[str, ...] = ("train", "validation", "test")
    gold: str = ""
    gold_splits: tuple[str, ...] = ("train", "validation", "test")
    root: str = ""
    sentences: Count = 0
    gold_sentences: Count = 0
    normalize: bool = False
    tokenizer: Literal["word", "wordpiece"] = "word"
    vocab_size: Annotated[int, Range(6)] = 16000  # five of them special
    min_frequency: Count = 2
    end_token: bool = True
    max_length: Annotated[int, Range(3)] = 128  # a word between two special ones
    packed: bool = False
    held_out: Positive = 1000
    mask_probability: Annotated[float, Range(above=0, most=1)] = 0.15


@dataclass(frozen=True, kw_only=True)
class Treebanks:
    """What is read to train a parser.

    Each treebank is the name of a corpus, a file, or "grammar" (sampled from the embedded grammar).

    Attributes:
        train: treebanks whose training parts train, together.
        validation: those whose validation parts choose the weights; empty for those that train.
        test: those whose test parts are scored, each apart; empty for those that train.
        root: folder of the corpora; the environment variable TREEFORMERS_DATA by default.
        sentences: the most training sentences of a treebank; 0 for all.
        scored_sentences: the most trees of a validation or test part; 0 for all.
        min_frequency: rarer words are unknown.
        max_length: longest sentence trained on, in words; longer ones are left out, and counted; 0
            for no limit.
    """

    train: Annotated[tuple[str, ...], Filled()] = ("wsj-sample",)
    validation: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    root: str = ""
    sentences: Count = 0
    scored_sentences: Count = 0
    min_frequency: Count = 1
    max_length: Count = 0


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Data for classifying sentences, or for comparing the two sentences of a pair.

    Attributes:
        corpus: the name of a corpus, a file or folder, or "grammar" (sampled from the embedded grammar).
        structure: the kind of trees that the encoder reads.
        trees: the source of the trees. "given": the corpus has trees. "right", "left", "balanced" or
            "random": trees that branch so. A file of brackets: one tree per text of the corpus, first of the
            training split, then of validation and test. The folder of a parser or inducer; or
            "spacy:PIPELINE", "stanza:LANGUAGE" or "benepar:MODEL". If the structure is "dependencies" and the
            source gives constituency trees, their heads give the dependencies; this needs labels, see
            `treeformers.trees.heads.to_dependencies`.
        multi_sentence: texts may hold several sentences; each sentence gets a tree, and a root joins these.
        root: folder of the corpora; the environment variable TREEFORMERS_DATA by default.
        sentences: maximum number of training examples, evenly spaced over the split; 0 for all.
        scored_sentences: maximum number of validation or test examples, likewise; 0 for all.
        max_length: maximum number of words of a training example; longer ones are left out with a warning; 0
            for no limit other than the encoder's.
        lowercase: convert words to lower case.
        min_frequency: words with a lower frequency in training are unknown.
        embeddings: source of the word embeddings. "" trains them. A file of GloVe or word2vec has one per
            word. The folder or package of a pretrained encoder gives contextual ones, which are not trained.
        embedding_layers: number of last layers of the pretrained encoder whose states are concatenated.
        labels: the encoder also reads the labels of nodes; for "accumulation" and
            "accumulation-over-embeddings".
        node_labels: the labels of all nodes and words train the classifier, not only those of roots.
        classes: label to class, to merge labels or leave them out; labels without an entry are left out.
            Empty: every label is a class.
        label_groups: class to group, for a second score of the same model; classes without an entry are left
            out of this score.
    """

    corpus: str = "sst-5"
    structure: Literal["constituency", "dependencies"] = "constituency"
    trees: str = "given"
    multi_sentence: bool = False
    root: str = ""
    sentences: Count = 0
    scored_sentences: Count = 0
    max_length: Count = 0
    lowercase: bool = True
    min_frequency: Count = 1
    embeddings: str = ""
    embedding_layers: Positive = 1
    labels: bool = False
    node_labels: bool = False
    classes: dict[str, str] = field(default_factory=dict)
    label_groups: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ParallelText:
    """What is read to translate.

    Attributes:
        corpus: the name of a corpus, a file or folder, or "grammar" (a made-up language over the embedded
            grammar).
        source: language translated from, as the corpus names it.
        target: language translated into.
        trees: of the source sentences, as in `Examples`.
        root: folder of the corpora; the environment variable TREEFORMERS_DATA by default.
        sentences: the most training pairs, evenly spaced over the part; 0 for all.
        scored_sentences: the most validation or test pairs, likewise; 0 for all.
        lowercase: both sides in lower case.
        vocab_size: units of byte-pair encoding that both languages share.
        max_length: longest side of a pair trained on, in units; longer ones are left out, and counted.
    """

    corpus: str = "multi30k"
    source: str = "en"
    target: str = "de"
    trees: str = "right"
    root: str = ""
    sentences: Count = 0
    scored_sentences: Count = 0
    lowercase: bool = False
    vocab_size: Annotated[int, Range(300)] = 10000  # bytes, and some pairs of them
    max_length: Positive = 256


@dataclass(frozen=True, kw_only=True)
class Judgements:
    """What is read to fine-tune a Tree Transformer as a classifier of sentences.

    Attributes:
        corpus: the name of a corpus of sentences with classes, or "grammar" (sampled from the embedded
            grammar); its training and validation parts are used.
        tests: corpora whose test parts are scored, each apart; empty for that of `corpus`.
        base: folder of a masked language model that `treeformers train` wrote: its tokenizer, its sizes and
            its weights are where training begins. Empty: a tokenizer of whole words from the training part,
            and fresh weights.
        fresh: of the base only tokenizer and sizes, so that with and without pretraining are compared.
        root: folder of the corpora; the environment variable TREEFORMERS_DATA by default.
        sentences: the most training sentences; 0 for all.
        scored_sentences: the most of a validation or test part; 0 for all.
        max_length: longest input in tokens, [CLS] and [SEP] included; longer ones are cut, and counted; 0 for
            no limit.
    """

    corpus: str = "agreement-id"
    tests: tuple[str, ...] = ()
    base: str = ""
    fresh: bool = False
    root: str = ""
    sentences: Count = 0
    scored_sentences: Count = 0
    max_length: Count = 0


@dataclass(frozen=True, kw_only=True)
class Probes:
    """What is probed, and with what.

    Attributes:
        systems: name in the report to a folder of an inducer or parser, a file of trees, or "gold", "right",
            "left", "balanced" or "random".
        sentences: generated sentences with known constituents.
        corpus: a treebank whose constituents are asked for too; empty for none.
        split: the part of it.
        root: folder of the corpora; the environment variable TREEFORMERS_DATA by default.
        pairs: of the inducers: "blimp", "marvin-linzen", "agreement-linzen", "agreement-ud".
        each: pairs of each paradigm, prefixes by number of attractors; 0 for all.
    """

    systems: Annotated[dict[str, str], Filled()] = field(default_factory=dict)
    sentences: Count = 5000
    corpus: str = ""
    split: str = "test"
    root: str = ""
    pairs: tuple[str, ...] = ()
    each: Count = 200


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """What fresh models are measured on.

    Attributes:
        lengths: words of the sentences whose time is taken; none: the models are counted only.
        trees: of these sentences, as in `Examples`.
        steps: how often, for the median.
    """

    lengths: tuple[Positive, ...] = ()
    trees: str = "balanced"
    steps: Positive = 20


@dataclass(frozen=True, kw_only=True)
class Looks:
    """A sentence that trained models are watched over, for pictures.

    Attributes:
        rows: recipes of the same folder, by name, of inducers, parsers and classifiers of sentences; the
            model of the first seed of each is watched.
        sentence: a sentence; or a tree in brackets, which classifiers read, and along which parsers are made
            to go.
    """

    rows: Annotated[tuple[str, ...], Filled()] = ()
    sentence: Annotated[str, Filled()] = ""


@dataclass(frozen=True, kw_only=True)
class Train:
    """How a model is trained.

    Attributes:
        epochs: passes over the data.
        max_steps: ends training earlier; 0 for no limit.
        tokens_per_batch: budget of a batch, padding included; what is padded apart counts together, as source
            and target, or the words of a parser and the pieces that its pretrained encoder reads.
        batches_per_step: batches whose gradients make a step, of all processes together: so many processes
            or fewer, which divide it, train alike. More processes than this take a batch each.
        learning_rate: of Adam, at its peak.
        matrix_learning_rate: of Muon (Jordan 2024) for the weight matrices of the layers, at its
            peak; 0 leaves them to Adam, as in the paper.
        encoder_learning_rate: of Adam for the weights of a pretrained encoder, at its peak; 0 for the rates
            of the others.
        beta2: of Adam.
        warmup_steps: linear rise of both rates before their linear fall to 0.
        constant: no fall, as in the released code.
        clip: largest norm of the gradient.
        weight_decay: decoupled (Loshchilov and Hutter 2019), of matrices that are no embeddings.
        average: decay of the moving average of the weights, which is validated and saved in their
            place; 0 for none.
        average_last: the mean of the weights at so many evaluations, the last ones, in their place; 0 for
            none.
        bf16: bfloat16 where the device computes faster in it: small models on a processor do not.
        evaluations: how often the model is validated.
        patience: evaluations without a better result before training ends; 0 for no early end.
        seeds: one model each.
    """

    epochs: Positive = 10
    max_steps: Count = 0
    tokens_per_batch: Positive = 2048
    batches_per_step: Positive = 1
    learning_rate: Rate = 1e-4
    matrix_learning_rate: Rate = 0.0
    encoder_learning_rate: Rate = 0.0
    beta2: Share = 0.98
    warmup_steps: Count = 200
    constant: bool = False
    clip: Rate = 1.5
    weight_decay: Rate = 0.0
    average: Share = 0.0
    average_last: Count = 0
    bf16: bool = True
    evaluations: Positive = 10
    patience: Count = 0
    seeds: Annotated[tuple[Seed, ...], Filled(), Distinct()] = (1,)


@dataclass(frozen=True, kw_only=True)
class Readout:
    """How trees are read from links; the arguments of the functions of `treeformers.induction`.

    Attributes:
        method: "blocks" is `best_tree`, "layers" is `build_tree`, "layer" is `split_greedily`.
        layer: of "blocks" and "layer"; negative ones count from the top.
        right_bias: of "blocks".
        min_layer: of "layers".
        threshold: of "layers".
        algorithm: of "layers".
    """

    method: Literal["blocks", "layers", "layer"] = "blocks"
    layer: int = -1
    right_bias: Finite = 0.0
    min_layer: Count = 2
    threshold: Unit = 0.8
    algorithm: Literal["paper", "released"] = "paper"


@dataclass(frozen=True, kw_only=True)
class Beam:
    """How a parser or a translation model searches.

    Attributes:
        size: hypotheses kept at every step; 1 is greedy.
        length_penalty: of translation, the power of the length that a score is divided by.
    """

    size: Positive = 10
    length_penalty: Finite = 1.0
