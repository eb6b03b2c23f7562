"""One function for each Lua script: it puts the keys and the arguments of a call together.

No other module names a script. Each function returns a ``ScriptCall`` (name, keys, arguments) for
``Connection.call``, ``Group.call`` and their like. It makes no call itself. The header of the script
(``sharedq/lua/``) says what its keys, its arguments and its reply mean.
"""
