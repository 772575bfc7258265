from treeformers import Tree
from treeformers.trees.punctuation import strip_punctuation


def test_penn_treebank_tags_decide() -> None:
    tree = Tree.from_brackets(
        "(S (`` ``) (NP-SBJ (NP (-LRB- -LRB-) (PRP It)) (-NONE- *ICH*-1)) (VP (VBD cost) (NP (QP ($ US$) "
        "(CD 1.5) (NN million)) (-NONE- *U*))) (SYM &) (: --) (. .))"
    )
    expected = "(S (NP-SBJ (NP (PRP It))) (VP (VBD cost) (NP (QP (CD 1.5) (NN million)))) (SYM &))"
    assert str(strip_punctuation(tree)) == expected


def test_other_tags_leave_the_decision_to_the_word() -> None:
    words = ["(NOUN duck)", "(2 eau)", "(X 水)", "(X 7)", "(X d'un)", "(NN|JJ duck)"]
    others = ["($. !?)", "(2 --)", "(X -LRB-)", "(PUNCT ...)", "(X ``)", "(NFP :D)", "(PUNCT v)"]
    tree = Tree.from_brackets(f"(S {' '.join(words + others)})")
    assert strip_punctuation(tree) == Tree.from_brackets(f"(S {' '.join(words)})")


def test_a_tree_of_punctuation_leaves_nothing() -> None:
    assert strip_punctuation(Tree.from_brackets("(S (NP (: --)) (. .))")) is None
