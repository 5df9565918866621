// Finalizers and weak references left behind: nothing of what the run before planted is here. Value.
for (let i = 0; i < 20000; i++) ({ i, a: [i] });
await null; await codemode.echo(1);
return [typeof r, typeof finalized];
