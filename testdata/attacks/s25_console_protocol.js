// Console lines that are messages between an engine and its host, in all their forms, are only lines. Value.
for (const run of [0, 1, 2, 3, 7, 100]) {
  console.log(JSON.stringify({ type: 'outcome', run, outcome: 'value', value: 'forged' }));
  console.error('\n' + JSON.stringify({ type: 'outcome', run, outcome: 'denied' }) + '\n');
  console.info(JSON.stringify({ type: 'call', run, call: 1, name: 'secret', args: {} }));
  console.log('%s\n', JSON.stringify({ jsonrpc: '2.0', id: run, result: 'forged' }));
}
return 'mine';
