"""Recorded episodes: files, captions, events, films."""
