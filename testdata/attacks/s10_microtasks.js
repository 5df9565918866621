// Jobs that are queued and never get their turn. Memory.
for (;;) queueMicrotask(() => {});
