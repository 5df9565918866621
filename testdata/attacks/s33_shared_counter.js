// A thread that counts in shared memory is a clock finer than any other. There is no thread. Value.
if (typeof SharedArrayBuffer === 'undefined' || typeof Worker === 'undefined') return 'still';
const n = new Int32Array(new SharedArrayBuffer(4));
const text = 'onmessage = e => { for (;;) e.data[0]++; }; const p = globalThis.require?.("worker_threads").parentPort; p?.on("message", n => { for (;;) n[0]++; });';
for (const open of [() => new Worker(URL.createObjectURL(new Blob([text]))), () => new Worker(text, { eval: true }), () => new Worker('data:text/javascript,' + encodeURIComponent(text))]) {
  try { open().postMessage(n); } catch (e) { }
}
await codemode.slow({ ms: 100 });
return n[0] === 0 ? 'still' : 'counts';
