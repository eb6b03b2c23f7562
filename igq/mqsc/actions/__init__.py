"""The commands of MQSC by subject: DISPLAY, MOVE, AUTHREC, BACKUP, RECOVER, INDOUBT, topics, processes, CMDSCOPE."""
