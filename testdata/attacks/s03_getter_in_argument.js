// A getter of an argument loops inside the bridge. The outer stop ends it.
for (;;) { try { codemode.echo({ get x() { for (;;); } }).catch(() => {}); } catch (e) { } }
