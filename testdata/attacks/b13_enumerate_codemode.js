// Listing codemode in every way ends and calls nothing. Value.
let n = 0;
for (const w of [() => Object.keys(codemode), () => Reflect.ownKeys(codemode), () => ({ ...codemode }), () => Object.entries(codemode), () => { for (const k in codemode) n++; }, () => [...codemode], () => Array.from(codemode), () => new Map(codemode), () => 'x' in codemode, () => codemode instanceof Promise, () => Object.isFrozen(codemode)]) { try { w(); } catch (e) { } }
return 'listed';
