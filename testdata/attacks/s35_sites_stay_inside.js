// Call sites give functions, receivers and evaluators: whatever they give, it leads to no other world. Value.
const things = [];
try {
  Error.prepareStackTrace = (e, sites) => {
    for (const s of sites) for (const k of ['getThis', 'getFunction', 'getEvalOrigin', 'getTypeName', 'getScriptNameOrSourceURL']) {
      try { things.push(s[k]()); } catch (x) { }
    }
    return sites;
  };
} catch (e) { return 'contained'; }
const grab = () => { const s = new Error('x').stack; if (Array.isArray(s)) things.push(...s); return 1; };
grab();
await codemode.echo({ toJSON: grab });
await { then(r) { grab(); r(); } };
Error.prepareStackTrace = undefined;
for (const t of things) {
  for (const door of [() => t.constructor.constructor('return globalThis')(), () => t.constructor('return globalThis')(), () => t]) {
    try { const g = door(); if (g && g !== globalThis && (typeof g.process === 'object' || typeof g.require === 'function' || typeof g.Deno === 'object')) return 'out'; } catch (x) { }
  }
}
return 'contained';
