// A runaway of short host calls.
// Refused with an error, or ended by a limit.
for (;;) await codemode.echo(0);
