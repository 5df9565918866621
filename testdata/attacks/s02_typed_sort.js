// Sorting five million numbers without a comparator, again and again. The outer stop ends it.
const a = new Float64Array(4e6);
for (;;) {
  for (let i = 0; i < 1000; i++) a[(i * 7919) % a.length] = -i;
  a.sort();
}
