"""The recognizer against all strings of small grammars, and against NLTK's chart parser."""

import itertools
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from treeformers.data.agreement_errors import Sampler, change_verbs, find_verbs
from treeformers.data.grammar import PCFG, Production, Symbol, default_grammar
from treeformers.data.recognizer import Recognizer

LONGEST = 5
WORDS = (Symbol("a", True), Symbol("b", True))
NAMES = (Symbol("S"), Symbol("A"), Symbol("B"))


def language(grammar):
    """All sentences of at most LONGEST words, computed as a fixed point."""
    derived = {production.left: set() for production in grammar.productions}
    size = -1
    while size != sum(map(len, derived.values())):
        size = sum(map(len, derived.values()))
        for production in grammar.productions:
            if not production.probability:
                continue
            parts = [
                {(symbol.name,)} if symbol.is_terminal else set(derived[symbol.name])
                for symbol in production.right
            ]
            joined = (sum(combination, ()) for combination in itertools.product(*parts))
            derived[production.left].update(words for words in joined if len(words) <= LONGEST)
    return derived[grammar.start]


right_sides = st.lists(st.sampled_from(WORDS + NAMES), min_size=1, max_size=3).map(tuple)
groups = st.builds(
    lambda words, others: {words, *others},
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(tuple),  # every name derives a word
    st.lists(right_sides, max_size=3),
)


@settings(max_examples=150, deadline=None)
@given(st.tuples(groups, groups, groups))
def test_every_short_string(drawn):
    grammar = PCFG(
        Production(name.name, right, 1 / len(group))
        for name, group in zip(NAMES, drawn, strict=True)
        for right in sorted(group)
    )
    sentences = language(grammar)
    recognizer = Recognizer(grammar)
    for length in range(LONGEST + 1):
        for words in itertools.product("ab", repeat=length):
            assert recognizer.accepts(words) is (words in sentences), words


def test_by_hand():
    accepts = Recognizer(PCFG.from_text("S -> S S [0.4] | 'a' [0.6] | 'b' [0]\n")).accepts
    assert accepts(["a"]) and accepts(["a"] * 4)
    assert not accepts([])
    assert not accepts(["b"])  # probability 0
    assert not accepts(["a", "c"])
    assert not accepts(["S"])  # a non-terminal


def test_the_agreement_grammar_by_hand():
    accepts = Recognizer(default_grammar()).accepts
    for sentence, expected in (
        ("the boys that the girl kicks run", False),  # no object relatives in this grammar
        ("the boys that kick the girl run", True),
        ("the boys that kick the girl runs", False),
        ("the boys that kick the girl that laughs and runs think", True),
        ("the boys and these ladies think", True),
        ("the boys and these ladies", False),
        ("I fights them", False),
    ):
        assert accepts(sentence.split()) is expected, sentence


def test_nltk_agrees_on_samples_and_changed_verbs():
    from nltk import PCFG as NltkPCFG
    from nltk.parse import BottomUpLeftCornerChartParser

    grammar, rng = default_grammar(), Random(3)
    accepts = Recognizer(grammar).accepts
    parser = BottomUpLeftCornerChartParser(NltkPCFG.fromstring(str(grammar)))
    found = []
    for sentence in Sampler(grammar.productions, max_words=12).draw(rng, 30):
        verbs = find_verbs(sentence.words)
        changed = change_verbs(sentence, rng.sample(verbs, rng.randint(1, len(verbs))))
        shuffled = rng.sample(sentence.words, len(sentence.words))
        for words in (sentence.words, changed.words, shuffled):
            found.append(accepts(words))
            assert found[-1] is (next(parser.parse(list(words)), None) is not None), words
    assert 0.2 < sum(found) / len(found) < 0.6


def test_long_sentences():
    accepts = Recognizer(PCFG.from_text("S -> 'a' S 'b' [0.5] | 'a' 'b' [0.5]")).accepts
    assert accepts(["a"] * 200 + ["b"] * 200)
    assert not accepts(["a"] * 200 + ["b"] * 199)
