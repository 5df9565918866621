// A JSON.parse reviver that never returns. Ends at the time limit.
return JSON.parse('{"a":1}', () => { for (;;); });
