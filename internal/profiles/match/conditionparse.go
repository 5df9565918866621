package match

import (
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Read reads "when".
func Read(r *settings.Reader, n strictjson.Value) []Condition {
	return conditionReader{r}.conditions(n)
}

// ReadPointer reads a JSON Pointer at start to end of a file.
func ReadPointer(r *settings.Reader, text string, start, end int) []Step {
	return conditionReader{r}.pointer(text, start, end)
}

func (b conditionReader) conditions(n strictjson.Value) []Condition {
	if n.Kind() != strictjson.Object {
		b.Wrong(n, `write {"/argument": {"eq": "value"}}`, `"when" must be an object, this is %s`, n.Kind())
		return nil
	}
	if n.Len() == 0 {
		b.Wrong(n, "remove it: without \"when\" a rule holds for all arguments", `"when" must not be empty`)
	}
	b.Unique(n)
	var conditions []Condition
	for child := range settings.Children(n) {
		c := Condition{Pointer: child.Key(), Steps: b.pointer(child.Key(), child.KeyOffset(), child.KeyEnd())}
		c.Text = Shortened(child.Compact())
		if c.test = b.test(child, child.Key()); c.test != nil {
			conditions = append(conditions, c)
		}
	}
	return conditions
}

// pointer reads a JSON Pointer (RFC 6901). "*" stands for every element.
func (b conditionReader) pointer(text string, start, end int) []Step {
	if !strings.HasPrefix(text, "/") {
		hint := "the pointer of the argument x is \"/x\""
		if text != "" {
			hint = fmt.Sprintf("write \"/%s\"", strings.NewReplacer("$.", "", ".", "/").Replace(text))
		}
		b.Report(start, end, hint, "a JSON Pointer begins with /")
		return nil
	}
	var steps []Step
	for token := range strings.SplitSeq(text[1:], "/") {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(token), "~") {
			b.Report(start, end, `in a JSON Pointer ~ is written ~0, and / inside a key ~1`, "a ~ that is neither ~0 nor ~1")
		}
		key := strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		steps = append(steps, Step{Key: key, Folded: Fold(key), Any: token == "*", Index: arrayIndex(key)})
	}
	return steps
}
