import copy
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tree import Tree as NltkTree

from between_processes import send
from tree_strategies import all_trees, any_text, dependency_trees, right_branching, trees
from treeformers.trees.escapes import escape_word, unescape_word
from treeformers.trees.tree import DependencyTree, Span, Tree, strip_functions

BARKS = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"
quick = settings(deadline=None, max_examples=60)


def spans_by_recursion(tree: Tree, start: int = 0) -> list[tuple[int, int, str]]:
    """The definition of `Tree.spans`, as slow as it is plain."""
    if tree.is_leaf:
        return []
    below, end = [], start
    for child in tree.children:
        below += spans_by_recursion(child, end)
        end += len(child.words)
    return [(start, end, tree.label), *below]


def test_parts_of_a_tree():
    tree = Tree.from_brackets(BARKS)
    assert (tree.label, tree.word, tree.is_leaf, len(tree), tree.height) == ("S", None, False, 3, 2)
    assert tree.words == ("the", "dog", "barks")
    assert tree.tags == ("DT", "NN", "VBZ")
    assert [child.label for child in tree.children] == ["NP", "VP"]
    assert [leaf.word for leaf in tree.leaves] == ["the", "dog", "barks"]
    assert [node.label for node in tree.nodes()] == ["S", "NP", "DT", "NN", "VP", "VBZ"]
    assert tree.spans() == (Span(0, 3, "S"), Span(0, 2, "NP"), Span(2, 3, "VP"))
    assert str(tree) == BARKS
    assert repr(tree) == f"<Tree {BARKS}>"


def test_a_single_leaf_is_a_tree():
    leaf = Tree.from_brackets("(UH oh)")
    assert leaf == Tree("UH", word="oh")
    assert (leaf.is_leaf, len(leaf), leaf.height, leaf.spans(), leaf.leaves) == (True, 1, 0, (), (leaf,))


def test_a_node_has_children_or_a_word():
    with pytest.raises(ValueError, match="node 'NP' has neither"):
        Tree("NP")
    with pytest.raises(ValueError, match="node 'NP' has both"):
        Tree("NP", (Tree("NN", word="dog"),), "dog")


def test_trees_cannot_be_changed():
    children = [Tree("NN", word="dog")]
    tree = Tree("NP", children)  # type: ignore[arg-type]
    children.clear()
    assert tree.words == ("dog",)
    with pytest.raises(FrozenInstanceError):
        tree.label = "VP"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del tree.children


def test_equality_sees_every_part():
    tree = Tree.from_brackets(BARKS)
    assert tree == Tree.from_brackets(BARKS)
    assert tree != BARKS
    for other in (
        "(S (NP (DT the) (NN cat)) (VP (VBZ barks)))",
        "(S (NP (DT the) (NNP dog)) (VP (VBZ barks)))",
        "(S (NP (DT the) (NN dog)) (PP (VBZ barks)))",
        "(S (NP (DT the) (NN dog)) (VBZ barks))",
        "(S (NP (DT the)) (NN dog) (VP (VBZ barks)))",
    ):
        assert tree != Tree.from_brackets(other)


@quick
@given(trees(words=any_text, tags=any_text, labels=any_text))
def test_copies_are_equal_and_hash_alike(tree):
    received = send(tree)()
    assert received is not tree
    assert received == tree
    assert hash(received) == hash(tree)
    assert copy.copy(tree) is copy.deepcopy(tree) is tree


few = trees(st.sampled_from("ab"), st.sampled_from("AB"), st.sampled_from("AB"), max_leaves=3)


@settings(deadline=None, max_examples=200)
@given(few, few)
def test_equal_trees_are_those_that_look_equal(a, b):
    assert (a == b) is (repr(a) == repr(b))


@quick
@given(trees())
def test_brackets_round_trip(tree):
    assert Tree.from_brackets(str(tree)) == tree


@quick
@given(trees(words=any_text, tags=any_text, labels=any_text))
def test_spans_round_trip(tree):
    assert list(tree.spans()) == spans_by_recursion(tree)
    assert Tree.from_spans(tree.words, tree.spans(), tree.tags) == tree


