// queueMicrotask starves the program's own continuation. Ends at the time limit.
const later = globalThis.queueMicrotask ?? (f => Promise.resolve().then(f));
const f = () => later(f);
f();
await codemode.echo(1);
return 1;
