# Globals and names of built-in functions: planted here. The next run must not see them.
global planted
planted = 'x'
try:
    import builtins
    builtins.planted_builtin = 'y'
    builtins.len = lambda x: 4711
except Exception:
    pass
return 'planted'
