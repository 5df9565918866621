// Objects until nothing is left. Memory.
const a = [];
for (;;) a.push({});
