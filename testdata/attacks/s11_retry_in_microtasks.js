// Each job runs out of memory and queues the next one first. Ends.
const a = [];
const f = () => { queueMicrotask(f); for (;;) a.push(new Array(1000)); };
f();
await new Promise(() => {});
