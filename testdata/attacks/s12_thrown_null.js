// The engine may report out of memory as a thrown null: the host must know better. Memory.
const keep = [];
try { for (;;) keep.push(new ArrayBuffer(65536)); } catch (e) { }
for (let n = 32768; n > 8; n >>= 1) { try { for (;;) keep.push(new ArrayBuffer(n)); } catch (e) { } }
for (;;) keep.push({ a: [1, 2, 3], s: `${keep.length}` });
