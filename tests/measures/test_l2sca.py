"""L2SCA: structures of sentences that were counted by hand from Lu's definitions."""

from __future__ import annotations

import pytest

from treeformers.measures.l2sca import structure_counts
from treeformers.trees.tree import Tree

# The structures that a sentence does not name are 0.
CASES = {
    "simple": ("(S (NP (PRP I)) (VP (VBP see) (NP (PRP it))) (. .))", "VP 1 C 1 T 1"),
    "coordinated main clauses are two T-units": (
        "(S (S (NP (PRP I)) (VP (VBP sing))) (CC and) (S (NP (PRP you)) (VP (VBP dance))) (. .))",
        "VP 2 C 2 T 2",
    ),
    "an adverbial clause makes a complex T-unit": (
        "(S (NP (PRP I)) (VP (VBP stay) (SBAR (IN because) (S (NP (PRP it)) (VP (VBZ rains))))) (. .))",
        "VP 2 C 2 T 1 DC 1 CT 1",
    ),
    "a relative clause in a noun phrase is a complex nominal": (
        "(S (NP (PRP I)) (VP (VBP know) (NP (NP (DT the) (NN man)) (SBAR (WHNP (WP who)) "
        "(S (VP (VBZ sings)))))) (. .))",
        "VP 2 C 2 T 1 DC 1 CT 1 CN 1",
    ),
    "an adjective makes a complex nominal, an outer one counts once": (
        "(S (NP (NP (DT the) (JJ old) (NN man)) (PP (IN from) (NP (NNP Rome)))) (VP (VBZ sings)) (. .))",
        "VP 1 C 1 T 1 CN 1",
    ),
    "a nominal clause as object": (
        "(S (NP (PRP I)) (VP (VBP know) (SBAR (IN that) (S (NP (PRP you)) (VP (VBP sing))))) (. .))",
        "VP 2 C 2 T 1 DC 1 CT 1 CN 1",
    ),
    "a gerund as subject, with its own verb phrase": (
        "(S (S (VP (VBG Singing))) (VP (VBZ helps)) (. .))",
        "VP 2 C 1 T 1 CN 1",
    ),
    "coordinated verb phrases are one clause": (
        "(S (NP (PRP I)) (VP (VP (VBP sing)) (CC and) (VP (VBP dance))) (. .))",
        "VP 1 C 1 T 1 CP 1",
    ),
    "coordinated nouns": (
        "(S (NP (NNS cats) (CC and) (NNS dogs)) (VP (VBP sleep)) (. .))",
        "VP 1 C 1 T 1 CP 1",
    ),
    "an imperative": ("(S (VP (VB Go)) (. !))", "VP 1 C 1 T 1"),
    "a question with and without a verb phrase": (
        "(SQ (VBP Do) (NP (PRP you)) (VP (VB sing)) (. ?))",
        "VP 1 C 1 T 1",
    ),
    "the verb of a question counts as a verb phrase": (
        "(SQ (VBZ Is) (NP (PRP it)) (ADJP (JJ true)) (. ?))",
        "VP 1 C 1 T 1",
    ),
    "a fragment is a clause and a T-unit": ("(FRAG (NP (DT No) (NN way)) (. !))", "C 1 T 1"),
    "a fragment with a clause is a T-unit only": (
        "(FRAG (ADVP (RB Not)) (SBAR (IN if) (S (NP (PRP I)) (VP (VBP sing)))) (. .))",
        "VP 1 C 1 T 1 DC 1",
    ),
    "an infinitive is no clause": (
        "(S (NP (PRP I)) (VP (VBP want) (S (VP (TO to) (VP (VB sing))))) (. .))",
        "VP 2 C 1 T 1",
    ),
    "a word alone": ("(INTJ (UH Yes))", ""),
    "a tag alone": ("(UH Yes)", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_structures_by_hand(case: str) -> None:
    text, expected = CASES[case]
    words = expected.split()
    wanted = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    [found] = structure_counts([Tree.from_brackets(text)])
    assert {name: count for name, count in found.items() if count} == wanted


def test_the_root() -> None:
    inner = CASES["coordinated main clauses are two T-units"][0]
    counts = {
        str(structure_counts([Tree.from_brackets(text)])) for text in
        (inner, f"(ROOT {inner})", f"(TOP {inner})", f"(S1 {inner})", f"( {inner})")
    }  # fmt: skip
    assert len(counts) == 1
    two = Tree.from_brackets("( (S (VP (VB Go))) (S (VP (VB Stay))))")
    assert structure_counts([two])[0]["T"] == 2


def test_trees_keep_their_order() -> None:
    trees = [Tree.from_brackets(CASES[name][0]) for name in ("simple", "a tag alone", "coordinated nouns")]
    assert [counts["CP"] for counts in structure_counts(trees)] == [0, 0, 1]
    assert structure_counts([]) == []
