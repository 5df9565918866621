package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/visible"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// An unreadable is the error of a request that the server answered with something that is no answer to it. Only that
// request fails.
type unreadable struct{ text string }

func (e *unreadable) Error() string { return e.text }

// codeUnreadable is the code of the error that the SDK gets for an unreadable answer. What counts is the exchange,
// which has the error itself.
const codeUnreadable = 2

const (
	wordsMax  = 200      // characters of a server's words in an error
	wordsRead = 16 << 10 // bytes to search for secrets; what is shown is at their beginning
)

// words shows the beginning of what a server sent as the answer to a call with those arguments, without its secrets and
// with its control characters visible.
func words(b []byte, masked masking, args json.RawMessage) string {
	text := strings.ToValidUTF8(string(b[:min(len(b), wordsRead)]), "\uFFFD")
	if masked != nil {
		text = masked(text, args)
	}
	return visible.Short(strings.TrimSpace(text), wordsMax)
}

// sameID reports whether the id of an answer, as its server wrote it, is that of a request. Some servers make text of
// our numbers.
func sameID(raw json.RawMessage, id string) bool {
	text := strings.Trim(string(bytes.TrimSpace(raw)), `"`)
	if text == id {
		return id != ""
	}
	f, err := strconv.ParseFloat(text, 64)
	return err == nil && id != "" && strconv.FormatFloat(f, 'f', -1, 64) == id
}

// logKeys are keys of log lines in JSON. A log line may have an id and an error, and is no answer.
var logKeys = []string{"level", "severity", "msg", "time", "timestamp", "ts", "logger", "method"}

// answerID returns the id in a text that seems to be the answer to a request and is no message; "" if there is none.
func answerID(text []byte) string {
	keys := looseKeys(text)
	has := func(key string) bool { _, ok := keys[key]; return ok }
	isLog := slices.ContainsFunc(logKeys, has)
	if has("method") || !has("jsonrpc") && (isLog || !has("result") && !has("error")) {
		return ""
	}
	return strings.Trim(keys["id"], `"`)
}

// looseMax is how much of a text looseKeys reads.
const looseMax = 8 << 20

// looseKeys returns the keys of an object, each with the beginning of its value. The text may be cut off, and its
// values may be no JSON, such as NaN.
func looseKeys(b []byte) map[string]string {
	b = bytes.TrimPrefix(bytes.TrimSpace(b), []byte("\xef\xbb\xbf"))
	b = b[:min(len(b), looseMax)]
	if len(b) == 0 || b[0] != '{' {
		return nil
	}
	keys := map[string]string{}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return keys
			}
		case '"':
			end := strictjson.EndOfString(b, i)
			key := b[i:min(end, len(b))]
			i = end - 1
			rest := bytes.TrimLeft(b[min(end, len(b)):], " \t")
			if depth == 1 && len(rest) > 0 && rest[0] == ':' && len(key) < 40 && len(keys) < 100 {
				value := bytes.TrimSpace(rest[1:min(len(rest), 80)])
				if cut := bytes.IndexAny(value, ",}]\n"); cut >= 0 {
					value = value[:cut]
				}
				keys[strings.Trim(string(key), `"`)] = string(bytes.TrimSpace(value))
			}
		}
	}
	return keys
}

// unreadableAnswer is the message that ends a request in place of an unreadable answer.
func unreadableAnswer(id string, e *unreadable) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, codeUnreadable,
		quote(e.text))
}
