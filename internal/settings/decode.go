package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Spec is a key of the configuration: a field of a struct. Its tag has the name and what the value has to be. Its
// comment is the description in the JSON Schema and in the reference, which make reference writes:
//
//	// How long a result is kept, at most 720h. 24h if left out.
//	Keep time.Duration `key:"keep" usual:"24h" max:"720h"`
//
// The type of the field says what the value is: true or false, a text, a number, a [time.Duration], an object for a
// struct, a list for a slice, or what its [Readable] reads. In these tags ' stands for ":
//
//	key    its name; * is no key: the field gets the name under which an object has the struct as a member
//	usual  the value if the key is left out
//	min    the least number, bytes, elements or members; a duration with 0 may be nothing
//	max    the most of them
//	words  the only texts that it may be
//	form   what a text has to be: one of [Forms]; a number of bytes is a size or a capacity
//	each   what an element is called in messages; a member, with %q for its name
//	single one element needs no list around it
//	by     what the name of a member has to be: one of [Forms]
//	need   the key has to be there; this is the hint if it is not
//	like   the hint if the value is of another kind; of a duration, the rest of the hint if it is too long
//	firm   the key has no effect in a project's file that nobody trusts
//	alone  text, true or false: this stands for an object with the key, or for the field, which need not have a key
//	schema its JSON Schema without the description, where #NAME stands for #/$defs/NAME
type Spec struct {
	Name string
	Type reflect.Type
	Path []int // of the field, as reflect has it

	In  reflect.Type // the struct that declares it
	Go  string       // its name there
	min int64        // of numbers, -1 if there is none
	max int64

	tags  map[string]string
	words []string
}

var tagNames = strings.Fields("usual min max words form each single by need like firm alone schema")

// A Readable reads its own value. what is the key in messages.
type Readable interface {
	ReadKey(r *Reader, n strictjson.Value, what string, s *Spec)
}

// A Checked struct has rules across its keys, or a list across its elements. Check reports what breaks one of them in
// n, which is no object where something stands for one.
type Checked interface {
	Check(r *Reader, n strictjson.Value, what string)
}

var specs sync.Map // of reflect.Type to []*Spec

// Specs returns the keys of a struct and of the structs that are embedded in it, in their order.
func Specs(of reflect.Type) []*Spec {
	if known, ok := specs.Load(of); ok {
		return known.([]*Spec)
	}
	var all []*Spec
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Anonymous && field.Tag == "" && field.Type.Kind() == reflect.Struct {
			for _, s := range Specs(field.Type) {
				below := *s
				below.Path = append([]int{i}, s.Path...)
				all = append(all, &below)
			}
			continue
		}
		name, ok := field.Tag.Lookup("key")
		if _, alone := field.Tag.Lookup("alone"); ok || alone {
			s := &Spec{Name: name, Type: field.Type, Path: []int{i}, In: of, Go: field.Name, tags: map[string]string{}}
			for _, tag := range tagNames {
				if text, ok := field.Tag.Lookup(tag); ok {
					s.tags[tag] = strings.ReplaceAll(text, "'", `"`)
				}
			}
			s.words = strings.Fields(s.tags["words"])
			s.min, s.max = s.Bound("min", -1), s.Bound("max", -1)
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *Spec) int { // those that are no keys are last
		return cmp.Compare(min(len(b.key()), 1), min(len(a.key()), 1))
	})
	specs.Store(of, all)
	return all
}

// key is its name, "" if it is no key.
func (s *Spec) key() string { return strings.Trim(s.Name, "*") }

// Element is the key for the elements of its list: its form and its words are theirs.
func (s *Spec) Element() *Spec {
	one := *s
	one.tags = map[string]string{"form": s.tags["form"]}
	return &one
}

// Text is one of the tags.
func (s *Spec) Text(tag string) string { return s.tags[tag] }

// Has reports whether the key has a tag.
func (s *Spec) Has(tag string) bool {
	_, ok := s.tags[tag]
	return ok
}

// Words are the texts that it may be; nil is any.
func (s *Spec) Words() []string { return s.words }

