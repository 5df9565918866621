// Array methods whose numeric arguments shrink the array while they are converted.
// The engine must stay sound: value.
for (const how of [a => { a.length = 0; }, a => { a.length = 3; }, a => { for (let i = 0; i < 999; i++) a.push({}); }]) {
  for (const [m, k] of [['splice', 3], ['slice', 2], ['fill', 3], ['copyWithin', 3], ['indexOf', 2], ['lastIndexOf', 2], ['includes', 2], ['at', 1], ['with', 2], ['toSpliced', 3], ['flat', 1], ['join', 1]]) for (let j = 0; j < k; j++) {
    const a = Array.from({ length: 100 }, (_, i) => ({ i }));
    const args = [10, 50, 60].slice(0, k);
    args[j] = { valueOf() { how(a); return 20; }, toString() { how(a); return ','; } };
    try { a[m](...args); } catch (e) { }
  }
}
return 'alive';
