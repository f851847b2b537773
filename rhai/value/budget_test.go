package value

import (
	"errors"
	"reflect"
	"testing"
)

// shared is a list of two of a list of two of ... , n levels deep.
func shared(n int) Value {
	v := NewArray(nil)
	for range n {
		v = NewArray([]Value{v.Keep(), v})
	}
	return v
}

func TestConversionsOfSharedStructureEnd(t *testing.T) {
	type list []list
	var whole any
	var typed list
	for name, out := range map[string]reflect.Value{
		"any": reflect.ValueOf(&whole).Elem(), "typed": reflect.ValueOf(&typed).Elem(),
	} {
		left := 1000
		if err := decode(shared(60), out, 0, &left); !errors.Is(err, errMany) {
			t.Errorf("%s: got %v, want %v", name, err, errMany)
		}
	}
	left := 1000
	if list, ok := toGo(shared(60), 0, &left).([]any); !ok || len(list) != 2 || list[1] != nil {
		t.Errorf("got %v, want a list whose second part was not made any more", list)
	}
}

func TestConversionsOfLongListsEndBeforeMemoryIsTaken(t *testing.T) {
	v, left := NewArray(make([]Value, 100)), 50
	if got := toGo(v, 0, &left); got != nil {
		t.Errorf("got %v, want nil", got)
	}
}
