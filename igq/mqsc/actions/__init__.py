"""Commands of MQSC that act on messages and connections: MOVE QLOCAL, DISPLAY CONN, STOP CONN; and CMDSCOPE."""
