// Generators, async ones too, resumed from inside themselves and while they are being closed.
// The engine must stay sound: value.
function* g() { try { try { it.next(); } catch (e) { } yield 1; } finally { try { it.return(2); } catch (e) { } try { it.throw(3); } catch (e) { } yield 4; } }
let it = g();
try { it.next(); it.return(5); it.next(); it.next(); } catch (e) { }
async function* h() { try { ah.next(); ah.return(1); yield 1; yield ah.next(); } finally { await ah; ah.next(); } }
const ah = h();
await ah.next(); ah.throw(new Error('x')).catch(() => {}); ah.return(2).catch(() => {});
for (let i = 0; i < 1000; i++) { const x = g(); x.next(); }
return 'alive';
