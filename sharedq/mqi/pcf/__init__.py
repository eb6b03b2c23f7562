"""Programmable command formats (PCF): the structures of commands, their answers and events, read and written. Pure."""
