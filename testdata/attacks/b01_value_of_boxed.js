// Boxed values whose valueOf and toString change from read to read. Value.
let n = 0;
const s = new String('first');
s.toString = () => n++ === 0 ? 'one' : 'two';
const r = await codemode.echo({ s });
return ['one', 'first', 'two'].includes(r.s) && n <= 1;
