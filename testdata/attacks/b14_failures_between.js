// Failing, denied and good calls in flight together: each settles in its own way. Value.
const kinds = ['echo', 'fail', 'secret'];
const r = await Promise.allSettled(Array.from({ length: 60 }, (_, i) => codemode[kinds[i % 3]](i)));
return r.every((x, i) => i % 3 ? x.status === 'rejected' : x.value === i);
