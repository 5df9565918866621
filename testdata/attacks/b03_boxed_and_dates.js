// Boxed primitives and dates become what JSON makes of them. Value.
return await codemode.echo([new Number(1), new String('s'), new Boolean(true), new Date(0)]);
