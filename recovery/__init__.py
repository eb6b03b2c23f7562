"""What a dead queue manager or program left behind, and how its peers put it right.

`watch` says whose lease ran out, `claim` makes one peer its recoverer, `resolve` does the work, `prepared` that of
external coordinators, `report` reads what was done.
"""
