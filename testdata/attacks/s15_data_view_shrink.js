// DataView reads and writes whose offset or value changes the buffer.
// The engine must stay sound: value.
for (const t of ['Int8', 'Uint8', 'Int16', 'Uint16', 'Int32', 'Uint32', 'Float32', 'Float64', 'BigInt64', 'BigUint64']) {
  for (const how of [b => b.transfer(0), b => b.resize(8), b => b.resize(0), b => b.resize(4096)]) {
    for (const fixed of [undefined, 1000]) {
      const b = new ArrayBuffer(1024, { maxByteLength: 4096 }), d = new DataView(b, 8, fixed);
      const evil = x => ({ valueOf() { how(b); return x; } });
      try { d['get' + t](evil(900)); } catch (e) { }
      try { d['set' + t](900, evil(t.startsWith('Big') ? 1n : 1)); } catch (e) { }
      try { d['set' + t](evil(900), t.startsWith('Big') ? 1n : 1); } catch (e) { }
      try { d.byteLength + d.byteOffset; } catch (e) { }
    }
  }
}
return 'alive';
