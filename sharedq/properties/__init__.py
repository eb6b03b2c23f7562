"""Message properties: names, values, the folders of an MQRFH2 that carry them, and message handles. Pure."""
