// A getter that shows a harmless value first and another one later: the first is what travels. Value.
let n = 0;
const r = await codemode.echo({ get path() { return n++ === 0 ? 'notes.txt' : '/etc/passwd'; } });
return r.path;
