// Fifty equal calls have fifty answers: a change of one shows in no other. Value.
const r = await Promise.all(Array.from({ length: 50 }, () => codemode.echo({ list: [1] })));
r[0].list.push('changed');
return [new Set(r).size, r.slice(1).every(x => x.list.length === 1)];
