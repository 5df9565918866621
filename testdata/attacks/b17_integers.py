# Integers beyond 2^53 keep all digits, or are refused: they are never rounded. Value.
r = []
for x in (2 ** 53 + 1, 2 ** 64 + 1, -2 ** 63 - 1):
    try:
        y = await codemode.echo(x)
        if y != x and str(y) != str(x):
            r.append(str(x))
    except Exception:
        pass
return r
