// NUL in text, in a key and at both ends changes nothing; in the name of a tool it makes another name. Value.
const r = await codemode.echo({ '\0a\0': '\0b\0', c: ['\0'] });
let called = 'no';
for (const name of ['echo\0', '\0echo', 'secret\0', 'echo\0secret']) { try { await codemode[name]({}); called = 'yes'; } catch (e) { } }
return [r['\0a\0'] === '\0b\0', r.c[0].length, called];
