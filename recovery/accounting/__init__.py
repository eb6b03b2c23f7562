"""An account of a group's keys: whether everything in Redis is explained by what exists. Changes nothing."""
