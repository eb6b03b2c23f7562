"""BACKUP CFSTRUCT and RECOVER CFSTRUCT: the persistent messages of an application structure, in a file and back."""
