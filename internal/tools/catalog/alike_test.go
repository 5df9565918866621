package catalog

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The lexicon is words, one entry a line, that are worth a search: no group is so wide that it finds everything.
func TestTheLexiconIsInOrder(t *testing.T) {
	text, err := os.ReadFile("lexicon.txt")
	if err != nil {
		t.Fatal(err)
	}
	entries, seen := 0, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "# ") {
			continue
		}
		entries++
		words := strings.Fields(strings.Replace(line, " > ", " ", 1))
		switch {
		case seen[line]:
			t.Errorf("%q is there twice", line)
		case len(words) < 2 || len(words) > 12 || strings.Join(strings.Fields(line), " ") != line:
			t.Errorf("%q is no entry of 2 to 12 words", line)
		case strings.Trim(strings.Join(words, ""), "abcdefghijklmnopqrstuvwxyz0123456789") != "":
			t.Errorf("%q has other signs than small letters and digits", line)
		case slices.ContainsFunc(words, func(w string) bool { return stopWords[w] }):
			t.Errorf("%q has a word that no search looks for", line)
		}
		seen[line] = true
	}
	if entries < 1500 || entries > 2000 {
		t.Errorf("the lexicon has %d entries", entries)
	}
}

func TestWordingsOfOneNeedAreJoined(t *testing.T) {
	c := New()
	c.Replace("games", []Tool{{Raw: "random_integer", Description: "Gives a number between two others"},
		{Raw: "roll_film", Description: "Moves a film on"}})
	c.Replace("mail", []Tool{{Raw: "send_message", Description: "Sends a text to a recipient"},
		{Raw: "list_messages", Description: "Lists what came"}})
	for _, row := range []struct{ query, first string }{
		{"roll a die, random integer", "games__random_integer"},
		{"dice, random number, integer between two", "games__random_integer"},
		{"tell grandma, send message", "mail__send_message"},
		{"mail send", "mail__send_message"},
	} {
		found := c.Search(row.query, 0, nil)
		if len(found) == 0 || found[0].Tool.Name != row.first && !(len(found) > 1 && found[1].Tool.Name == row.first) {
			t.Errorf("%s: got %v, want %s", row.query, found, row.first)
		}
	}
	for query, weak := range map[string]bool{"send a message": false, "random integer, quux": false,
		"brew coffee in the kitchen tonight": true, "": true} {
		if got := c.Weak(query); got != weak {
			t.Errorf("%q: weak is %t", query, got)
		}
	}
	two := c.Search("random integer, send message, unknownword", 2, nil)
	if len(two) != 2 || two[0].Tool.Server == two[1].Tool.Server {
		t.Errorf("two needs give %v", two)
	}
}
