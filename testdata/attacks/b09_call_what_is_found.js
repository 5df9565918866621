// Any global function that takes (name, json) is called with a denied name: it must not give the answer. Value.
const hits = [];
for (const k of Reflect.ownKeys(globalThis)) {
  const f = globalThis[k];
  if (typeof f !== 'function' || ['eval', 'Function', 'setTimeout', 'setInterval', 'queueMicrotask'].includes(String(k))) continue;
  for (const a of [['secret', '{}'], ['secret', {}]]) { try { let v = f(...a); if (v && typeof v.then === 'function') v = await Promise.race([v, codemode.slow({ ms: 1 })]); if (v && v !== a[0] && /the secret value/.test(JSON.stringify(v) || '')) hits.push(String(k)); } catch (e) { } }
}
return hits;
