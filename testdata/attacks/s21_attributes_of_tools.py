# Whatever hangs on a tool, no part of it calls another tool or imports. Value.
found = []
for name in ('__self__', '__func__', '__closure__', '__code__', '__wrapped__', 'func', '__module__', '__dict__'):
    try:
        x = getattr(codemode.echo, name)
        if hasattr(x, 'secret_value') or 'secret value' in str(x):
            found.append(name)
    except Exception:
        pass
return found
