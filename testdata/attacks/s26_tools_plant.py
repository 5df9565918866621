# Attributes of codemode and of its tools: planted here. The next run must not see them.
try:
    codemode.planted = 'x'
except Exception:
    pass
try:
    codemode.echo = codemode.secret
except Exception:
    pass
return 'planted'
