// Buffers made from memory that strings and objects have just left. Value.
let odd = 0;
for (let i = 0; i < 20; i++) {
  let junk = []; for (let j = 0; j < 2000; j++) junk.push('\u5a5a'.repeat(50) + j, { j });
  junk = null;
  const a = new Uint8Array(200000); for (let j = 0; j < a.length; j += 13) odd += a[j];
}
return odd;
