// Bidi overrides, zero-width and tag characters come back the same: data, not markup. Value.
const s = '\u202e\u2066x\u2069\u200b\u200d\u{e0041}\ufe0f\u115f';
return await codemode.echo(s) === s;
