// Clocks of other runtimes: none is there, or it shows whole milliseconds. Value.
const clocks = {
  hrtime: () => process.hrtime(), bigint: () => process.hrtime.bigint() % 1000000n, uptime: () => process.uptime() * 1000,
  bun: () => Bun.nanoseconds() / 1e6, temporal: () => Temporal.Now.instant().epochNanoseconds % 1000000n,
  origin: () => performance.timeOrigin, date: () => new Date(performance.timeOrigin).getTime() - performance.timeOrigin,
  event: () => new Event('x').timeStamp, custom: () => new CustomEvent('x').timeStamp, timeline: () => document.timeline.currentTime,
  std: () => os.now(), cpu: () => process.cpuUsage().user / 1000, resource: () => performance.now.call(performance), deno: () => Deno.core.opNow(),
};
const fine = [];
for (const [name, read] of Object.entries(clocks)) {
  for (let i = 0; i < 200; i++) {
    let t;
    try { t = read(); } catch (e) { break; }
    if (typeof t === 'bigint' ? t !== 0n : typeof t === 'number' ? t % 1 !== 0 : t !== undefined) { fine.push(name); break; }
  }
}
return fine;
