# Five hundred calls one after the other. Value.
n = 0
for i in range(500):
    n = n + await codemode.echo(1)
return n
