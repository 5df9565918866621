// Bound functions around bound functions. Memory.
let f = () => 1;
for (;;) f = f.bind(null, f);
