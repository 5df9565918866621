// An array that is filled from the end, so that it turns sparse. Memory.
const a = [];
for (let i = 2 ** 32 - 2; i > 0; i--) a[i] = i;
return a.length;
