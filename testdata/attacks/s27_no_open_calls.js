// The template holds no open call: the first answer belongs to the first call. Value.
return [await codemode.echo("first"), await codemode.echo("second")];