// Bound reads a tag as a number: of nanoseconds, of bytes, or of anything. It is otherwise where there is no such tag.
func (s *Spec) Bound(tag string, otherwise int64) int64 {
	text, ok := s.tags[tag]
	if !ok {
		return otherwise
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	if i, ok := bytesOf(text, 1<<62); ok {
		return i
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic("the tag " + tag + " of " + s.Name + " is " + text)
	}
	return int64(d)
}

// Check returns the check of its form; what is its name in messages.
func (s *Spec) Check(what string) func(text string) (message, hint string) {
	form := Forms[s.Text("form")]
	return func(text string) (message, hint string) { return form.Check(what, text) }
}

var usuals sync.Map // of reflect.Type to its struct, as it is if no key is set

// OrUsual returns what x points to. If x is nil, its keys have the values that they have if they are left out; callers
// must not change what these refer to.
func OrUsual[T any](x *T) T {
	if x != nil {
		return *x
	}
	of := reflect.TypeFor[T]()
	known, ok := usuals.Load(of)
	if !ok {
		fresh := new(T)
		usual(reflect.ValueOf(fresh).Elem())
		known, _ = usuals.LoadOrStore(of, *fresh)
	}
	return known.(T)
}

// usual gives the keys of a struct the values that they have if they are left out.
func usual(v reflect.Value) {
	for _, s := range Specs(v.Type()) {
		text, ok := s.tags["usual"]
		field := v.FieldByIndex(s.Path)
		if !ok {
			if field.Kind() == reflect.Struct {
				usual(field)
			}
			continue
		}
		switch field.Kind() {
		case reflect.String:
			field.SetString(text)
		case reflect.Slice:
			field.Set(reflect.ValueOf(strings.Fields(text)))
		default:
			field.SetInt(s.Bound("usual", 0))
		}
	}
}

// Decode reads an object into the struct that to points to. Its members are the keys of the struct, and what is its
// name in messages. It reports whether it is an object.
func (r *Reader) Decode(n strictjson.Value, what string, to any) bool {
	return r.decode(n, what, "", reflect.ValueOf(to).Elem())
}

// ReadKey reads the value n of a key into the field v.
func (r *Reader) ReadKey(n strictjson.Value, s *Spec, v reflect.Value) {
	r.value(n, s, strconv.Quote(s.Name), v)
}

func (r *Reader) decode(n strictjson.Value, what, like string, v reflect.Value) bool {
	usual(v)
	all := Specs(v.Type())
	if n.Kind() != strictjson.Object {
		r.alone(n, what, like, v)
		return false
	}
	keys := all
	for len(keys) > 0 && keys[len(keys)-1].key() == "" {
		if s := keys[len(keys)-1]; s.Name == "*" {
			v.FieldByIndex(s.Path).SetString(n.Key())
		}
		keys = keys[:len(keys)-1]
	}
	r.object(n, what, len(keys), func(i int) string { return keys[i].Name }, func(i int, n strictjson.Value) {
		s, to := keys[i], v.FieldByIndex(keys[i].Path)
		if s.Has("firm") && r.Stranger(n) {
			to = reflect.New(s.Type).Elem()
		}
		r.ReadKey(n, s, to)
	})
	for _, s := range keys {
		if s.Has("need") && Member(n, s.Name).Kind() == strictjson.Missing {
			r.Wrong(n, cmp.Or(s.Text("need"), fmt.Sprintf("add %q", s.Name)), "%s has no %q", what, s.Name)
		}
	}
	if x, ok := v.Addr().Interface().(Checked); ok {
		x.Check(r, n, what)
	}
	return true
}

// alone reads what stands for an object with one key.
func (r *Reader) alone(n strictjson.Value, what, like string, v reflect.Value) {
	known, text := "", ""
	for _, s := range Specs(v.Type()) {
		alone := s.Text("alone")
		isText := alone == "text" && n.Kind() == strictjson.String
		switch {
		case alone == "":
			continue
		case isText && like != "" && s.Has("words") && !slices.Contains(s.Words(), n.Text()):
			r.Wrong(n, like, "%s is %q", what, n.Text())
		case isText:
			r.value(n, s, what, v.FieldByIndex(s.Path))
		case alone == n.Kind().String():
			v.FieldByIndex(s.Path).SetBool(true)
		case alone == "text":
			text = "a string, "
			continue
		default:
			known += alone + ", "
			continue
		}
		if x, ok := v.Addr().Interface().(Checked); ok {
			x.Check(r, n, what)
		}
		return
	}
	known += text + "an object"
	if i := strings.LastIndex(known, ", "); i >= 0 {
		known = known[:i] + " or " + known[i+2:]
	}
	r.Wrong(n, like, "%s must be %s, this is %s", what, known, n.Kind())
}

// value reads the value of a key.
func (r *Reader) value(n strictjson.Value, s *Spec, what string, v reflect.Value) {
	switch to := v.Addr().Interface().(type) {
	case *strictjson.Value: // for whoever decodes
		if form := s.Text("form"); form == "" || r.Formed(n, what, form) != "" {
			*to = n
		}
	case *time.Time:
		*to = r.Moment(n)
	case *json.RawMessage:
		r.UniqueBelow(n)
		*to = Source(n)
	case Readable:
		to.ReadKey(r, n, what, s)
	case *call.Verdict:
		*to = r.Verdict(n, what, s.Words()...)
	case *time.Duration:
		if *to = r.DurationFrom(n, what, time.Duration(s.Bound("min", 1))); s.max >= 0 && int64(*to) > s.max {
			most := s.Text("max")
			r.Wrong(n, "write "+most+" or less"+s.Text("like"), "%s must be at most %s", what, most)
		}
	default:
		r.ofKind(n, s, what, v)
	}
}

// ofKind reads a value as the kind of its field says.
func (r *Reader) ofKind(n strictjson.Value, s *Spec, what string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.value(n, s, what, v.Elem())
	case reflect.Bool:
		yes, _ := r.Boolean(n, what)
		v.SetBool(yes)
	case reflect.Int, reflect.Int64:
		v.SetInt(r.number(n, s, what))
	case reflect.String:
		v.SetString(r.formed(n, s, what))
	case reflect.Struct:
		like := s.Text("like")
		if s.Type != v.Type() && s.Type != reflect.PointerTo(v.Type()) {
			like = "" // which is about the list that it is in
		}
		r.decode(n, what, like, v)
	case reflect.Uint32: // the mode of a file
		mode, _ := strconv.ParseUint(r.formed(n, s, what), 8, 32)
		v.SetUint(mode)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		r.several(n, s, what, v.Type().Elem(), func(name string, one reflect.Value) {
			v.SetMapIndex(reflect.ValueOf(name), one)
		})
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, n.Len()))
		r.several(n, s, what, v.Type().Elem(), func(_ string, one reflect.Value) { v.Set(reflect.Append(v, one)) })
		if x, ok := v.Addr().Interface().(Checked); ok {
			x.Check(r, n, what)
		}
	default:
		panic("a key cannot be a " + v.Type().String())
	}
}

