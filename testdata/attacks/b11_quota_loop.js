// Refused calls are tried again for ever. Ends by time or quota.
for (;;) { try { await codemode.echo(1); } catch (e) { } }
