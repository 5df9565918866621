# A format string walks attributes without a line of code that names them. Value.
for path in ('{0.__class__.__init__.__globals__}', '{0.echo.__globals__}', '{0.echo.__func__.__globals__}'):
    try:
        if '__builtins__' in path.format(codemode):
            return 'out'
    except Exception:
        pass
return 'contained'
