"""The deaths of other managers and of programs, noticed before their leases run out."""
