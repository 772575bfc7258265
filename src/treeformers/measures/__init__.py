"""Syntactic measures of trees and texts: the table of all measures, and rows of their values."""

from treeformers.measures.rows import document_row, sentence_rows, word_rows
from treeformers.measures.table import MEASURES, Measure

__all__ = ["MEASURES", "Measure", "document_row", "sentence_rows", "word_rows"]
