// Half surrogate pairs arrive as they are or as U+FFFD, never as anything else. Value.
const xs = ['a\ud800', '\udc00b', '\ud800\ud800', 'x\udfff\ud800y'];
const r = await codemode.echo(xs);
return r.every((s, i) => s === xs[i] || s === xs[i].replace(/[\ud800-\udfff]/g, '\ufffd'));
