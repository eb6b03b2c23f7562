"""The language of MQSC: lines, commands, words, parameters and the values of attributes. Pure."""
