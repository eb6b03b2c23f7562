"""Foreign text made safe for the terminal, the log and the error line."""
