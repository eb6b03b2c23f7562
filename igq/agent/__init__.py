"""The IGQ agent: takes its manager's messages off the shared transmission queue and delivers them."""
