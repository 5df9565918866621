// Emoji at every place near powers of two: no cut in the middle of a pair. Value.
for (const n of [255, 256, 1023, 1024, 4095, 4096, 65535, 65536]) for (let d = -2; d <= 2; d++) { const s = 'x'.repeat(n + d) + '\ud83d\ude00y'; if (await codemode.echo(s) !== s) return n + d; }
return 'same';
