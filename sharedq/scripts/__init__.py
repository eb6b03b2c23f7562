"""One function for each Lua script: it puts the keys and the arguments of a call together.

No other module names a script. The parameters of a function are keys and plain values: it decides nothing and knows
no caller. It returns a ``ScriptCall`` (name, keys, arguments) for ``Connection.call`` and ``Group.call``, and makes no
call itself. The header of the script (``sharedq/lua/``) says what its keys, its arguments and its reply mean.
"""
