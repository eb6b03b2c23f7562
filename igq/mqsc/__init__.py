"""MQSC, IBM MQ's command language: reads and runs commands and writes answers as ``runmqsc`` does."""
