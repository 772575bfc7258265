"""Models in the manner of transformers: importing this package makes the Auto classes know them."""

from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification

from treeformers.models.parser import ParserConfig, TreeParser
from treeformers.models.treebert import (
    TreeBertConfig,
    TreeBertForMaskedLM,
    TreeBertForSequenceClassification,
    TreeBertModel,
)

__all__ = [
    "ParserConfig",
    "TreeBertConfig",
    "TreeBertForMaskedLM",
    "TreeBertForSequenceClassification",
    "TreeBertModel",
    "TreeParser",
]

AutoConfig.register(TreeBertConfig.model_type, TreeBertConfig, exist_ok=True)
AutoModel.register(TreeBertConfig, TreeBertModel, exist_ok=True)
AutoModelForMaskedLM.register(TreeBertConfig, TreeBertForMaskedLM, exist_ok=True)
AutoModelForSequenceClassification.register(TreeBertConfig, TreeBertForSequenceClassification, exist_ok=True)
AutoConfig.register(ParserConfig.model_type, ParserConfig, exist_ok=True)
AutoModel.register(ParserConfig, TreeParser, exist_ok=True)
