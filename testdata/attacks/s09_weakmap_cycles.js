// Keys that are held only by their own values, made by the ten thousand, then dropped. Value.
for (let round = 0; round < 5; round++) {
  const w = new WeakMap();
  for (let i = 0; i < 10000; i++) { const k = {}; w.set(k, { k, w }); }
  await null;
}
return 'over';
