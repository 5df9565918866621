// A replaced JSON.stringify is not given the arguments by the bridge. Value.
let spied = 0;
const S = JSON.stringify;
JSON.stringify = (...a) => { spied++; return S(...a); };
await codemode.echo({ password: 'p' });
return spied;
