"""The actions of the console: one table of what a button does, for whom, after which question, by which command."""
