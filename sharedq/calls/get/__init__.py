"""MQGET: get, browse, wait, logical order, selection, locks."""
