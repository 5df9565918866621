package config

import _ "embed"

//go:embed schema.json
var schema []byte

// Schema is a JSON Schema (2020-12) of the configuration file, with which editors complete
// and check it while it is written. It knows the form and not the meaning: what it refuses
// [Parse] refuses, but Parse refuses more.
func Schema() []byte { return append([]byte(nil), schema...) }
