# The globals of own and of given functions lead to the modules of the host. Value.
def f():
    return 1
for g in (f, codemode.echo, print):
    try:
        b = g.__globals__['__builtins__']
        b = b if isinstance(b, dict) else b.__dict__
        b['__import__']('os').getcwd()
        return 'out'
    except Exception:
        pass
return 'contained'
