"""The views of the console: one module here, and one of the same name in ``static/views``, for each.

A module here has ``routes()``: what the script of the view asks for. `igq.web.console.views.view` helps to write them.
``actions`` and ``search`` are for the scripts of several views.
"""

from __future__ import annotations

from igq.web.console.views import (
    actions,
    audit,
    channels,
    connections,
    dead_letters,
    group,
    mqsc,
    queue,
    search,
    structures,
    topics,
    trace,
    units,
)

#: In the order of the menu, which is in ``static/console.js``.
VIEWS = (
    *(group, queue, search, trace, dead_letters, units, connections, structures, topics, channels, mqsc, audit),
    actions,
)
