// caller and arguments asked in callbacks that the bridge calls: no function of the bridge. Value.
const seen = [];
function probe() { try { seen.push(probe.caller); } catch (e) { } try { seen.push(probe.arguments); } catch (e) { } return 1; }
await codemode.echo({ toJSON: probe });
await codemode.echo({ get x() { return probe(); } });
await new Promise(r => setTimeout(() => { probe(); r(); }, 0));
return seen.filter(x => typeof x === 'function' && !/probe/.test(Function.prototype.toString.call(x))).length;
