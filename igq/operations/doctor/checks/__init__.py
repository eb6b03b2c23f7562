"""The checks, one module for each idea. A check is a function from what was seen to findings."""
