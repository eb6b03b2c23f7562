"""Publish/subscribe: MQOPEN and MQPUT of a topic, MQSUB, MQSUBRQ."""
