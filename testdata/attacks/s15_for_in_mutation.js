// for-in over objects, arrays and typed arrays that are changed under the walk.
// The engine must stay sound: value.
for (const make of [() => Object.fromEntries(Array.from({ length: 200 }, (_, i) => ['k' + i, {}])), () => Array.from({ length: 200 }, () => ({})), () => new Uint8Array(200)]) for (const how of [o => { for (const k of Object.keys(o)) delete o[k]; }, o => { for (let i = 0; i < 300; i++) o['x' + i] = i; }, o => { Object.setPrototypeOf(o, { z: 1 }); }, o => { if (Array.isArray(o)) o.length = 0; }]) {
  const o = make();
  let n = 0;
  for (const k in o) { if (n++ === 10) how(o); o[k]; if (n > 3000) break; }
}
return 'alive';
