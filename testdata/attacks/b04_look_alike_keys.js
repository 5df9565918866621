// Keys that look alike stay different keys. Value.
const ks = ['a', '\u0430', 'a\u200b', 'A', '\uff41', 'a\u0000', ' a', 'a ', 'a\u0301', '\u00e1', '\u017f', '\u212a', ''];
const r = await codemode.echo(Object.fromEntries(ks.map((k, i) => [k, i])));
return ks.every((k, i) => r[k] === i) && Object.keys(r).length === ks.length;
