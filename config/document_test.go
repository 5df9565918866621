package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheDocumentHasEveryKey: each key of the schema stands in docs/configuration.md, in words.
func TestTheDocumentHasEveryKey(t *testing.T) {
	document, err := os.ReadFile("../docs/configuration.md")
	must(t, err)
	for _, path := range schemaPaths(t) {
		key := filepath.Base(path)
		if text := string(document); !strings.Contains(text, "`"+key+"`") && !strings.Contains(text, "."+key+"`") {
			t.Errorf("docs/configuration.md does not say what %s is", path)
		}
	}
}
