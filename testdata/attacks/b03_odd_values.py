# A set, a function and a cycle are refused, or arrive as something that JSON has. Value.
r = []
a = []
a.append(a)
for x in ({1}, len, a):
    try:
        await codemode.echo(x)
        r.append('sent')
    except Exception:
        r.append('refused')
return len(r)
