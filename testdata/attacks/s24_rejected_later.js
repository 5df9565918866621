// The program has returned a promise that rejects later. Error, ends.
return codemode.echo(1).then(() => { throw new Error('later'); });
