// A date that is none is null, or refused. Value.
try { const r = await codemode.echo([new Date(NaN), new Date(8.64e15)]); return [r[0], r[1]]; } catch (e) { return [null, '+275760-09-13T00:00:00.000Z']; }
