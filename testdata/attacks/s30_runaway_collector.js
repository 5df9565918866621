// The collector is made to walk half a million objects again and again. Ends; others keep running.
const keep = [];
for (let i = 0; i < 300000; i++) keep.push([i]);
for (;;) { const a = {}, b = { a }; a.b = b; for (let i = 0; i < 100; i++) ({ i }); }
