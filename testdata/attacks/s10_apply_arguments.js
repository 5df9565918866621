// Argument lists of sixty thousand, kept by a rest parameter. Memory.
const keep = [], a = new Array(60000).fill(0);
for (;;) keep.push(((...r) => r)(...a));
