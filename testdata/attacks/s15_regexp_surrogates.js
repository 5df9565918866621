// Sticky, Unicode and lookbehind matching in the middle of surrogate pairs.
// The engine must stay sound: value.
const s = '\ud83d\ude00\ud83d\ude00x\ude00\ud83d';
for (const f of ['', 'u', 'v', 'y', 'uy', 'gi', 'giu', 's', 'dgu']) for (const p of ['.', '(?<=.)x', '(?<!\\ud83d)\\ude00', '[^x]+?', '\\b', '(?=(.))\\1', '\\ude00', '^|$']) {
  let r;
  try { r = new RegExp(p, f); } catch (e) { continue; }
  for (let i = 0; i <= s.length + 2; i++) { r.lastIndex = i; const m = r.exec(s); if (m && (m.index < 0 || m.index > s.length)) throw new Error('outside'); }
  s.replace(r, '$&$`'); s.split(r);
}
return 'alive';
