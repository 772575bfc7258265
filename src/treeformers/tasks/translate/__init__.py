"""Translations of trees."""
