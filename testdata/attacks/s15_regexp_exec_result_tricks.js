// exec gives results whose getters change the expression, the index and the groups.
// The engine must stay sound: value.
for (const bad of [-1, 2 ** 31, 2 ** 53, NaN, '5', { valueOf() { return 1e9; } }]) {
  const r = /a/g;
  let n = 0;
  r.exec = () => n++ > 3 ? null : ({ index: bad, length: 2 ** 16, get 0() { r.lastIndex = bad; return 'x'; }, get groups() { return new Proxy({}, { get: () => 'g' }); }, get 1() { return 'y'.repeat(100); } });
  try { 'banana'.replace(r, '[$1$2$&$`$\'$<a>$99]'); } catch (e) { }
  n = 0;
  try { 'banana'.match(r); } catch (e) { }
  n = 0;
  try { [...'banana'.matchAll(r)]; } catch (e) { }
  n = 0;
  try { 'banana'.split(r); } catch (e) { }
}
return 'alive';
