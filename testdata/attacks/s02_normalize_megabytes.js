// Unicode normalisation of 2 MB of Hangul and marks, again and again: long native loops.
// The outer stop ends it.
const s = '\uac01\u0323\u0307'.repeat(2e5);
let n = 0;
for (;;) n += s.normalize('NFD').normalize('NFC').length;
