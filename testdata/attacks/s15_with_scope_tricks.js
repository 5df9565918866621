// with scopes whose objects lose and gain the names that code inside uses.
// The engine must stay sound: value.
const f = Function('o', 'with (o) { try { x; } catch (e) {} try { x = 1; } catch (e) {} try { x(); } catch (e) {} try { delete x; typeof x; } catch (e) {} try { var x = 2; } catch (e) {} }');
for (const t of ['has', 'get', 'set', 'deleteProperty']) { let n = 0; const o = { x: 1 }; f(new Proxy(o, { [t](...a) { if (n++ % 2) delete o.x; else o.x = () => { }; return Reflect[t](...a); } })); }
f({ get x() { delete this.x; return 1; }, get [Symbol.unscopables]() { return { x: true }; } });
return 'alive';
