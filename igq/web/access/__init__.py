"""Users, their roles, and how a request shows on whose behalf it comes."""
