"""Code that several test suites share."""
