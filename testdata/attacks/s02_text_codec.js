// TextEncoder and TextDecoder over megabytes, again and again. The outer stop ends it.
if (typeof TextDecoder === 'undefined') for (;;);
const s = '\u4e00'.repeat(1e6);
let n = 0;
for (;;) n += new TextDecoder().decode(new TextEncoder().encode(s)).length;
