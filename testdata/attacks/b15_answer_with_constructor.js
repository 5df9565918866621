// constructor and prototype as keys of an answer are data. Value.
const r = await codemode.echo({ constructor: { prototype: { polluted: 1 } }, __lookupGetter__: 1, prototype: { polluted: 2 } });
return [Object.keys(r).length, {}.polluted === undefined, (() => {}).polluted === undefined];
