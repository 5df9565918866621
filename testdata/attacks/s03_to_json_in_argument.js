// toJSON of an argument loops inside the bridge; its error is a rejection the program catches.
// The outer stop ends it.
for (;;) { try { await codemode.echo({ toJSON() { for (;;); } }); } catch (e) { } }
