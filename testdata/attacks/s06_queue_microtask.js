// queueMicrotask starves the program's own continuation. Ends at the time limit.
const f = () => queueMicrotask(f);
f();
await codemode.echo(1);
return 1;
