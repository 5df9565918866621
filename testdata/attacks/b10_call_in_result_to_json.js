// A tool is called while the result is written out: refused or ignored, no deadlock. Value.
return { toJSON() { codemode.echo(1).catch(() => {}); return 'written'; } };
