"""Commands as messages: PCF requests become commands of MQSC, and their answers become PCF responses."""
