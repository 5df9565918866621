# Calls without an end. Refused with an error, or ended by a limit.
while True:
    await codemode.echo(0)
