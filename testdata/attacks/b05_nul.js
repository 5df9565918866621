// NUL inside text neither ends nor changes it. Value.
const s = 'a\u0000b\u0000';
return (await codemode.echo({ s, ['k\u0000x']: 1 })).s === s;
