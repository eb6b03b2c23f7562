"""The IGQ agent: takes its manager's messages off the transmit queue and delivers them."""
