// State of a run that was denied a call: planted here. The next run must not see it.
globalThis.planted = 'x';
await codemode.echo('before');
await codemode.secret();
