package profiles

import (
	"reflect"
	"testing"
)

// A limit that a function forgets would be lost in silence where two files set it.
func TestEveryLimitIsMerged(t *testing.T) {
	kind := reflect.TypeFor[Limits]()
	limits := func(field int, value int64) Limits {
		var l Limits
		reflect.ValueOf(&l).Elem().Field(field).SetInt(value)
		return l
	}
	for i := range kind.NumField() {
		lower, higher, none := limits(i, 3), limits(i, 5), Limits{}
		for _, test := range []struct {
			why       string
			got, want Limits
		}{
			{"the lower one is stricter", higher.Stricter(lower), lower},
			{"whichever comes first", lower.Stricter(higher), lower},
			{"one is stricter than none", none.Stricter(higher), higher},
			{"whichever comes first", higher.Stricter(none), higher},
			{"what is not set is taken over", none.or(higher), higher},
			{"what is set stays", higher.or(lower), higher},
		} {
			if test.got != test.want {
				t.Errorf("%s: %s: got %+v, want %+v", kind.Field(i).Name, test.why, test.got, test.want)
			}
		}
	}
}
