// More arguments at once than there is memory for: the call that does not fit fails alone, with an error
// that says so, and when the others are answered there is room again. Sixteen slow calls come first: no other
// one is in flight, and answered, while the program makes more. Value.
const s = 'x'.repeat(1e6), open = Array.from({ length: 16 }, () => codemode.slow({ ms: 1000 }));
let refused;
try {
  while (open.length < 300) open.push(codemode.slow({ ms: 1, s: s + open.length }));
} catch (e) {
  refused = e;
}
const n = open.length - 16;
await Promise.all(open);
return [n > 20 && n < 100, refused instanceof RangeError, refused.message.includes('no memory is left'), (await codemode.echo(s)).length];
