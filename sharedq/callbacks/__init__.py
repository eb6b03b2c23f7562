"""MQCB and MQCTL: functions of a program that are called with the messages of many queues, by one thread."""
