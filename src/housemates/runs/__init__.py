"""Runs: a method, a task and a preset become a folder."""