def test_every_small_tree_survives_each_form():
    seen = set()
    for n_words in range(1, 6):
        for tree in all_trees(n_words):
            assert len(tree) == n_words
            assert list(tree.spans()) == spans_by_recursion(tree)
            assert Tree.from_spans(tree.words, tree.spans(), tree.tags) == tree
            assert Tree.from_brackets(str(tree)) == tree
            seen.add(tree)
    assert len(seen) == 2 + 8 + 80 + 992 + 13760


def test_from_spans_fills_in_what_is_absent():
    assert str(Tree.from_spans(["a", "b", "c"], [(1, 3)])) == "(X (X a) (X (X b) (X c)))"
    assert str(Tree.from_spans(["a", "b"], [])) == "(X (X a) (X b))"
    assert str(Tree.from_spans(["a"], [])) == "(X a)"
    assert str(Tree.from_spans(["a"], [(0, 1, "NP")], ["NN"])) == "(NP (NN a))"
    chain = [(1, 2, "NP"), (0, 2, "ROOT"), Span(0, 2, "S"), (1, 2, "NML")]
    assert str(Tree.from_spans("ab", chain)) == "(ROOT (S (X a) (NP (NML (X b)))))"


@pytest.mark.parametrize(
    ("words", "spans", "tags", "message"),
    [
        ("", [], None, "a tree needs at least one word"),
        ("abc", [(0, 2), (1, 3)], None, r"spans \(0, 2\) and \(1, 3\) cross"),
        ("abc", [(0, 4)], None, r"span \(0, 4\) is not within a sentence of 3 words"),
        ("abc", [(-1, 2)], None, r"span \(-1, 2\) is not within"),
        ("abc", [(1, 1)], None, r"span \(1, 1\) is not within"),
        ("abc", [(2, 1)], None, r"span \(2, 1\) is not within"),
        ("abc", [], "XY", "got 2 tags for 3 words"),
    ],
)
def test_from_spans_refuses(words, spans, tags, message):
    with pytest.raises(ValueError, match=message):
        Tree.from_spans(words, spans, tags)


def test_from_spans_accepts_two_spans_exactly_when_they_do_not_cross():
    pairs = [(start, end) for start in range(5) for end in range(start + 1, 6)]
    for a in pairs:
        for b in pairs:
            crossing = a[0] < b[0] < a[1] < b[1] or b[0] < a[0] < b[1] < a[1]
            try:
                found = Tree.from_spans("abcde", [a, b]).spans()
            except ValueError:
                assert crossing
            else:
                assert not crossing
                assert sorted((s, e) for s, e, _ in found) == sorted(
                    [a, b] + [(0, 5)] * ((0, 5) not in (a, b))
                )


@quick
@given(trees(), st.sets(st.integers(0, 12)))
def test_filter_leaves_keeps_the_chosen_words_and_no_empty_node(tree, places):
    chosen = {id(leaf) for place, leaf in enumerate(tree.leaves) if place in places}
    kept = tree.filter_leaves(lambda leaf: id(leaf) in chosen)
    words = [leaf.word for leaf in tree.leaves if id(leaf) in chosen]
    if not words:
        assert kept is None
    else:
        assert list(kept.words) == words
        # Each node that still covers a word stands, in the same order.
        left = [node.label for node in tree.nodes() if chosen & {id(leaf) for leaf in node.leaves}]
        assert [node.label for node in kept.nodes()] == left


def test_cleaning_a_treebank_tree():
    tree = Tree.from_brackets(
        "( (S (NP-SBJ-1 (-NONE- *)) (S|X=2 (NP (NP-TMP-3 (NN today))) (-LRB- -LRB-)) (VP (-NONE- *T*-1))))"
    )
    clean = tree.without_traces().map_labels(strip_functions).unwrap_root()
    assert str(clean) == "(S (S|X (NP (NP (NN today))) (-LRB- -LRB-)))"
    assert Tree.from_brackets("( (NP (-NONE- *)))").without_traces() is None


