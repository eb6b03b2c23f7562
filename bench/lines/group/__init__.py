"""The group: hops, many clients, several nodes, recovery, doing nothing, starting."""
