// Each job runs out of memory and queues the next one first. Ends.
const later = globalThis.queueMicrotask ?? (f => Promise.resolve().then(f));
const a = [];
const f = () => { later(f); for (;;) a.push(new Array(1000)); };
f();
await new Promise(() => {});
