package reference

import (
	"testing"

	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// TestReference: the pages are what the code gives. make reference writes them anew.
func TestReference(t *testing.T) {
	for page, write := range map[string]func() (string, error){
		"configuration.md": Configuration, "../../config/schema.json": Schema,
		"globals.md": Globals,
		"errors.md":  Errors,
		"record.md":  Record,
		"../site/static/client-metadata.json": func() (string, error) {
			text, err := login.ClientMetadata("https://codemode-project.github.io/codemode/client-metadata.json")
			return string(text), err
		},
	} {
		text, err := write()
		if err == nil {
			err = Check(page, text)
		}
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
	}
}
