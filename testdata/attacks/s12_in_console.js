// Out of memory while the console makes text. Memory, or a value if the console gives up first.
let o = 'x'.repeat(1000);
for (let i = 0; i < 30; i++) o = [o, o];
console.log(o);
const a = [];
for (;;) a.push({});
