# None of the built-in functions that reach the machine is there, or each is refused. Value.
found = []
try:
    open('/etc/hostname')
    found.append('open')
except Exception:
    pass
try:
    eval('1 + 1', {})
    exec('import os; os.getcwd()', {})
    found.append('exec')
except Exception:
    pass
try:
    __import__('os').getcwd()
    found.append('__import__')
except Exception:
    pass
try:
    compile('import sys', 'x', 'exec')
    __loader__.load_module('posix')
    found.append('__loader__')
except Exception:
    pass
return found
