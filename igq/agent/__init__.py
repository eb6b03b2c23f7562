"""The IGQ agent: takes what is meant for its manager off the shared transmission queue and delivers it."""
