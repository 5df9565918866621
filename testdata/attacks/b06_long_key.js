// A key of a million letters. Value.
const k = 'k'.repeat(1e6);
const r = await codemode.echo({ [k]: 1 });
return r[k];
