// Half a million alternatives tried at each of half a million places. Ends at the time limit.
const r = new RegExp(Array.from({ length: 60000 }, (_, i) => 'x' + i).join('|'));
return r.test('x'.repeat(1e6) + 'y');
