"""What requests and answers hold. Trees are one line of Penn Treebank brackets."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Action",
    "Attended",
    "Class",
    "Classes",
    "ClassifyRequest",
    "EngineInfo",
    "Health",
    "Info",
    "Item",
    "Latex",
    "Layer",
    "Layers",
    "ParseRequest",
    "Parsed",
    "ParsedSentence",
    "ParsedTree",
    "Problem",
    "Score",
    "SentenceRequest",
    "Step",
    "Steps",
    "TreeRequest",
]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ParseRequest(_Request):
    """Sentences, and the engines that parse them."""

    text: str = Field(description="Sentences, one a line; or trees in brackets, the engine gold.")
    engines: list[str] = Field(description="Names of engines.")


class SentenceRequest(_Request):
    """One sentence for one engine."""

    engine: str = Field(description="Name of an engine.")
    words: list[str] = Field(description="The words, without blanks.")


class TreeRequest(_Request):
    """One tree."""

    tree: str = Field(description="In brackets.")


class ClassifyRequest(_Request):
    """Trees for one classifier."""

    engine: str = Field(description="Name of an engine of the kind classifier.")
    trees: list[str] = Field(description="In brackets, one tree each.")


class Problem(BaseModel):
    """Why there is no result."""

    error: str = Field(description="One line: what was given, what was expected, where.")


class EngineInfo(BaseModel):
    """An engine that can be asked."""

    name: str = Field(description="What requests call it.")
    kind: Literal["shape", "inducer", "parser", "classifier"]
    state: Literal["ready", "not loaded", "failed"] = Field(description="Models load with the first request.")


class Info(BaseModel):
    """What this service has."""

    version: str
    engines: list[EngineInfo]
    examples: list[str] = Field(description="Texts to begin with.")
    words: int = Field(description="Most words of a sentence.")
    sentences: int = Field(description="Most sentences of a request.")
    report: Literal["none", "html", "json"] = Field(description="Whether there is a report, at /report.")


class Health(BaseModel):
    """How the service is."""

    status: Literal["ok"]
    version: str
    in_flight: int = Field(description="Requests worked on now.")
    engines: dict[str, str] = Field(description="States by name.")


class ParsedTree(BaseModel):
    """The tree of an engine."""

    brackets: str
    links: list[float] | None = Field(
        None, description="Of an inducer: the T - 1 links between neighbouring words at the layer read."
    )
    score: float | None = Field(None, description="Of a parser: log-probability in nats.")


class Score(BaseModel):
    """How alike the trees of two engines are."""

    first: str
    second: str
    f1: float | None = Field(description="Unlabelled F1 in per cent; none where no words count.")


class ParsedSentence(BaseModel):
    """One sentence and its trees."""

    words: list[str]
    trees: dict[str, ParsedTree] = Field(description="By engine.")
    f1: list[Score]


class Parsed(BaseModel):
    """Trees of the sentences in their order."""

    engines: list[str]
    sentences: list[ParsedSentence]
    f1: list[Score] = Field(description="Means over the sentences.")


class Layer(BaseModel):
    """What a layer of an inducer computes for a sentence of T words."""

    tree: str = Field(description="Split at the weakest link of this layer alone.")
    links: list[float] = Field(description="T - 1 probabilities.")
    prior: list[list[int]] = Field(description="T rows of T, the constituent prior in ten-thousandths.")
    attention: list[list[int]] = Field(
        description="T rows of T, mean of the heads, in ten-thousandths; row i is what word i sees."
    )


class Layers(BaseModel):
    """What an inducer computes, the lowest layer first."""

    words: list[str]
    layers: list[Layer]


class Action(BaseModel):
    """What a parser may do."""

    name: str
    probability: float = Field(description="Among the legal actions.")


class Item(BaseModel):
    """An item on a parser's stack: the words start to end - 1."""

    start: int
    end: int
    label: str = Field(description="Empty where it has none, or none yet.")
    open: bool = Field(default=False, description="Top-down: a bracket that is not closed.")


class Attended(BaseModel):
    """A word that the parser reads before an action; the last one is the end mark."""

    position: int
    role: Literal["bound", "head", "weight"] = Field(
        description="A boundary of an item or its head word; or with a weight where attention is learned."
    )
    weight: float


class Step(BaseModel):
    """A step of a parser, and what it sees before it."""

    taken: Action
    runner_up: Action | None = Field(description="The most probable other legal action, if there is one.")
    stack: list[Item]
    next: int = Field(description="First word of the buffer.")
    attended: list[Attended]


class Steps(BaseModel):
    """A parser's way through a sentence."""

    words: list[str]
    tree: str
    attention: Literal["deterministic", "probabilistic"]
    linearization: Literal["bottom-up", "top-down"]
    steps: list[Step]
    last: list[Item] = Field(description="The stack after the last step.")


class Class(BaseModel):
    """The class of a tree."""

    label: str
    confidence: float
    probabilities: dict[str, float]
    shares: list[float] | None = Field(
        description="Of attention, one a node in pre-order, leaves too; none of an encoder without."
    )


class Classes(BaseModel):
    """Classes of trees in their order."""

    classes: list[Class]


class Latex(BaseModel):
    """A tree for the LaTeX package forest."""

    latex: str
