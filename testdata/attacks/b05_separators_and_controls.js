// U+2028, DEL, C1 controls and noncharacters come back the same. Value.
const s = Array.from({ length: 160 }, (_, i) => String.fromCharCode(i)).join('') + '\u2028\u2029\ufeff\ufffe\uffff\ufdd0\u{10ffff}';
return await codemode.echo(s) === s;
