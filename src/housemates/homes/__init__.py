"""Furnished homes: the generator, its splits, navigation."""
