// An iterator given to Promise.all loops in next(); all() turns it into a rejection. The outer stop ends it.
for (;;) Promise.all({ [Symbol.iterator]() { return { next() { for (;;); } }; } }).catch(() => {});
