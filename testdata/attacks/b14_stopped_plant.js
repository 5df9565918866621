// The program is stopped while a call is open whose answer comes soon after the end.
codemode.slow({ ms: 3300 });
for (;;);
