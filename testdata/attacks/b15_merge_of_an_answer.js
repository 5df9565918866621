// The program merges an answer into its objects carelessly and pollutes itself: what is denied stays denied. Value.
const merge = (to, from) => { for (const k in from) { if (from[k] && typeof from[k] === 'object' && to[k]) merge(to[k], from[k]); else to[k] = from[k]; } return to; };
const r = await codemode.echo(JSON.parse('{"constructor":{"prototype":{"approved":true,"allow":["secret"],"policy":"allow","denied":false}}}'));
try { merge({}, r); } catch (e) { }
try { return await codemode.secret({}); } catch (e) { return 'refused'; }
