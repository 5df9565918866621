package strictjson

import (
	"cmp"
	stdencoding "encoding"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// The options of Marshal and Unmarshal. Nothing changes them.
var (
	asV1     = json.JoinOptions(jsonv1.DefaultOptionsV1(), jsonv1.ReportErrorsWithLegacySemantics(false))
	encoding = json.JoinOptions(asV1, json.FormatNilSliceAsNull(false), json.FormatNilMapAsNull(false),
		jsonv1.CallMethodsWithLegacySemantics(false), jsontext.EscapeForHTML(false), jsontext.EscapeForJS(false),
		json.WithMarshalers(json.MarshalToFunc(writeNumber)))
	decoding = json.JoinOptions(asV1, json.WithUnmarshalers(json.UnmarshalFromFunc(readNumber)))
	exactly  = json.JoinOptions(asV1, json.WithUnmarshalers(
		json.JoinUnmarshalers(json.UnmarshalFromFunc(readNumber), json.UnmarshalFromFunc(readFloat))))
)

// Marshal returns the JSON of a value.
func Marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v, encoding)
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok && wrong.Err != nil {
		err = wrong.Err
		if wrong.JSONPointer != "" {
			err = fmt.Errorf("%s: %w", wrong.JSONPointer, err)
		}
	}
	return b, err
}

func writeNumber(e *jsontext.Encoder, n stdjson.Number) error {
	if k := jsontext.Value(n).Kind(); n != "" && k != '0' {
		return fmt.Errorf("%q is no number", n)
	}
	return e.WriteValue(jsontext.Value(cmp.Or(n, "0")))
}

func readNumber(d *jsontext.Decoder, n *stdjson.Number) error {
	if d.PeekKind() != '0' {
		return json.SkipFunc
	}
	raw, err := d.ReadValue()
	*n = stdjson.Number(raw)
	return err
}

// A Mismatch says that JSON does not fit a Go type.
type Mismatch struct {
	Pointer string // JSON Pointer to the place; "" is the whole
	Want    string // in words
	Got     string // in words
	Why     string // what the reader or a method of the type says; "" for nothing
}

func (m *Mismatch) Error() string {
	where := ""
	if m.Pointer != "" {
		where = " at " + m.Pointer
	}
	text := fmt.Sprintf("want %s%s, got %s", m.Want, where, m.Got)
	if m.Why != "" {
		text += ": " + m.Why
	}
	return text
}

// Unmarshal stores the value of JSON in v, a pointer. If it does not fit, the error is a [*Mismatch], and v may be
// filled in part. null is no value of a number, a string, a bool, an array or a struct at the top; below it leaves a
// field as it is.
func Unmarshal(data []byte, v any) error {
	into := reflect.TypeOf(v).Elem()
	if jsontext.Value(data).Kind() == 'n' && !takesNull(into) {
		return &Mismatch{Want: wordsFor(into), Got: "null"}
	}
	options := decoding
	if longNumber(data) {
		options = exactly
	}
	err := json.Unmarshal(data, v, options)
	wrong, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return err
	}
	m := &Mismatch{Pointer: string(wrong.JSONPointer), Want: "another value", Got: gotWords(data, wrong)}
	if wrong.GoType != nil {
		m.Want = wordsFor(wrong.GoType)
	}
	if rounded, ok := errors.AsType[*roundedError](wrong.Err); ok {
		m.Want = "a number that " + rounded.into + " holds (json.Number, int64 and *big.Int hold more)"
		m.Got = rounded.number
	} else if wrong.Err != nil && !errors.Is(wrong.Err, strconv.ErrSyntax) { // a fraction is no integer
		m.Why = wrong.Err.Error()
	}
	return m
}

// takesNull reports whether null is a value of the type.
func takesNull(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
		return true
	}
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// longNumber reports whether the text has so many digits in a row that a float64 may not hold them.
func longNumber(data []byte) bool {
	const exact = 15 // digits that a float64 always holds
	digits := 0
	for _, c := range data {
		if c < '0' || c > '9' {
			digits = 0
		} else if digits++; digits > exact {
			return true
		}
	}
	return false
}

// A roundedError says that a number would have been rounded.
type roundedError struct{ number, into string }

func (e *roundedError) Error() string { return e.number + " would be rounded" }

// readFloat decodes numbers into floats, and into interfaces, which take float64. It refuses an integer that would lose
// digits, and leaves all else to the package.
func readFloat(d *jsontext.Decoder, v any) error {
	to := reflect.ValueOf(v)
	if to.Kind() != reflect.Pointer || d.PeekKind() != '0' {
		return json.SkipFunc
	}
	to = to.Elem()
	bits := 64
	switch to.Kind() {
	case reflect.Float64:
	case reflect.Float32:
		bits = 32
	case reflect.Interface:
		if to.NumMethod() > 0 || !to.IsNil() {
			return json.SkipFunc
		}
	default:
		return json.SkipFunc
	}
	if _, own := v.(json.Unmarshaler); own {
		return json.SkipFunc
	}
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	f, err := strconv.ParseFloat(string(raw), bits)
	if err != nil {
		return err
	}
	if whole, ok := new(big.Int).SetString(string(raw), 10); ok {
		if got, _ := big.NewFloat(f).Int(nil); got.Cmp(whole) != 0 {
			return &roundedError{number: string(raw), into: fmt.Sprintf("a float%d", bits)}
		}
	}
	if to.Kind() == reflect.Interface {
		to.Set(reflect.ValueOf(f))
	} else {
		to.SetFloat(f)
	}
	return nil
}

// wordsFor describes the JSON that a Go type takes.
func wordsFor(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[stdencoding.TextUnmarshaler]()) {
		return fmt.Sprintf("a string that is a %v", t)
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return fmt.Sprintf("an integer (%v)", t)
	case reflect.Float32, reflect.Float64:
		return fmt.Sprintf("a number (%v)", t)
	case reflect.String:
		return "a string"
	case reflect.Interface:
		return fmt.Sprintf("a value (%v)", t)
	case reflect.Slice, reflect.Array:
		return fmt.Sprintf("an array (%v)", t)
	}
	return fmt.Sprintf("an object (%v)", t)
}

// longestShown is the length up to which a text or number is shown.
const longestShown = 60

// gotWords describes the JSON at the place of an error.
func gotWords(data []byte, wrong *json.SemanticError) string {
	root, err := Parse(data, Options{MaxDepth: 1000})
	if err != nil {
		return err.Error()
	}
	at, ok := root.At(string(wrong.JSONPointer))
	if !ok {
		return cmp.Or(wrong.JSONKind.String(), "another value")
	}
	if text := at.Compact(); len(text) <= longestShown {
		return text
	}
	return fmt.Sprintf("%s (%.40s…)", at.Kind(), at.Compact())
}
