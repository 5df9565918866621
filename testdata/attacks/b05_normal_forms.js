// Text is never normalised. Value.
const xs = ['\u00e9', 'e\u0301', '\u212b', '\u00c5', '\ufb01', '\u1e9b\u0323'];
const r = await codemode.echo(xs);
return r.every((x, i) => x === xs[i]);
