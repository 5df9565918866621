// Errors of disposers pile up as SuppressedError. Error, ends.
if (typeof DisposableStack !== 'function') throw new Error('x');
const s = new DisposableStack();
for (let i = 0; i < 1000; i++) s.defer(() => { throw new Error('d' + i); });
s.dispose();
