package hostfns

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestChangedNamesThePlaces(t *testing.T) {
	for _, test := range []struct {
		was, is string
		want    []string
	}{
		{`{"a":1}`, `{"a":1}`, nil},
		{`{"a":1,"b":[1,2]}`, `{ "b": [1, 2], "a": 1 }`, nil},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, []string{"/a"}},
		{`{"a":{"b":[{"c":1},{"c":2}]}}`, `{"a":{"b":[{"c":1},{"c":3}]}}`, []string{"/a/b/1/c"}},
		{`{"a":[1,2]}`, `{"a":[1,2,3]}`, []string{"/a"}},
		{`{"a":1}`, `{"b":1}`, []string{"/a", "/b"}},
		{`{"a":null}`, `{}`, []string{"/a"}},
		{`{"a/b":{"c~d":1}}`, `{"a/b":{"c~d":"1"}}`, []string{"/a~1b/c~0d"}},
		{`{"a":{"b":1}}`, `{"a":[1]}`, []string{"/a"}},
		{`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0}`, `{}`,
			[]string{"/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h", "/i", "/j"}},
	} {
		if got := changed(json.RawMessage(test.was), json.RawMessage(test.is)); !slices.Equal(got, test.want) {
			t.Errorf("%s to %s: got %q, want %q", test.was, test.is, got, test.want)
		}
	}
}
