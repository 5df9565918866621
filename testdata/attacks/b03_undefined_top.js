// undefined or nothing at all as the argument is null. Value.
return [await codemode.echo(undefined), await codemode.echo()];
