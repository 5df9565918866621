// Promise.try (or a plain async function) around a loop gives a rejection. The outer stop ends it.
const attempt = Promise.try ? f => Promise.try(f) : async f => f();
for (;;) attempt(() => { for (;;); }).catch(() => {});
