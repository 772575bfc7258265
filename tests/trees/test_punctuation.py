import pytest

from treeformers import Tree
from treeformers.trees.punctuation import WORD_TAGS, strip_punctuation


def test_there_are_36_word_tags() -> None:
    assert len(WORD_TAGS) == 36


def test_penn_treebank_tags_decide() -> None:
    tree = Tree.from_brackets(
        "(S (`` ``) (NP-SBJ (NP (-LRB- -LRB-) (PRP It)) (-NONE- *ICH*-1)) (VP (VBD cost) (NP (QP ($ US$) "
        "(CD 1.5) (NN million)) (-NONE- *U*))) (SYM &) (: --) (. .))"
    )
    expected = "(S (NP-SBJ (NP (PRP It))) (VP (VBD cost) (NP (QP (CD 1.5) (NN million)))) (SYM &))"
    assert str(strip_punctuation(tree)) == expected


@pytest.mark.parametrize(
    ("leaf", "kept"),
    [
        ("(NOUN duck)", True),
        ("(2 eau)", True),
        ("(X 水)", True),
        ("(X 7)", True),
        ("(X d'un)", True),
        ("(NN|JJ duck)", True),
        ("($. !?)", False),
        ("(2 --)", False),
        ("(X -LRB-)", False),
        ("(PUNCT ...)", False),
        ("(X ``)", False),
        ("(NFP :D)", False),
        ("(PUNCT v)", False),
    ],
)
def test_other_tags_leave_it_to_the_word(leaf: str, kept: bool) -> None:
    tree = Tree.from_brackets(f"(S {leaf} (NN pond))")
    stripped = strip_punctuation(tree)
    assert stripped == (tree if kept else Tree.from_brackets("(S (NN pond))"))


def test_a_tree_of_punctuation_leaves_nothing() -> None:
    assert strip_punctuation(Tree.from_brackets("(S (NP (: --)) (. .))")) is None
