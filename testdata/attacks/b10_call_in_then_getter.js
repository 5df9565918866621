// A tool is called from the then getter of what the program returns. Value.
return { get then() { codemode.echo(1).catch(() => {}); return undefined; }, x: 1 };
