// A Promise executor turns the interrupt into a rejection. The outer stop ends it.
for (;;) new Promise(() => { for (;;); }).catch(() => {});
