# __import__ with a name put together at run time. Nothing loads: error.
return str(__import__('o' + 's').environ)
