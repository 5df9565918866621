// From delegated generators. Denied.
function* g() { yield* [codemode.secret({})]; }
function* h() { yield* g(); }
return await [...h()][0];
