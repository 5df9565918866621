// Arguments changed after the call: the call has what was there when it was made. Value.
const a = { path: 'notes.txt', list: [1, 2] };
const p = codemode.echo(a);
a.path = '/etc/passwd';
a.list.push(3);
delete a.list[0];
const r = await p;
return [r.path, r.list.length];
