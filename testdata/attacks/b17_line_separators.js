// U+2028, U+2029, U+0085 and vertical tabs in arguments and keys end no line of a protocol. Value.
const s = 'a\u2028b\u2029c\u0085d\u000be\u000cf\r\ng\nh';
const r = await codemode.echo({ [s]: s });
return [Object.keys(r)[0] === s, r[s] === s];