// number reads a whole number, or a number of bytes.
func (r *Reader) number(n strictjson.Value, s *Spec, what string) (i int64) {
	high, unit := s.max, ""
	switch s.Text("form") {
	case "", "capacityCount":
		i = r.Whole(n, what, s.Bound("min", 1))
	case "capacity":
		unit = " bytes"
		if i = r.SizeUpTo(n, what, maxCapacity); i > 0 && i < leastCapacity {
			r.Wrong(n, "raise it", "%s must be at least 1MiB", what)
		}
	default:
		i = r.SizeUpTo(n, what, s.Bound("max", maxCount))
	}
	if high >= 0 && i > high {
		r.Wrong(n, "lower it", "%s must be at most %d%s", what, high, unit)
	}
	return i
}

const (
	leastCapacity = 1 << 20
	maxCapacity   = 1 << 40
)

// formed reads a text that has to be one of some words, or of a form.
func (r *Reader) formed(n strictjson.Value, s *Spec, what string) string {
	if words := s.Words(); len(words) > 0 {
		word, _ := r.Word(n, what, words...)
		return word
	}
	return r.Formed(n, what, s.Text("form"))
}

// Formed reads a text of a form, one of [Forms].
func (r *Reader) Formed(n strictjson.Value, what, form string) string {
	text, ok := r.Text(n, what)
	if !ok {
		return ""
	}
	if message, hint := Forms[form].Check(what, text); message != "" {
		r.Wrong(n, hint, "%s", message)
	}
	if form == "profile" || form == "named" {
		r.Named = append(r.Named, n)
	}
	return text
}

// several reads a list, or an object with a member for each of something.
func (r *Reader) several(n strictjson.Value, s *Spec, what string, of reflect.Type, add func(string, reflect.Value)) {
	each, by := cmp.Or(s.Text("each"), "an entry of "+what), s.Text("by")
	all := Children(n)
	switch {
	case by != "" && n.Kind() != strictjson.Object:
		r.Wrong(n, cmp.Or(s.Text("like"), `write {"NAME": {...}}`), "%s must be an object, this is %s", what, n.Kind())
		return
	case by != "":
		if r.Unique(n); n.Len() == 0 && s.min > 0 {
			r.Wrong(n, cmp.Or(s.Text("like"), `write {"NAME": {...}}`), "%s must not be empty", what)
		}
		each = cmp.Or(s.Text("each"), "%q in "+what)
	case s.Has("single") && n.Kind() != strictjson.Array:
		all, each = func(yield func(strictjson.Value) bool) { yield(n) }, what
	default:
		all = r.Elements(n, what, s.min <= 0)
	}
	var seen []string
	i := int64(0)
	for child := range all {
		if i++; s.max >= 0 && i > s.max {
			r.Wrong(child, "remove some", "%s has more than %d entries", what, s.max)
			return
		}
		name, text := each, child.Text()
		if by != "" {
			name = fmt.Sprintf(each, child.Key())
			memberName(r, child, what, by)
		}
		one := reflect.New(of).Elem()
		r.value(child, s, name, one)
		if slices.Contains(s.Words(), text) && slices.Contains(seen, text) {
			r.Wrong(child, "remove one of them", "%q twice in %s", text, what)
		}
		seen = append(seen, text)
		add(child.Key(), one)
	}
}

// memberName checks the name of a member.
func memberName(r *Reader, n strictjson.Value, what, form string) {
	if form == "named" {
		r.Named = append(r.Named, r.TextAt(n.Key(), n.KeyOffset()))
	} else if message, hint := Forms[form].Check(what, n.Key()); message != "" {
		r.WrongKey(n, hint, "%s", message)
	}
}
