// Resolving with an object whose `then` getter loops: the interrupt becomes a rejection. The outer stop ends it.
for (;;) Promise.resolve({ get then() { for (;;); } }).catch(() => {});