@pytest.mark.parametrize(
    ("label", "stripped"),
    [
        ("NP", "NP"),
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("NP-SBJ=2", "NP"),
        ("-NONE-", "-NONE-"),
        ("-LRB-", "-LRB-"),
        ("PRT|ADVP", "PRT|ADVP"),
        ("PRP$", "PRP$"),
        ("", ""),
    ],
)
def test_strip_functions(label, stripped):
    assert strip_functions(label) == stripped


@pytest.mark.parametrize(
    ("text", "unwrapped"),
    [
        ("( (S (X a) (X b)))", "(S (X a) (X b))"),
        ("(TOP (S1 (ROOT (S (X a)))))", "(S (X a))"),
        ("(ROOT (NN word))", "(NN word)"),
        ("( (S (X a)) (S (X b)))", "( (S (X a)) (S (X b)))"),
        ("(NP (ROOT (X a)))", "(NP (ROOT (X a)))"),
    ],
)
def test_unwrap_root(text, unwrapped):
    assert str(Tree.from_brackets(text).unwrap_root()) == unwrapped


def test_maps_leave_the_rest_alone():
    tree = Tree.from_brackets(BARKS)
    assert str(tree.map_labels(str.lower)) == "(s (np (DT the) (NN dog)) (vp (VBZ barks)))"
    assert str(tree.map_words(str.upper)) == "(S (NP (DT THE) (NN DOG)) (VP (VBZ BARKS)))"


def test_escapes():
    assert [unescape_word(word) for word in ("-LRB-", "-RCB-", r"1\/2", r"\*", "-lrb-", "dog")] == [
        "(",
        "}",
        "1/2",
        "*",
        "-lrb-",
        "dog",
    ]
    assert escape_word("f(x)[0]") == "f-LRB-x-RRB-[0]"


@quick
@given(st.text("()[]{}*/ab"))
def test_unescape_undoes_escape(word):
    assert unescape_word(escape_word(word)) == word


def test_brackets_are_escaped_in_words_tags_and_labels():
    tree = Tree("(", (Tree("(", word="("), Tree("X", word=":-)")))
    assert str(tree) == "(-LRB- (-LRB- -LRB-) (X :--RRB-))"


@pytest.mark.parametrize(
    ("tree", "given"),
    [
        (Tree("X", word="two words"), "'two words'"),
        (Tree("X", word="a\nb"), r"'a\\nb'"),
        (Tree("X", word=""), "''"),
        (Tree("", word="a"), "''"),
        (Tree("X Y", (Tree("X", word="a"),)), "'X Y'"),
    ],
)
def test_what_brackets_cannot_hold_is_refused(tree, given):
    with pytest.raises(ValueError, match=f"{given} cannot be written in brackets"):
        str(tree)
    assert repr(tree).startswith("<Tree (")


def test_a_no_break_space_is_part_of_a_word():
    assert Tree.from_brackets("(CD 8\u00a01\\/2)").words == ("8\u00a01\\/2",)


@pytest.mark.parametrize("text", ["", "  \n", "(X a) (X b)"])
def test_from_brackets_wants_exactly_one_tree(text):
    with pytest.raises(ValueError, match="expected one tree in brackets, found"):
        Tree.from_brackets(text)


def test_nltk_round_trip():
    tree = Tree.from_brackets("( (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))")
    assert tree.to_nltk() == NltkTree.fromstring(str(tree))
    assert Tree.from_nltk(tree.to_nltk()) == tree
    assert Tree.from_nltk(NltkTree("NN", ["dog"])) == Tree("NN", word="dog")
    for bad in (NltkTree("NP", ["the", "dog"]), NltkTree("NP", []), NltkTree("NP", [("dog", "NN")])):
        with pytest.raises(ValueError, match="nltk node 'NP' is neither one word nor a row of nodes"):
            Tree.from_nltk(bad)


