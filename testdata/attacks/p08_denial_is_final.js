// Three hundred tries of the same call: denied three hundred times. Value.
let n = 0;
for (let i = 0; i < 300; i++) { try { await codemode.secret({ same: true }); } catch (e) { n++; } }
return n;
