package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/catalog"
)

// The words of one command line: how many, and how many bytes together. Linux takes 128 KiB in one word.
const (
	lineWords = 1000
	lineBytes = 128 << 10
)

// A filling puts arguments into the places of a command line. No shell reads the words, so that an argument stays in
// its place whatever is in it. Two things could still give it another meaning: a program takes a word that begins with
// - for an option, and many read a file for a word that begins with @.
type filling struct {
	line   *servers.CommandLine
	args   strictjson.Value
	words  []string
	length int
	behind bool // a word --, behind which nothing is an option
}

// fill returns the words of a line, and what the program reads.
func fill(ctx context.Context, line *servers.CommandLine, args json.RawMessage) (words []string, stdin string,
	err error) {
	f := filling{line: line}
	if f.args, err = strictjson.Parse(args, strictjson.Options{AllowHugeNumbers: true}); err != nil {
		return nil, "", err
	}
	all := maps.Clone(line.Defaults)
	if err := json.Unmarshal(args, &all); err != nil {
		return nil, "", errors.New("the arguments are no object")
	}
	args = marshal(all)
	if err := catalog.Fits(ctx, line.Input, args); err != nil {
		return nil, "", err
	}
	f.args, _ = strictjson.Parse(args, strictjson.Options{AllowHugeNumbers: true}) // as before
	for _, e := range line.Args {
		if err := f.element(e); err != nil {
			return nil, "", err
		}
	}
	if f.complete(line.Stdin) {
		for _, p := range line.Stdin {
			stdin += p.Text + textOfArgument(f.value(p.Name))
		}
	}
	return f.words, stdin, nil
}

func (f *filling) value(name string) strictjson.Value {
	v, _ := f.args.Member(name)
	return v
}

// complete reports whether all arguments of a word are there.
func (f *filling) complete(w servers.Word) bool {
	return !slices.ContainsFunc(w, func(p servers.Piece) bool {
		return p.Name != "" && (f.value(p.Name).Kind() == strictjson.Missing || p.Spread && f.value(p.Name).Len() == 0)
	})
}

func (f *filling) element(e servers.Element) error {
	if e.If != "" && f.value(e.If).Kind() != strictjson.True ||
		slices.ContainsFunc(e.Words, func(w servers.Word) bool { return !f.complete(w) }) {
		return nil
	}
	for _, w := range e.Words {
		spread := slices.IndexFunc(w, func(p servers.Piece) bool { return p.Spread })
		if spread < 0 {
			if err := f.word(w, strictjson.Value{}); err != nil {
				return err
			}
			continue
		}
		for _, one := range f.value(w[spread].Name).Elements() {
			if err := f.word(w, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// word adds one word; one is the element of a list that is spread.
func (f *filling) word(w servers.Word, one strictjson.Value) error {
	word := ""
	for _, p := range w {
		text := p.Text
		if p.Name != "" {
			if !p.Spread {
				one = f.value(p.Name)
			}
			text = textOfArgument(one)
		}
		if p.Name != "" && strings.HasPrefix(text, "@") && !f.line.AllowAt[p.Name] &&
			(word == "" || word[0] == '-' || strings.HasSuffix(word, "=")) {
			return fmt.Errorf("the argument %q begins with @, for which many commands read a file; the configuration can "+
				`say "allowAt": true`, p.Name)
		}
		if word += text; p.Name != "" && w[0].Name != "" && strings.HasPrefix(word, "-") && !f.behind {
			return fmt.Errorf("the argument %q begins with -, which the command would take for an option; who trusts it can "+
				"put it behind -- in the configuration", w[0].Name)
		}
	}
	if strings.Contains(word, "\x00") || !utf8.ValidString(word) {
		return errors.New("an argument has a NUL byte or is not UTF-8, and no word of a command can have that")
	}
	f.words = append(f.words, word)
	f.length += len(word) + 1
	if f.length > lineBytes || len(f.words) > lineWords {
		return fmt.Errorf("the command line is longer than %d words or %d bytes", lineWords, lineBytes)
	}
	if _, whole := w.Literal(); whole && word == "--" {
		f.behind = true
	}
	return nil
}

// textOfArgument is the text of an argument, a number without an exponent.
func textOfArgument(v strictjson.Value) string {
	switch v.Kind() {
	case strictjson.String:
		return v.Text()
	case strictjson.Number:
		if n, err := strconv.ParseFloat(v.Source(), 64); err == nil && strings.ContainsAny(v.Source(), ".eE") {
			return strconv.FormatFloat(n, 'f', -1, 64)
		}
	}
	return v.Source()
}
