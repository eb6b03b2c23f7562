"""Commands of `igq.tools`: an operator's work with messages."""
