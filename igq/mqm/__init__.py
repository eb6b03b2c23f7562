"""The C library of channels: its headers, which are generated, and its building.

``headers`` writes cmqc.h, cmqxc.h, cmqcfc.h and cmqstrc.h, ``structures`` says what stands in them, ``library``
compiles the sources in ``c/`` against them.
"""
