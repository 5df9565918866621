package strictjson

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"
)

type celsius float64

type level int

func (l level) MarshalText() ([]byte, error) {
	return []byte(map[level]string{1: "low", 2: "high"}[l]), nil
}
func (l *level) UnmarshalText(text []byte) error {
	for to, name := range map[level]string{1: "low", 2: "high"} {
		if name == string(text) {
			*l = to
			return nil
		}
	}
	return errors.New("it is neither low nor high")
}

type order struct {
	ID    int64     `json:"id"`
	Items []item    `json:"items,omitempty"`
	At    time.Time `json:"at,omitzero"`
	How   *level    `json:"how,omitempty"`
	//lint:ignore U1000 encoding leaves it out
	notes string
}

type item struct {
	Name  string  `json:"name"`
	Price float64 `json:"price"`
}

func TestUnmarshal(t *testing.T) {
	t.Parallel()
	low := level(1)
	for _, row := range []struct {
		why, text string
		into      any
		want      any    // what it points to afterwards
		err       string // all of it
	}{
		{"an object", `{"id":9007199254740993,"items":[{"name":"a","price":1.5}]}`, &order{},
			order{ID: 9007199254740993, Items: []item{{"a", 1.5}}}, ""},
		{"members that the type does not have", `{"id":1,"more":true}`, &order{}, order{ID: 1}, ""},
		{"a word of a type with a method", `{"id":1,"how":"low"}`, &order{}, order{ID: 1, How: &low}, ""},
		{"another word", `{"id":1,"how":"middle"}`, &order{}, nil,
			`want a string that is a strictjson.level at /how, got "middle": it is neither low nor high`},
		{"a time", `{"id":1,"at":"2026-11-25T02:00:00Z"}`, &order{},
			order{ID: 1, At: time.Date(2026, 11, 25, 2, 0, 0, 0, time.UTC)}, ""},
		{"null for a pointer", `null`, new(*order), (*order)(nil), ""},
		{"null for a number", `null`, new(int), nil, "want an integer (int), got null"},
		{"null for a struct", `null`, &order{}, nil, "want an object (strictjson.order), got null"},
		{"null for a list", `null`, new([]int), []int(nil), ""},
		{"a string for a number", `"7"`, new(int), nil, `want an integer (int), got "7"`},
		{"a fraction for an integer", `{"id":1.5}`, &order{}, nil, "want an integer (int64) at /id, got 1.5"},
		{"a number that does not fit", `300`, new(uint8), nil, "want an integer (uint8), got 300: value out of range"},
		{"a value deep inside", `{"id":1,"items":[{"name":"a","price":1},{"name":7,"price":1}]}`, &order{}, nil,
			"want a string at /items/1/name, got 7"},
		{"an array for an object", `[1]`, &order{}, nil, "want an object (strictjson.order), got [1]"},
		{"an object for an array", `{}`, new([]int), nil, "want an array ([]int), got {}"},
		{"a long string", `"` + strings.Repeat("x", 100) + `"`, new(int), nil,
			"want an integer (int), got a string (\"" + strings.Repeat("x", 39) + "…)"},
		{"a large integer that a float holds", `9007199254740992`, new(float64), 9007199254740992.0, ""},
		{"a large power of ten that a float holds", `10000000000000000000000`, new(float64), 1e22, ""},
		{"an integer that a float would round", `[1,9007199254740993]`, new([]float64), nil,
			"want a number that a float64 holds (json.Number, int64 and *big.Int hold more) at /1, got 9007199254740993"},
		{"the same in a named type", `9007199254740993`, new(celsius), nil,
			"want a number that a float64 holds (json.Number, int64 and *big.Int hold more), got 9007199254740993"},
		{"the same in a float32", `1234567890123456789`, new(float32), nil,
			"want a number that a float32 holds (json.Number, int64 and *big.Int hold more), got 1234567890123456789"},
		{"the same in an interface", `{"a":{"b":[9007199254740993]}}`, new(any), nil,
			"want a number that a float64 holds (json.Number, int64 and *big.Int hold more) at /a/b/0, got 9007199254740993"},
		{"a long fraction", `0.12345678901234567890`, new(float64), 0.12345678901234567890, ""},
		{"an interface beside a long text", `{"a":1,"b":"12345678901234567"}`, new(any),
			map[string]any{"a": 1.0, "b": "12345678901234567"}, ""},
		{"a large integer as json.Number", `9007199254740993`, new(json.Number), json.Number("9007199254740993"), ""},
		{"a large integer as big.Int", `123456789012345678901234567890`, new(big.Int), nil, ""},
		{"raw JSON", `{"a": [1]}`, new(json.RawMessage), json.RawMessage(`{"a": [1]}`), ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			err := Unmarshal([]byte(row.text), row.into)
			if row.err != "" {
				if err == nil || err.Error() != row.err {
					t.Fatalf("the error is %v\nwant %s", err, row.err)
				}
				if _, ok := errors.AsType[*Mismatch](err); !ok {
					t.Errorf("the error is a %T", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := reflect.ValueOf(row.into).Elem().Interface(); row.want != nil && !reflect.DeepEqual(got, row.want) {
				t.Errorf("got %#v, want %#v", got, row.want)
			}
		})
	}
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	low := level(1)
	for _, row := range []struct {
		why       string
		value     any
		want, err string
	}{
		{"a nil slice is empty", struct {
			A []int          `json:"a"`
			B map[string]int `json:"b"`
			C *int           `json:"c"`
			D []byte         `json:"d"`
		}{}, `{"a":[],"b":{},"c":null,"d":""}`, ""},
		{"what is left out", order{ID: 1}, `{"id":1}`, ""},
		{"a type with a method", order{ID: 1, How: &low}, `{"id":1,"how":"low"}`, ""},
		{"all digits", []int64{math.MaxInt64}, `[9223372036854775807]`, ""},
		{"markup stays as it is", "<a href='x'>&\u2028", "\"<a href='x'>&\u2028\"", ""},
		{"no number", map[string]any{"a": []float64{1, math.NaN()}}, "", "/a/1: unsupported value: NaN"},
		{"raw text that is no JSON", map[string]json.RawMessage{"a": json.RawMessage(`{"b"`)}, "", "/a: "},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, err := Marshal(row.value)
			if row.err != "" && (err == nil || !strings.HasPrefix(err.Error(), row.err)) || row.err == "" && err != nil {
				t.Fatalf("the error is %v, want %s", err, row.err)
			}
			if row.err == "" && string(got) != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}
