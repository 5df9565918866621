// A reaction that registers itself again. Ends at the time limit.
const f = () => Promise.resolve().then(f);
await f();
return 1;
