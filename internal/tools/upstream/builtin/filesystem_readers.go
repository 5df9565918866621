package builtin

// readers are the tools that change nothing.
func (f *filesystem) readers() []Tool {
	return []Tool{
		tool("read_text_file", "The text of a file, all of it or its first or last lines.", `{
			"type": "object",
			"properties": {
				"path": `+pathProperty+`,
				"head": {"type": "integer", "minimum": 1, "description": "only the first lines, this many"},
				"tail": {"type": "integer", "minimum": 1, "description": "only the last lines, this many"}
			},
			"required": ["path"], "additionalProperties": false
		}`, `{
			"type": "object",
			"properties": {"content": {"type": "string"}},
			"required": ["content"], "additionalProperties": false
		}`, reads, using(f, (*operation).readText)),
		tool("read_media_file", "An image, a sound or another binary file, for the answer: programs get a handle to it.", `{
			"type": "object",
			"properties": {"path": `+pathProperty+`},
			"required": ["path"], "additionalProperties": false
		}`, "", reads, using(f, (*operation).readMedia)),
		tool("read_multiple_files", "The texts of several files at once. A file that cannot be read has an error in place of its content.", `{
			"type": "object",
			"properties": {"paths": {"type": "array", "items": `+pathProperty+`, "minItems": 1, "maxItems": 100}},
			"required": ["paths"], "additionalProperties": false
		}`, `{
			"type": "object",
			"properties": {"files": {"type": "array", "items": {
				"type": "object",
				"properties": {"path": {"type": "string"}, "content": {"type": "string"}, "error": {"type": "string"}},
				"required": ["path"], "additionalProperties": false
			}}},
			"required": ["files"], "additionalProperties": false
		}`, reads, using(f, (*operation).readMany)),
		tool("list_directory", "What is in a directory, sorted by name.", `{
			"type": "object",
			"properties": {"path": `+dirProperty+`},
			"additionalProperties": false
		}`, `{
			"type": "object",
			"properties": {
				"entries": {"type": "array", "items": {
					"type": "object",
					"properties": {
						"name": {"type": "string"},
						"type": {"enum": ["file", "directory", "symlink", "other"]},
						"size": {"type": "integer", "description": "bytes, of a file"}
					},
					"required": ["name", "type"], "additionalProperties": false
				}},
				"truncated": {"type": "boolean", "description": "there is more than was listed"}
			},
			"required": ["entries", "truncated"], "additionalProperties": false
		}`, reads, using(f, (*operation).list)),
		tool("directory_tree", "A directory with everything below it.", `{
			"type": "object",
			"properties": {
				"path": `+dirProperty+`,
				"excludePatterns": {"type": "array", "items": {"type": "string"}, "description": "patterns as in search_files; what matches is left out with all below it"}
			},
			"additionalProperties": false
		}`, `{
			"type": "object",
			"$defs": {"node": {
				"type": "object",
				"properties": {
					"name": {"type": "string"},
					"type": {"enum": ["file", "directory", "symlink", "other"]},
					"children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "description": "of a directory"}
				},
				"required": ["name", "type"], "additionalProperties": false
			}},
			"properties": {
				"tree": {"type": "array", "items": {"$ref": "#/$defs/node"}},
				"truncated": {"type": "boolean", "description": "there is more than was listed"}
			},
			"required": ["tree", "truncated"], "additionalProperties": false
		}`, reads, using(f, (*operation).tree)),
		tool("search_files", "The paths below a directory that match a pattern.", `{
			"type": "object",
			"properties": {
				"path": `+dirProperty+`,
				"pattern": {"type": "string", "description": "relative to path: * stands for any characters but /, ** for any directories, so **/*.md finds all of them and *.md only those in path itself"},
				"excludePatterns": {"type": "array", "items": {"type": "string"}, "description": "what matches is left out with all below it"}
			},
			"required": ["pattern"], "additionalProperties": false
		}`, `{
			"type": "object",
			"properties": {
				"matches": {"type": "array", "items": {"type": "string"}, "description": "paths, sorted, relative to the granted directory"},
				"truncated": {"type": "boolean", "description": "there is more than was listed"}
			},
			"required": ["matches", "truncated"], "additionalProperties": false
		}`, reads, using(f, (*operation).search)),
		tool("get_file_info", "What is known about a file or directory.", `{
			"type": "object",
			"properties": {"path": `+pathProperty+`},
			"required": ["path"], "additionalProperties": false
		}`, `{
			"type": "object",
			"properties": {
				"path": {"type": "string"},
				"type": {"enum": ["file", "directory", "symlink", "other"]},
				"size": {"type": "integer", "description": "bytes"},
				"modified": {"type": "string", "description": "RFC 3339, UTC"},
				"permissions": {"type": "string", "description": "such as -rw-r--r--"}
			},
			"required": ["path", "type", "size", "modified", "permissions"], "additionalProperties": false
		}`, reads, using(f, (*operation).info)),
	}
}
