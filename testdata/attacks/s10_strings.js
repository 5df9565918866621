// Different long strings. Memory.
const a = [];
for (let i = 0; ; i++) a.push(('x' + i).repeat(1000));
