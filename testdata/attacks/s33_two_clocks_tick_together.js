// Two clocks of a millisecond that tick at different moments are one finer clock: they tick together. Value.
if (typeof performance === 'undefined') return true;
let apart = 0, ticks = 0;
for (let i = 0, d = Date.now(), p = performance.now(); i < 3e6 && ticks < 20; i++) {
  const d2 = Date.now(), p2 = performance.now(), d3 = Date.now();
  if (d2 !== d3) { d = d3; p = performance.now(); continue; }
  if ((d2 === d) !== (p2 === p)) apart++;
  if (d2 !== d) ticks++;
  d = d2; p = p2;
}
return apart <= ticks / 4;
