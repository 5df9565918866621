// U+FEFF at the beginning of text, of keys and of everything is not taken away. Value.
const r = await codemode.echo({ '\ufeffk': '\ufeff{}\ufeff' });
return [Object.keys(r)[0].length, r['\ufeffk'].length, (await codemode.echo('\ufeff')).length];
