// Jobs left in the queue: planted here. The next run must not see it.
globalThis.count = 0;
const f = () => { globalThis.count++; Promise.resolve().then(f); };
Promise.resolve().then(f);
return 'left';
