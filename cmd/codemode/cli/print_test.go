package cli

import (
	"bytes"
	"encoding/json"
	"testing"
)

// Lines of JSON on a terminal mean the same, and every character in them can be seen.
func TestJSONOnATerminal(t *testing.T) {
	const text = "a\u202eb\u009b31m\U000E0041\u2028\u00adc \x1b[2J\n\ue000"
	line, err := json.Marshal(map[string]string{text: text})
	if err != nil {
		t.Fatal(err)
	}
	line = append(line, '\n')
	var b bytes.Buffer
	w := &escapingWriter{to: &b}
	for _, part := range [][]byte{line[:len(line)/2], line[len(line)/2:]} {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range b.Bytes() {
		if c < ' ' && c != '\n' || c > '~' {
			t.Errorf("a terminal gets %q", b.String())
			break
		}
	}
	var back map[string]string
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back[text] != text {
		t.Errorf("it means %q, %v", back, err)
	}
}
