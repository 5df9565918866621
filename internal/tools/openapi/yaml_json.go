package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// numberMax is how many characters a number has at most; what is longer is a text.
const numberMax = 400

var errRepeats = errors.New("its aliases repeat too much")

// decodeYAML decodes the first document of a text.
func decodeYAML(text []byte, to *yaml.Node) (err error) {
	defer func() { // the parser has panicked on texts that nobody would write
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser fails: %.200v", p)
		}
	}()
	return yaml.NewDecoder(bytes.NewReader(text)).Decode(to)
}

// yamlToJSON returns the first document of a text as JSON. left is how long that may be; it becomes less.
func yamlToJSON(text []byte, left *int) ([]byte, error) {
	var doc yaml.Node
	if err := decodeYAML(text, &doc); err != nil && err != io.EOF {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return []byte("null"), nil
	}
	w := &yamlWriter{left: left}
	err := w.value(doc.Content[0], 0)
	return w.out, err
}

// A yamlWriter writes nodes as JSON.
type yamlWriter struct {
	out  []byte
	left *int
}

// spend takes a number of bytes from what is left.
func (w *yamlWriter) spend(bytes int) error {
	if *w.left -= bytes; *w.left < 0 {
		return errRepeats
	}
	return nil
}

func (w *yamlWriter) value(n *yaml.Node, depth int) error {
	if depth > depthMax {
		return fmt.Errorf("line %d is nested more than %d deep", n.Line, depthMax)
	}
	if err := w.spend(2 + len(n.Value)); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.value(n.Alias, depth+1)
	case yaml.MappingNode:
		w.out = append(w.out, '{')
		if err := w.members(n, map[string]bool{}, false, depth); err != nil {
			return err
		}
		w.out = append(w.out, '}')
		return nil
	case yaml.SequenceNode:
		w.out = append(w.out, '[')
		for i, e := range n.Content {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			if err := w.value(e, depth+1); err != nil {
				return err
			}
		}
		w.out = append(w.out, ']')
		return nil
	}
	w.out = appendScalar(w.out, n)
	return nil
}

// members writes the members of a mapping, and then those of the mappings that it merges, which are weaker: a merged
// member that is known is left out.
func (w *yamlWriter) members(n *yaml.Node, known map[string]bool, merged bool, depth int) error {
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		if key.Kind != yaml.ScalarNode || merged && known[key.Value] {
			continue
		}
		if len(known) > 0 {
			w.out = append(w.out, ',')
		}
		known[key.Value] = true
		w.out = append(strictjson.AppendString(w.out, validText(key.Value)), ':')
		if err := w.spend(4 + len(key.Value)); err != nil {
			return err
		}
		if err := w.value(value, depth+1); err != nil {
			return err
		}
	}
	for _, m := range merges {
		if err := w.merge(m, known, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// merge writes what a merge key (<<) leads to: a mapping, or a list of them.
func (w *yamlWriter) merge(n *yaml.Node, known map[string]bool, depth int) error {
	if depth > depthMax {
		return fmt.Errorf("line %d is nested more than %d deep", n.Line, depthMax)
	}
	if err := w.spend(16 + len(n.Content)); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.merge(n.Alias, known, depth+1)
	case yaml.SequenceNode:
		for _, e := range n.Content {
			if err := w.merge(e, known, depth+1); err != nil {
				return err
			}
		}
	case yaml.MappingNode:
		return w.members(n, known, true, depth)
	}
	return nil
}

func validText(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// appendScalar appends a scalar as JSON. Only what YAML 1.2 takes for a number, true, false or null is one.
func appendScalar(out []byte, n *yaml.Node) []byte {
	tag := n.ShortTag()
	if len(n.Value) > numberMax {
		tag = ""
	}
	switch tag {
	case "!!null":
		return append(out, "null"...)
	case "!!bool":
		if text := strings.ToLower(n.Value); text == "true" || text == "false" {
			return append(out, text...)
		}
	case "!!int":
		if json.Valid([]byte(n.Value)) {
			return append(out, n.Value...)
		}
		if i, ok := new(big.Int).SetString(strings.TrimPrefix(n.Value, "+"), 0); ok {
			return i.Append(out, 10)
		}
	case "!!float":
		if json.Valid([]byte(n.Value)) {
			return append(out, n.Value...)
		}
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return strconv.AppendFloat(out, f, 'g', -1, 64)
		}
	}
	return strictjson.AppendString(out, validText(n.Value))
}

// A fault is an entry below paths, or a component, that is no YAML. It costs that entry.
type fault struct {
	section, key string // section is the top-level key above it
	why          string
}

// roomFor is how long the JSON of a YAML text may be: what aliases repeat is bounded.
func roomFor(size int64) int { return 4*int(size) + 1<<20 }

const (
	wholeYAML = 8 << 20 // bytes of YAML that may be parsed at once; a longer text is cut at the indentation
	shortYAML = 1 << 20 // a longer text is parsed at once only if it cannot be cut: that takes 20 times its memory
	faultsMax = 1000
)
