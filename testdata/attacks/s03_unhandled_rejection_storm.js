// Promises rejected by interrupted executors and never handled. The outer stop ends it.
for (;;) new Promise(() => { for (;;); });
