// Jobs that are queued and never get their turn. Memory.
const later = globalThis.queueMicrotask ?? (f => Promise.resolve().then(f));
for (;;) later(() => {});
