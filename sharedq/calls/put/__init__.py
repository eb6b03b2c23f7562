"""MQPUT and MQPUT1: a message is stored under the definition that is in force, or not at all."""
