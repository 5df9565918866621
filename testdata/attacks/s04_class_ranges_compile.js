// Classes of 60,000 single ranges, compiled again and again. Ends by time.
let s = '';
for (let i = 0x100; i < 0xd000; i += 2) s += String.fromCharCode(i);
let n = 0;
for (;;) n += new RegExp('[' + s + ']+[^' + s + ']', 'iu').source.length;
