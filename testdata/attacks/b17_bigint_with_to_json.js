// BigInt.prototype.toJSON makes text of every BigInt, or is ignored: no digit is lost. Value.
try { BigInt.prototype.toJSON = function () { return String(this); }; } catch (e) { }
try { const r = await codemode.echo({ n: 2n ** 70n }); return String(r.n) === '1180591620717411303424' ? 'safe' : 'rounded'; } catch (e) { return 'safe'; }
