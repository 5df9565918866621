// State of a run that left a thousand calls behind: nothing of what the run before planted is here. Value.
return await Promise.all([codemode.echo(1), codemode.slow({ ms: 1 }).then(() => 2), codemode.echo(3)]);
