// The v flag with 20,000 strings in a class, compiled again and again. Ends by time.
const s = Array.from({ length: 20000 }, (_, i) => 'w' + i).join('|');
let n = 0;
for (;;) n += new RegExp('[\\q{' + s + '}--\\q{w1}]', 'v').source.length;
