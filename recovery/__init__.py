"""Peer recovery: the peers of a dead queue manager or program resolve its unfinished work.

`watch` finds the leases that ran out, `claim` makes one peer the recoverer, `resolve` does the work, `prepared` finds
the units of work of external coordinators, `report` reads what was done.
"""
