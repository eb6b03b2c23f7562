"""Message selectors: the selection string of an MQOPEN as a small tree, and its evaluation. Pure.

A script evaluates the same tree where the messages are: ``sharedq/lua/prelude/selector.lua``.
"""
