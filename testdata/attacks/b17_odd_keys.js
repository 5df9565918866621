// Keys of every odd kind stay what they are. Value.
const keys = ['', ' ', '\0', '"', '\\', '\n', '\u2028', '\u{1f600}', '\u043a\u043b', '-0', '1e3', '01', '__proto', 'a.b', 'a[0]', '$ref', '#', '/', '%00', '\ufffd', 'toJSON', 'then'];
const r = await codemode.echo(Object.fromEntries(keys.map((k, i) => [k, i])));
return [Object.keys(r).length === keys.length, keys.every((k, i) => r[k] === i)];
