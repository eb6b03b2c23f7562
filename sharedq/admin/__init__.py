"""An operator's work on structures and members: backup, recovery of a structure, removal of a member."""
