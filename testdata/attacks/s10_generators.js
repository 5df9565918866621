// Generators that are suspended in the middle. Memory.
const a = [];
function* g() { yield 1; yield 2; }
for (;;) { const i = g(); i.next(); a.push(i); }
