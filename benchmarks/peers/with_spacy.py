"""spaCy's small English pipeline, cut down to its dependency parser. It finds no constituents."""

import importlib.metadata

import spacy
from spacy.tokens import Doc

LABELS = 45
WIDTH = {"@architectures": "spacy.HashEmbedCNN.v2", "width": 96, "depth": 4, "embed_size": 2000}
REST = {"window_size": 1, "maxout_pieces": 3, "subword_features": True, "pretrained_vectors": None}


def make(folder, variant, sentences, encoder):
    for package in importlib.metadata.distributions():
        name = package.metadata["Name"].replace("-", "_")
        if name.startswith("en_core_web_sm"):
            nlp = spacy.load(name, exclude=["tagger", "attribute_ruler", "lemmatizer", "ner", "senter"])
            nlp.to_disk(folder)
            return "published"
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": {**WIDTH, **REST}})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "tok2vec"}
    parser = nlp.add_pipe("parser")
    parser.cfg["model"] = listener
    for number in range(LABELS):
        parser.add_label(f"dep{number}")
    nlp.initialize()
    nlp.to_disk(folder)
    return "random"


def load(folder, variant):
    nlp = spacy.load(folder)

    def parse(sentences, batch_size):
        docs = (Doc(nlp.vocab, words=words) for words in sentences)
        return [" ".join(token.dep_ for token in doc) for doc in nlp.pipe(docs, batch_size=batch_size)]

    return parse
