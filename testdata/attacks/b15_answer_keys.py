# Keys of an answer that are names of attributes are data. Value.
r = await codemode.echo({'__class__': 1, '__dict__': {'x': 2}, 'get': 3, 'items': 4})
return [r['__class__'], r['__dict__']['x'], r.get('get'), len(r)]
