// The first sixteen calls of this run get their own answers, not those of the run that was stopped. Value.
return await Promise.all(Array.from({ length: 16 }, (_, i) => codemode.echo(i + 1)));
