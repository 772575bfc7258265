"""Models in the manner of transformers: importing this package makes the Auto classes know them."""

from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification

from treeformers.models.treebert import (
    TreeBertConfig,
    TreeBertForMaskedLM,
    TreeBertForSequenceClassification,
    TreeBertModel,
)

__all__ = ["TreeBertConfig", "TreeBertForMaskedLM", "TreeBertForSequenceClassification", "TreeBertModel"]

AutoConfig.register(TreeBertConfig.model_type, TreeBertConfig, exist_ok=True)
AutoModel.register(TreeBertConfig, TreeBertModel, exist_ok=True)
AutoModelForMaskedLM.register(TreeBertConfig, TreeBertForMaskedLM, exist_ok=True)
AutoModelForSequenceClassification.register(TreeBertConfig, TreeBertForSequenceClassification, exist_ok=True)
