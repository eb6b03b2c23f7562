"""The account of a group's keys: checks that some object in the group explains every key. Changes nothing."""