@pytest.mark.parametrize("unary", [False, True])
def test_depth_is_no_limit(unary):
    n_words = 5_000
    tree = right_branching(n_words)
    if unary:
        tree = Tree("T", word="w")
        for _ in range(n_words):
            tree = Tree("X", (tree,))
    other = Tree.from_brackets(str(tree))
    assert other == tree
    assert hash(other) == hash(tree)
    assert send(tree)() == copy.deepcopy(tree)
    assert Tree.from_spans(tree.words, tree.spans(), tree.tags) == tree
    assert Tree.from_nltk(tree.to_nltk()) == tree
    assert tree.height == len(tree.spans()) == (n_words if unary else n_words - 1)
    assert len(repr(tree)) == len(str(tree)) + len("<Tree >")
    assert tree.filter_leaves(lambda leaf: True) == tree
    assert tree.map_labels(lambda _: "ROOT").unwrap_root().is_leaf is unary
    assert tree.map_words(str.upper) != tree


def test_parts_of_a_dependency_tree():
    tree = DependencyTree(["the", "dog", "barks"], [2, 3, 0], ["det", "nsubj", "root"])
    assert tree.words == ("the", "dog", "barks")
    assert (tree.heads, tree.relations, tree.tags) == ((2, 3, 0), ("det", "nsubj", "root"), ("_",) * 3)
    assert (tree.root, tree.words[tree.root], len(tree)) == (2, "barks", 3)
    assert tree.children == ((), (0,), (1,))
    with pytest.raises(FrozenInstanceError):
        tree.heads = (0, 1, 2)  # type: ignore[misc]


@quick
@given(dependency_trees(any_text))
def test_dependency_trees_are_values(tree):
    received = send(tree)()
    assert received == tree
    assert hash(received) == hash(tree)
    for position, dependents in enumerate(tree.children):
        assert all(tree.heads[dependent] == position + 1 for dependent in dependents)
    assert sorted(sum(tree.children, (tree.root,))) == list(range(len(tree)))


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 1, 0], "cycle: word 1 is among its own ancestors"),
        ([1, 0, 2], "cycle: word 1"),
        ([0, 0, 1], "two roots: words 1 and 2 both have head 0"),
        ([2, 3, 1], "no root: no word has head 0"),
        ([0, 4, 1], "head 4 of word 2 is not among 0 to 3"),
        ([0, -1, 1], "head -1 of word 2"),
        ([0, 1], "expected one of heads a word, got 2 for 3 words"),
    ],
)
def test_heads_that_are_no_tree(heads, message):
    with pytest.raises(ValueError, match=message):
        DependencyTree("abc", heads)


def test_dependency_tree_needs_words_and_columns_of_one_length():
    with pytest.raises(ValueError, match="at least one word"):
        DependencyTree([], [])
    with pytest.raises(ValueError, match="expected one of relations a word, got 1 for 2 words"):
        DependencyTree("ab", [0, 1], ["root"])
    with pytest.raises(ValueError, match="expected one of tags a word, got 3 for 2 words"):
        DependencyTree("ab", [0, 1], tags="XYZ")


def test_heads_are_accepted_exactly_when_every_word_reaches_one_root():
    def is_tree(heads: tuple[int, ...]) -> bool:
        def reaches(word: int) -> bool:
            for _ in heads:
                word = heads[word - 1] if word else 0
            return word == 0

        return heads.count(0) == 1 and all(map(reaches, range(1, len(heads) + 1)))

    accepted = 0
    for n_words in range(1, 6):
        for code in range((n_words + 1) ** n_words):
            heads = tuple(code // (n_words + 1) ** place % (n_words + 1) for place in range(n_words))
            try:
                DependencyTree("abcde"[:n_words], heads)
            except ValueError:
                assert not is_tree(heads)
            else:
                assert is_tree(heads)
                accepted += 1
    # Rooted labelled trees over n words number n ** (n - 1) (Cayley).
    assert accepted == sum(n ** (n - 1) for n in range(1, 6))


def test_a_chain_of_heads_is_no_limit():
    n_words = 5_000
    tree = DependencyTree(["w"] * n_words, range(n_words))
    assert (tree.root, tree.children[0]) == (0, (1,))
    with pytest.raises(ValueError, match="cycle"):
        DependencyTree(["w"] * n_words, [0, *range(3, n_words + 1), 2])
