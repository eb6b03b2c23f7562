"""The members of a group: managers and programs, their leases, and the records of their recoveries."""
