// valueOf of lastIndex loops. Ends at the time limit.
const r = /a/g;
r.lastIndex = { valueOf() { for (;;); } };
return r.test('a');
