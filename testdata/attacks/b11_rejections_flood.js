// Three hundred failing calls, all handled. Value.
const r = await Promise.allSettled(Array.from({ length: 300 }, () => codemode.fail()));
return r.every(x => x.status === 'rejected');
