package config

import _ "embed"

//go:embed schema.json
var schema []byte

// Schema is a JSON Schema (2020-12) of the configuration file. Editors use it for completion and checks. It knows the
// form and not the meaning: [Parse] refuses everything that it refuses, and more.
func Schema() []byte { return append([]byte(nil), schema...) }
