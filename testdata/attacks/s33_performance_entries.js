// Marks, measures and entries of performance show whole milliseconds, if there are any. Value.
if (typeof performance === 'undefined') return 0;
let odd = 0;
const look = e => { if (e) for (const k of ['startTime', 'duration']) if (e[k] % 1) odd++; };
for (let i = 0; i < 50; i++) {
  try { look(performance.mark('a' + i)); } catch (e) { }
  for (let j = 0; j < 1000; j++);
  try { look(performance.mark('b' + i)); } catch (e) { }
  try { look(performance.measure('m' + i, 'a' + i, 'b' + i)); } catch (e) { }
}
try { performance.getEntries().forEach(look); } catch (e) { }
try { const e = performance.eventLoopUtilization(); if (e.active % 1 || e.idle % 1) odd++; } catch (e) { }
return odd;
