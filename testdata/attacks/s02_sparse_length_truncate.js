// Truncating an array with elements at both ends of four billion, again and again. The outer stop ends it.
let n = 0;
for (;;) {
  const a = [];
  for (let i = 0; i < 1000; i++) a[i * 4294967] = i;
  a.length = 0;
  n += a.length;
}
