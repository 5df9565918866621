// A reviver that deletes, shrinks, freezes and replaces the holder it is called with.
// The engine must stay sound: value.
for (const how of [h => { h.length = 0; }, h => { for (const k in h) delete h[k]; }, h => Object.freeze(h), h => { for (let i = 0; i < 100; i++) h[i] = { i: [i] }; }, h => { h[1] = new Proxy([1, 2, 3], {}); }]) {
  let n = 0;
  try { JSON.parse('[[1,2,{"a":[1,2,3],"b":{"c":1}}],[3,4],5,{"d":[{}]}]', function (k, v) { if (n++ < 20) how(this); return v; }); } catch (e) { }
}
return 'alive';
