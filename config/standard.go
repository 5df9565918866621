package config

import (
	"encoding/json"

	"github.com/codemode-project/codemode/internal/settings"
)

// Standard converts JSON with comments and trailing commas, as people write it, into standard JSON, for tools that read
// the files of other programs. file is the name to use in messages. The error is [Problems].
func Standard(file string, data []byte) (json.RawMessage, error) {
	r, problems := Read(file, data)
	if problems != nil {
		return nil, problems
	}
	return settings.Source(r.Root), nil
}
