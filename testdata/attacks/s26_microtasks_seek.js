// Jobs left in the queue: nothing of what the run before planted is here. Value.
const before = typeof count;
await null; await null; await codemode.echo(1);
return [before, typeof count];
