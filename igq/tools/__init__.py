"""Work of an operator with messages: dead letters, unloading and loading a queue, one message's way.

Functions return values and print nothing; the command line and the console show them.
"""
