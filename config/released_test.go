package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReleasedConfigurations reads the configurations of every released version, and of the next one: none has a
// problem today. testdata/released/README.md says how they are made.
func TestReleasedConfigurations(t *testing.T) {
	files, err := filepath.Glob("../testdata/released/*/*.json")
	must(t, err)
	read := 0
	for _, path := range files {
		if filepath.Base(path) == "is.json" {
			continue
		}
		text, err := os.ReadFile(path)
		must(t, err)
		if _, err := Parse(path, text); err != nil {
			t.Errorf("a released configuration is not accepted:\n%v", err)
		}
		read++
	}
	if read < 2 {
		t.Errorf("there are %d configurations, want codemode.json and keys.json of the next version at least", read)
	}
}

// elsewhere are keys that testdata/released/next/keys.json does not have: what editors and other programs read, and
// mcpServers under its other name.
var elsewhere = []string{"$schema", "inputs", "servers"}

// TestTheNextConfigurationHasMostKeys: a key that is added to the schema is added to keys.json.
func TestTheNextConfigurationHasMostKeys(t *testing.T) {
	type object struct{ Properties map[string]json.RawMessage }
	var s struct {
		Defs map[string]object `json:"$defs"`
	}
	must(t, json.Unmarshal(Schema(), &s))
	text, err := os.ReadFile("../testdata/released/next/keys.json")
	must(t, err)
	var evaluation object
	must(t, json.Unmarshal(s.Defs["configuration"].Properties["evaluation"], &evaluation))
	n := 0
	for _, of := range []object{s.Defs["configuration"], evaluation, s.Defs["profile"], s.Defs["limits"]} {
		for key := range of.Properties {
			if n++; !strings.Contains(string(text), fmt.Sprintf("%q: ", key)) && !slices.Contains(elsewhere, key) {
				t.Errorf("testdata/released/next/keys.json has no %q", key)
			}
		}
	}
	if n < 40 {
		t.Errorf("the schema has %d keys, want at least 40", n)
	}
}
