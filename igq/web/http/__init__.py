"""The web server itself: its limits, and what each answer carries."""
