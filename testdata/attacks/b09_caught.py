# A denial is caught, tried again and caught: the program goes on, and has nothing. Value.
n = 0
for i in range(20):
    try:
        await codemode.secret({'i': i})
    except Exception:
        n = n + 1
return [n, await codemode.echo('on')]
