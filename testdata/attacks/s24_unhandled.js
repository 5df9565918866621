// A rejection nobody handles, while the program itself returns. Reported, or the value stands. Error, ends.
Promise.reject(new Error('unhandled'));
await codemode.echo(1);
throw new Error('handled');
