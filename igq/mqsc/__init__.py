"""MQSC, IBM MQ's command language: read, executed and answered as ``runmqsc`` does."""
