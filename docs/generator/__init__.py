"""Writes those parts of the documentation that repeat what code and tests say."""
