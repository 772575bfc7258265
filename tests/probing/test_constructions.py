from __future__ import annotations

import math
from collections import Counter

import pytest

from treeformers.data.grammar import default_grammar
from treeformers.induction import trivial_tree
from treeformers.probing import construction_questions, find_constituents, treebank_questions
from treeformers.probing.constructions import RELATIVE
from treeformers.trees.tree import Tree

QUESTIONS = construction_questions(1200, seed=3)


def test_sentences_are_derivations_of_the_grammar() -> None:
    grammar = default_grammar()
    assert len(QUESTIONS) == 1200
    assert len({question.tree.words for question in QUESTIONS}) == 1200
    assert all(grammar.log_probability(question.tree) > -math.inf for question in QUESTIONS)


def test_kinds_of_sentence_have_equal_numbers() -> None:
    kinds = Counter(
        (target.probe, target.case, target.name)
        for question in QUESTIONS
        for target in question.targets
        if target.case not in ("all", "object")
    )
    assert kinds.pop(("determiners", "singular subject, intransitive", "[Det N]")) == 75  # all that exist
    assert kinds.pop(("determiners", "plural subject, intransitive", "[Det N]")) == 75
    assert set(kinds.values()) == {100, 125}


def test_targets_match_their_names() -> None:
    """The gold tags locate determiner, adjective, noun and relative clause."""
    short = {"Det_Sg": "Det", "Det_Pl": "Det", "N_common": "N", "N_common_s": "N", "Adj": "Adj"}
    for question in QUESTIONS:
        for target in question.targets:
            inside = question.tree.tags[target.start : target.end]
            if target.name == "[that VP]":
                label = {span.label for span in question.tree.spans() if span[:2] == target[3:]}
                assert label & {"Rel_Sg", "Rel_Pl"} and inside[0] == "that"
            else:
                assert f"[{' '.join(short[tag] for tag in inside)}]" == target.name


def test_rates_of_gold_right_and_left_branching_trees() -> None:
    words = [question.tree.words for question in QUESTIONS]

    def rates(trees: list[Tree]) -> dict[tuple[str, str], set[float]]:
        found: dict[tuple[str, str], set[float]] = {}
        for one in find_constituents(QUESTIONS, trees):
            if one.case != "all":
                place = "object" if one.case == "object" else "subject"
                found.setdefault((one.target, place), set()).add(one.percent)
        return found

    assert rates([question.tree for question in QUESTIONS]) == {
        ("[Det N]", "subject"): {100.0},
        ("[Det N]", "object"): {100.0},
        ("[Adj N]", "subject"): {100.0},
        ("[Det Adj]", "subject"): {0.0},
        ("[Det Adj N]", "subject"): {100.0},
        ("[that VP]", "subject"): {100.0},
    }
    assert rates([trivial_tree(of, "right") for of in words]) == {
        ("[Det N]", "subject"): {0.0},
        ("[Det N]", "object"): {100.0},
        ("[Adj N]", "subject"): {0.0},
        ("[Det Adj]", "subject"): {0.0},
        ("[Det Adj N]", "subject"): {0.0},
        ("[that VP]", "subject"): {0.0},
    }
    assert rates([trivial_tree(of, "left") for of in words]) == {
        ("[Det N]", "subject"): {100.0},
        ("[Det N]", "object"): {0.0},
        ("[Adj N]", "subject"): {0.0},
        ("[Det Adj]", "subject"): {100.0},
        ("[Det Adj N]", "subject"): {100.0},
        ("[that VP]", "subject"): {0.0},
    }


def test_the_seed_fixes_the_sentences() -> None:
    assert construction_questions(1200, seed=3) == QUESTIONS
    assert construction_questions(1200, seed=4) != QUESTIONS
    assert len(construction_questions(12)) == 12


@pytest.mark.parametrize(
    "sentences, message", [(11, "11 sentences, expected at least 12"), (60_000, "ask for fewer")]
)
def test_too_few_or_too_many(sentences: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        construction_questions(sentences)


def targets(text: str) -> list[tuple[str, str]]:
    (question,) = treebank_questions([Tree.from_brackets(text)])
    words = question.tree.words
    return sorted((one.case, " ".join(words[one.start : one.end])) for one in question.targets)


def test_constituents_of_a_treebank() -> None:
    found = targets(
        "(S (NP (NP (DT the) (NN man)) (, ,) (SBAR (WHNP (WP who)) (S (VP (VBD left)))) (, ,))"
        " (VP (VBD saw) (NP (PRP me)) (PP (IN at) (NP (NNP Rome)))) (. .))"
    )
    assert found == [
        ("NP", "the man"),
        ("NP", "the man who left"),  # "me" and "Rome" are words
        ("PP", "at Rome"),
        ("SBAR", "who left"),
        (RELATIVE, "who left"),
        ("VP", "saw me at Rome"),
    ]


@pytest.mark.parametrize(
    "noun_phrase, relative",
    [
        ("(NP (NP (DT the) (NN man)) (SBAR (S (NP (PRP I)) (VP (VBD saw)))))", True),
        ("(NP (NP (DT the) (NN day)) (SBAR (WHADVP (WRB when)) (S (NP (PRP I)) (VP (VBD left)))))", True),
        ("(NP (DT the) (NN claim) (SBAR (IN that) (S (NP (PRP I)) (VP (VBD left)))))", False),
        ("(NP (SBAR (WHNP (WP who)) (S (VP (VBD left)))) (NN thing))", False),
    ],
)
def test_which_clauses_are_relative(noun_phrase: str, relative: bool) -> None:
    found = targets(f"(S {noun_phrase} (VP (VBD was) (ADJP (JJ old))))")
    assert (RELATIVE in {label for label, _ in found}) == relative
    assert "SBAR" in {label for label, _ in found}


def test_unary_chains_and_sentences_without_words() -> None:
    assert targets("(S (NP (NP (DT the) (NN dog))) (VP (VBZ barks)))") == [("NP", "the dog")]
    assert treebank_questions([Tree.from_brackets("(S (. .))")]) == []
    (question,) = treebank_questions([Tree.from_brackets("(S (UH yes))")])
    assert question.targets == ()


def test_labels_asked_for() -> None:
    tree = Tree.from_brackets("(S (NP (DT the) (NN dog)) (ADVP (RB so) (RB loudly)) (VP (VBZ barks)))")
    (question,) = treebank_questions([tree], ["ADVP"])
    assert [target.case for target in question.targets] == ["ADVP"]
