// Each answer starts two calls, five levels deep: every one of them has its own answer. Value.
const seen = [];
const f = async path => {
  const r = await codemode.echo({ path });
  if (r.path !== path) seen.push('wrong');
  seen.push(r.path);
  if (path.length < 5) await Promise.all([f(path + 'a'), f(path + 'b')]);
};
await f('');
return [seen.length, new Set(seen).size, seen.includes('wrong')];
