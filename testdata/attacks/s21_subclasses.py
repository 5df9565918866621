# From a tuple to all classes of the process, and from there to one that opens files or starts processes. Value.
try:
    for c in ().__class__.__base__.__subclasses__():
        if c.__name__ in ('Popen', 'FileIO', 'FileLoader', '_wrap_close', 'BuiltinImporter'):
            return 'found ' + c.__name__
except Exception:
    pass
return 'contained'
