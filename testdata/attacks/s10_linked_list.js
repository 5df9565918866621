// A list, each node holds the one before. Memory.
let l = null;
for (;;) l = { l };
