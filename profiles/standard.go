package profiles

import (
	"encoding/json"
	"strings"
)

// Standard turns JSON as people write it, with comments and trailing commas,
// into standard JSON: what a tool needs that reads the files of other programs.
// file is the name to use in messages. The error is [Problems].
func Standard(file string, data []byte) (json.RawMessage, error) {
	src := strings.TrimPrefix(string(data), "\ufeff")
	r := &reader{file: file, t: tree{src: src}}
	if hint := encodingHint(data); hint != "" {
		r.report(0, 0, hint, "the file is not text in UTF-8")
		return nil, r.problems
	}
	t, bad := parseFile(src)
	if bad != nil {
		r.report(bad.at, bad.at+bad.length, bad.hint, "%s", bad.message)
		return nil, r.problems
	}
	return t.source(&t.nodes[0]), nil
}
